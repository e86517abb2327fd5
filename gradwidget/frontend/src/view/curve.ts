/** Way points to SVG paths. */
import type { Direction, PlacedEdge, PlacedNode, Point } from "../scene";
import { RADIUS } from "./measures";

const HEAD_LENGTH = 9;
const HEAD_HALF = 4.2;

const round = (value: number) => Math.round(value * 10) / 10;
const at = ({ x, y }: Point) => `${round(x)} ${round(y)}`;

/** A smooth line that leaves and arrives along the direction of the picture; it stops where its head begins. */
export function wirePath(points: Point[], direction: Direction): string {
  const first = points[0];
  const last = points[points.length - 1];
  if (!first || !last) return "";
  const right = direction === "right";
  const end = right ? { x: last.x - HEAD_LENGTH + 1, y: last.y } : { x: last.x, y: last.y - HEAD_LENGTH + 1 };
  let path = `M${at(first)}`;
  let from = first;
  for (const to of [...points.slice(1, -1), end]) {
    path += segment(from, to, right);
    from = to;
  }
  return path;
}

function segment(from: Point, to: Point, right: boolean): string {
  if (right ? Math.abs(from.y - to.y) < 0.5 : Math.abs(from.x - to.x) < 0.5) return `L${at(to)}`;
  const bend = (right ? to.x - from.x : to.y - from.y) / 2;
  const a = right ? { x: from.x + bend, y: from.y } : { x: from.x, y: from.y + bend };
  const b = right ? { x: to.x - bend, y: to.y } : { x: to.x, y: to.y - bend };
  return `C${at(a)} ${at(b)} ${at(to)}`;
}

export function headPath(points: Point[], direction: Direction): string {
  const tip = points[points.length - 1];
  if (!tip) return "";
  const { x, y } = tip;
  return direction === "right"
    ? `M${at(tip)}L${at({ x: x - HEAD_LENGTH, y: y - HEAD_HALF })}V${round(y + HEAD_HALF)}Z`
    : `M${at(tip)}L${at({ x: x - HEAD_HALF, y: y - HEAD_LENGTH })}H${round(x + HEAD_HALF)}Z`;
}

/** A head at the other end, for what runs backward. */
export function startHeadPath(points: Point[], direction: Direction): string {
  const tip = points[0];
  if (!tip) return "";
  const { x, y } = tip;
  return direction === "right"
    ? `M${at(tip)}L${at({ x: x + HEAD_LENGTH, y: y - HEAD_HALF })}V${round(y + HEAD_HALF)}Z`
    : `M${at(tip)}L${at({ x: x - HEAD_HALF, y: y + HEAD_LENGTH })}H${round(x + HEAD_HALF)}Z`;
}

/** The coloured bar along a box's left edge, following its rounded corners. */
export function barPath(height: number, width: number): string {
  const dent = round(RADIUS - Math.sqrt(RADIUS ** 2 - (RADIUS - width) ** 2));
  return `M${width} ${dent}A${RADIUS} ${RADIUS} 0 0 0 0 ${RADIUS}V${height - RADIUS}A${RADIUS} ${RADIUS} 0 0 0 ${width} ${height - dent}Z`;
}

/** From afar: many boxes or wires as one path. */
export function farBoxes(nodes: PlacedNode[]): string {
  return nodes.map((n) => `M${at(n)}h${round(n.width)}v${round(n.height)}h${round(-n.width)}z`).join("");
}

export function farWires(edges: PlacedEdge[]): string {
  return edges.map((edge) => `M${edge.points.map(at).join("L")}`).join("");
}

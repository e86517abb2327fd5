/** Way points to SVG paths. */
import type { Direction, PlacedEdge, PlacedNode, Point } from "../scene";
import { RADIUS } from "./measures";

const HEAD_LENGTH = 9;
const HEAD_HALF = 4.2;

const round = (value: number) => Math.round(value * 10) / 10;
const at = ({ x, y }: Point) => `${round(x)} ${round(y)}`;

/** Of a corner between two straight pieces. */
const CORNER = 7;

/** A smooth line that leaves and arrives along the direction of the picture; it stops where its head begins. */
export function wirePath(points: Point[], direction: Direction): string {
  const first = points[0];
  const last = points[points.length - 1];
  if (!first || !last) return "";
  const right = direction === "right";
  const end = right ? { x: last.x - HEAD_LENGTH + 1, y: last.y } : { x: last.x, y: last.y - HEAD_LENGTH + 1 };
  let path = `M${at(first)}`;
  let from = first;
  const rest = [...points.slice(1, -1), end];
  rest.forEach((to, i) => {
    const next = rest[i + 1];
    const bend = bendOf(from, to, right);
    if (bend) path += `C${at(bend[0])} ${at(bend[1])} ${at(to)}`;
    else if (next && turns(from, to, next))
      path += `L${at(towards(to, from))}Q${at(to)} ${at(towards(to, next))}`;
    else path += `L${at(to)}`;
    from = to;
  });
  return path;
}

/** From along to across, or the other way. */
function turns(from: Point, to: Point, next: Point): boolean {
  const flat = (a: Point, b: Point) => Math.abs(a.y - b.y) < 0.5;
  const steep = (a: Point, b: Point) => Math.abs(a.x - b.x) < 0.5;
  return (flat(from, to) && steep(to, next)) || (steep(from, to) && flat(to, next));
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const share = Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

/** The two handles between way points; null where the line is straight. */
function bendOf(from: Point, to: Point, right: boolean): [Point, Point] | null {
  if (Math.abs(from.y - to.y) < 0.5 || Math.abs(from.x - to.x) < 0.5) return null;
  const bend = (right ? to.x - from.x : to.y - from.y) / 2;
  return right
    ? [
        { x: from.x + bend, y: from.y },
        { x: to.x - bend, y: to.y },
      ]
    : [
        { x: from.x, y: from.y + bend },
        { x: to.x, y: to.y - bend },
      ];
}

/** A bent piece as this many straight ones. */
const PIECES = 8;

/** Points on the line that are close enough to each other to tell what it crosses. */
export function pointsOn(points: Point[], direction: Direction): Point[] {
  const right = direction === "right";
  return points.flatMap((to, i) => {
    const from = points[i - 1];
    const bend = from && bendOf(from, to, right);
    if (!from || !bend) return [to];
    return Array.from({ length: PIECES }, (_, n) => onCurve(from, bend, to, (n + 1) / PIECES));
  });
}

function onCurve(from: Point, [a, b]: [Point, Point], to: Point, t: number): Point {
  const s = 1 - t;
  const [w, wa, wb, wt] = [s * s * s, 3 * t * s * s, 3 * t * t * s, t * t * t];
  return {
    x: w * from.x + wa * a.x + wb * b.x + wt * to.x,
    y: w * from.y + wa * a.y + wb * b.y + wt * to.y,
  };
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

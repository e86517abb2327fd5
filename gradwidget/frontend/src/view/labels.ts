/** Values and gradients at the ports that they leave from: where they stand and what they say. */
import type { Placed, PlacedEdge, PlacedNode, Point } from "../scene";
import type { GraphPayload, Pass } from "../wire";
import type { Box } from "./camera";
import { pointsOn } from "./curve";
import { labelTexts } from "./label_texts";
import { LABEL_CHAR_WIDTH, LABEL_GAP, LABEL_HEIGHT, TRIANGLE } from "./measures";
import { Shelf } from "./shelf";

export type Tone = "value" | "gradient";
export type Texts = Map<string, string>;

export interface Label {
  key: number;
  output: number;
  from: string;
  tone: Tone;
  text: string;
  full: string;
  box: Box;
}

export const portOf = (key: number, output: number): string => `${key}.${output}`;

export function valueTexts(graph: GraphPayload): Texts {
  return new Map(graph.values.map(([key, output, text]) => [portOf(key, output), text]));
}

export function gradientTexts(pass: Pass | null): Texts {
  const texts: Texts = new Map();
  pass?.key.forEach((key, row) => {
    const text = pass.text[row];
    if (text) texts.set(portOf(key, pass.output[row] ?? 0), text);
  });
  return texts;
}

export function labelWidth(text: string, tone: Tone): number {
  return Math.ceil([...text].length * LABEL_CHAR_WIDTH) + (tone === "gradient" ? TRIANGLE : 0);
}

/** Kept free beside a label, so that two do not read as one. */
const APART = 6;

/** One pair for each output that has a wire. A label that finds no free place is left to the panel. */
export function placeLabels(placed: Placed, values: Texts, gradients: Texts): Label[] {
  const right = placed.direction === "right";
  const wanted = wantedLabels(placed, values, gradients, right);
  if (wanted.length === 0) return [];
  const asked = new Shelf();
  for (const tries of wanted) for (const { box } of tries) asked.add(box);
  const taken = new Shelf();
  for (const node of placed.nodes) taken.add(node);
  const wires = new Shelf();
  for (const edge of placed.edges)
    if (asked.near(edge.points)) wires.addLine(pointsOn(edge.points, placed.direction));
  const labels: Label[] = [];
  for (const tries of wanted) {
    const free = tries.filter(({ box }) => !taken.hits(box));
    // Over a wire rather than nowhere.
    const label = free.find(({ box }) => !wires.hits(box)) ?? free[0];
    if (!label) continue;
    const { x, width } = label.box;
    taken.add({ ...label.box, x: x - APART, width: width + 2 * APART });
    labels.push(label);
  }
  return labels;
}

/** For each label all that may stand there, the most detailed first. */
function wantedLabels(placed: Placed, values: Texts, gradients: Texts, right: boolean): Label[][] {
  const done = new Set<string>();
  const nodes = new Map(placed.nodes.map((node) => [node.id, node]));
  const wanted: Label[][] = [];
  for (const edge of placed.edges) {
    const node = nodes.get(edge.from);
    const port = edge.points[0];
    const id = `${edge.from}/${edge.output}`;
    if (!node || !port || done.has(id) || !isLabelled(node, edge)) continue;
    done.add(id);
    const of = node.role === "group" && edge.carries ? edge.carries : { key: node.key, output: edge.output };
    const key = portOf(of.key, of.output);
    const pair: [Tone, string | undefined][] = [
      ["value", values.get(key)],
      ["gradient", gradients.get(key)],
    ];
    for (const [tone, full] of pair) if (full) wanted.push(labelsAt(node, edge, port, tone, full, right));
  }
  return wanted;
}

const isLabelled = (node: PlacedNode, edge: PlacedEdge): boolean =>
  node.role === "node" || node.role === "copy" || (node.role === "group" && edge.carries !== undefined);

function labelsAt(
  node: PlacedNode,
  edge: PlacedEdge,
  port: Point,
  tone: Tone,
  full: string,
  right: boolean,
): Label[] {
  // The gradient of a leaf drawn several times is the sum over all of them.
  const sum = tone === "gradient" && node.role === "copy" ? "Σ " : "";
  const key = node.role === "group" && edge.carries ? edge.carries.key : node.key;
  const rest = { key, output: edge.output, from: node.id, tone };
  return labelTexts(full).map((short) => {
    const text = sum + short;
    const box = boxAt(port, labelWidth(text, tone), tone, right);
    return { ...rest, text, full: sum ? `${full}, summed over all uses` : full, box };
  });
}

/** Beside the wire, close to its port: values on one side of it, gradients on the other. */
function boxAt(port: Point, width: number, tone: Tone, right: boolean): Box {
  const first = tone === "value";
  const height = LABEL_HEIGHT;
  if (right) return { x: port.x + LABEL_GAP, y: first ? port.y - height - 4 : port.y + 4, width, height };
  return { x: first ? port.x - width - LABEL_GAP : port.x + LABEL_GAP, y: port.y + 5, width, height };
}

/** Values and gradients at the ports that they leave from: where they stand and what they say. */
import type { Placed, PlacedEdge, PlacedNode, Point } from "../scene";
import type { GraphPayload, Pass } from "../wire";
import type { Box } from "./camera";
import { LABEL_CHAR_WIDTH, LABEL_CHARS, LABEL_GAP, LABEL_HEIGHT, TRIANGLE } from "./measures";
import { clipped, short } from "./numbers";

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

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/** A number too long for its place is rounded, not cut: its size must still be right. */
export function labelText(full: string): string {
  if (full.length <= LABEL_CHARS || !NUMBER.test(full)) return clipped(full, LABEL_CHARS);
  const rounded = short(Number(full));
  return rounded.length <= LABEL_CHARS ? rounded : Number(full).toExponential(1).replace("e+", "e");
}

export function labelWidth(text: string, tone: Tone): number {
  return Math.ceil([...text].length * LABEL_CHAR_WIDTH) + (tone === "gradient" ? TRIANGLE : 0);
}

/** One pair for each output that has a wire. A label that finds no free place is left to the panel. */
export function placeLabels(placed: Placed, values: Texts, gradients: Texts): Label[] {
  const taken = new Shelf();
  for (const node of placed.nodes) taken.add(node);
  const done = new Set<string>();
  const nodes = new Map(placed.nodes.map((node) => [node.id, node]));
  const labels: Label[] = [];
  for (const edge of placed.edges) {
    const node = nodes.get(edge.from);
    const port = edge.points[0];
    const id = `${edge.from}/${edge.output}`;
    if (!node || !port || done.has(id) || (node.role !== "node" && node.role !== "copy")) continue;
    done.add(id);
    const key = portOf(node.key, edge.output);
    const pair: [Tone, string | undefined][] = [
      ["value", values.get(key)],
      ["gradient", gradients.get(key)],
    ];
    for (const [tone, full] of pair) {
      const label = full ? labelAt(node, edge, port, tone, full, placed.direction === "right") : null;
      if (!label || taken.hits(label.box)) continue;
      taken.add(label.box);
      labels.push(label);
    }
  }
  return labels;
}

function labelAt(
  node: PlacedNode,
  edge: PlacedEdge,
  port: Point,
  tone: Tone,
  full: string,
  right: boolean,
): Label {
  // The gradient of a leaf drawn several times is the sum over all of them.
  const sum = tone === "gradient" && node.role === "copy" ? "Σ " : "";
  const text = sum + labelText(full);
  const width = labelWidth(text, tone);
  const above = tone === "value";
  const box = right
    ? {
        x: port.x + LABEL_GAP,
        y: above ? port.y - LABEL_HEIGHT - 4 : port.y + 4,
        width,
        height: LABEL_HEIGHT,
      }
    : {
        x: above ? port.x - width - LABEL_GAP : port.x + LABEL_GAP,
        y: port.y + 5,
        width,
        height: LABEL_HEIGHT,
      };
  return {
    key: node.key,
    output: edge.output,
    from: node.id,
    tone,
    text,
    full: sum ? `${full}, summed over all uses` : full,
    box,
  };
}

const meets = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const CELL = 128;

/** What is taken already: boxes, and the labels placed so far. */
class Shelf {
  private readonly cells = new Map<string, Box[]>();

  hits(box: Box): boolean {
    for (const cell of this.around(box))
      if (this.cells.get(cell)?.some((other) => meets(other, box))) return true;
    return false;
  }

  add(box: Box): void {
    for (const cell of this.around(box)) {
      const list = this.cells.get(cell);
      if (list) list.push(box);
      else this.cells.set(cell, [box]);
    }
  }

  private *around({ x, y, width, height }: Box): Generator<string> {
    for (let column = Math.floor(x / CELL); column <= Math.floor((x + width) / CELL); column += 1) {
      for (let row = Math.floor(y / CELL); row <= Math.floor((y + height) / CELL); row += 1)
        yield `${column},${row}`;
    }
  }
}

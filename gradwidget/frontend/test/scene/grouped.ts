/** Random graphs with random groups, each an interval of the forward pass as Python makes them. */
import type { GraphPayload, GroupKind } from "../../src/wire";
import { randomNumbers } from "../layout/scenes";
import { type NodeSketch, payload } from "./payload";

export interface Row {
  id: string;
  from: number; // places in the forward pass, the second one not included
  to: number;
  kind?: GroupKind;
  times?: number;
}

/** Groups over a graph whose forward pass runs from its last key to its first; outer ones first. */
export function grouped(graph: GraphPayload, rows: Row[]): GraphPayload {
  const last = graph.nodes - 1;
  const within = (key: number, { from, to }: Row) => last - key >= from && last - key < to;
  const parent = rows.map((row, i) =>
    rows
      .slice(0, i)
      .reduce((found, other, j) => (other.from <= row.from && row.to <= other.to ? j : found), -1),
  );
  return {
    ...graph,
    groups: {
      id: rows.map(({ id }) => id),
      parent,
      kind: rows.map(({ kind }) => kind ?? "module"),
      title: rows.map(({ id }) => id),
      type: rows.map(({ kind }) => (kind && kind !== "stack" ? "" : "Layer")),
      path: rows.map(({ id }) => id),
      call: rows.map(() => 0),
      times: rows.map(({ times }) => times ?? 0),
      parameters: rows.map(({ from, to }) => (to - from) * 10),
    },
    member: Array.from({ length: graph.nodes }, (_, key) =>
      rows.reduce((found, row, i) => (within(key, row) ? i : found), -1),
    ),
    collapsed: [],
  };
}

export function randomGrouped(seed: number, count: number): GraphPayload {
  const random = randomNumbers(seed);
  const sketches: NodeSketch[] = Array.from({ length: count }, (_, key) => {
    const behind = count - 1 - key;
    const near = () => key + 1 + Math.floor(random() ** 2 * Math.min(behind, 12));
    const many = behind === 0 ? 0 : 1 + Math.floor(random() * 2.4);
    return {
      op: random() < 0.5 ? "AddBackward0" : "MulBackward0",
      inputs: Array.from({ length: many }, near),
    };
  });
  const rows: Row[] = [];
  const divide = (from: number, to: number, depth: number) => {
    let at = from + Math.floor(random() * 3);
    while (at < to - 3) {
      const end = Math.min(to, at + 3 + Math.floor((random() * (to - from)) / 2));
      rows.push({ id: `${from}.${rows.length}`, from: at, to: end, times: random() < 0.3 ? 3 : 0 });
      if (depth > 0) divide(at, end, depth - 1);
      at = end + Math.floor(random() * 3);
    }
  };
  divide(0, count, 2);
  return grouped(payload(sketches, [[0, 0, "loss"]]), rows);
}

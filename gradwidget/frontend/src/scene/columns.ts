/** The wire's columns, turned to be read node by node, for the first `drawn` nodes only. */
import type { GraphPayload } from "../wire";

export interface Wire {
  consumer: number;
  input: number;
  producer: number;
  output: number;
}

export interface Columns {
  wires: Wire[]; // both ends are drawn
  open: Wire[]; // the producer is left out
  inputs: number[]; // ports of each node
  outputs: number[];
  used: { inputs: Set<number>; outputs: Set<number> }[]; // those of them that have a wire
}

export function readColumns(graph: GraphPayload, drawn: number): Columns {
  const wires: Wire[] = [];
  const open: Wire[] = [];
  const inputs = new Array<number>(drawn).fill(0);
  const outputs = new Array<number>(drawn).fill(1);
  const used = inputs.map(() => ({ inputs: new Set<number>(), outputs: new Set<number>() }));
  const atLeast = (list: number[], key: number, count: number) => {
    if (key < drawn) list[key] = Math.max(list[key] ?? 0, count);
  };
  graph.source.forEach((consumer, i) => {
    const wire = {
      consumer,
      input: graph.input[i] ?? 0,
      producer: graph.target[i] ?? 0,
      output: graph.output[i] ?? 0,
    };
    atLeast(inputs, consumer, wire.input + 1);
    atLeast(outputs, wire.producer, wire.output + 1);
    used[consumer]?.inputs.add(wire.input);
    used[wire.producer]?.outputs.add(wire.output);
    if (consumer < drawn) (wire.producer < drawn ? wires : open).push(wire);
  });
  for (const [key, slot] of graph.cuts) atLeast(inputs, key, slot + 1);
  for (const [key = 0, ...forms] of graph.multi) atLeast(outputs, key, forms.length);
  for (const [key, output] of graph.outputs) {
    atLeast(outputs, key, output + 1);
    used[key]?.outputs.add(output);
  }
  return { wires, open, inputs, outputs, used };
}

/** How far each node is from the outputs, by the longest way. */
export function depths(wires: Wire[], drawn: number): number[] {
  const producers: number[][] = Array.from({ length: drawn }, () => []);
  const waiting = new Array<number>(drawn).fill(0);
  for (const { consumer, producer } of wires) {
    producers[consumer]?.push(producer);
    waiting[producer] = (waiting[producer] ?? 0) + 1;
  }
  const depth = new Array<number>(drawn).fill(0);
  const order = depth.map((_, key) => key).filter((key) => waiting[key] === 0);
  for (const key of order)
    for (const producer of producers[key] ?? []) {
      depth[producer] = Math.max(depth[producer] ?? 0, (depth[key] ?? 0) + 1);
      waiting[producer] = (waiting[producer] ?? 0) - 1;
      if (waiting[producer] === 0) order.push(producer);
    }
  return depth;
}

/** Counting walks through what is left out, once for each place it hangs on; this is the most steps in all. */
const STEPS = 2_000_000;

/** How many nodes that are not drawn lie behind each of `keys`; undefined where counting takes too long. */
export function countBehind(graph: GraphPayload, keys: number[], drawn: number): Map<number, number> {
  const producers = new Map<number, number[]>();
  graph.source.forEach((consumer, i) => {
    const producer = graph.target[i] ?? 0;
    if (producer < drawn) return;
    const list = producers.get(consumer);
    if (list) list.push(producer);
    else producers.set(consumer, [producer]);
  });
  const seenBy = new Int32Array(graph.nodes).fill(-1);
  const counts = new Map<number, number>();
  let steps = STEPS;
  for (const key of keys) {
    const reached = [key];
    for (let i = 0; i < reached.length && steps > 0; i++)
      for (const producer of producers.get(reached[i] ?? key) ?? []) {
        steps--;
        if (seenBy[producer] === key) continue;
        seenBy[producer] = key;
        reached.push(producer);
      }
    if (steps <= 0) break;
    counts.set(key, reached.length - 1);
  }
  return counts;
}

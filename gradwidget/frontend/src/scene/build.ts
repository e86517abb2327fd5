/** From the wire's columns to what is drawn: which nodes, which wires, what they say and how big they are. */
import type { Scene, SceneEdge, SceneNode } from "../scene";
import type { GraphPayload, LivePayload } from "../wire";
import { type Columns, countBehind, depths, readColumns, type Wire } from "./columns";
import { describeNodes, type Measure, roomsOf, sizeMark, sizeNode } from "./text";

export interface SceneOptions {
  maxNodes: number;
  measure: Measure;
}

/** A leaf with more wires than this is drawn again beside each consumer, ... */
const SHARED = 4;
/** ... and so is one whose consumers are further apart than this many layers. */
const CLOSE = 8;
/** Up to this many nodes the picture shows everything: numbers, and inputs that need no gradient. */
const SMALL = 60;
const OUTPUT = { width: 56, height: 32 };

export function buildScene(graph: GraphPayload, live: LivePayload | null, options: SceneOptions): Scene {
  const { measure } = options;
  const drawn = Math.min(graph.nodes, Math.max(1, options.maxNodes));
  const small = graph.nodes <= SMALL;
  const columns = readColumns(graph, drawn);
  const describe = describeNodes(graph, live);
  const roomOf = roomsOf(graph);
  const nodes: SceneNode[] = [];
  const edges: SceneEdge[] = [];

  // marks and copies may be as many as the nodes themselves, no more
  let room = drawn;
  const take = (count: number) => {
    if (count > room) return false;
    room -= count;
    return true;
  };
  const ends = graph.outputs.filter(([key]) => key < drawn && take(1));
  const open = new Map<number, Wire[]>();
  for (const wire of columns.open) {
    const wires = open.get(wire.consumer);
    if (wires) wires.push(wire);
    else if (take(1)) open.set(wire.consumer, [wire]);
  }
  const copies = copyLeaves(graph, columns, drawn, new Set(ends.map(([key]) => key)), take);
  const cuts = small ? graph.cuts.filter(([key]) => key < drawn && take(1)) : [];

  for (let key = 0; key < drawn; key++) {
    const text = describe(key);
    const ports = {
      inputs: columns.inputs[key] ?? 0,
      outputs: columns.outputs[key] ?? 1,
      room: roomOf(key),
    };
    const used = columns.used[key];
    const count = {
      inputs: used?.inputs.size ?? 0,
      outputs: used?.outputs.size ?? 0,
      numbers: small && roomOf(key) > 0,
    };
    const size = sizeNode(text, count, measure);
    const copied = copies.get(key);
    if (!copied || copied.alsoOnce)
      nodes.push({ id: `${key}`, role: "node", key, ...text, ...size, ...ports });
    if (!copied) continue;
    const copy = {
      ...text,
      subtitle: "",
      hint: `${text.hint}\nleaf ${text.title}, shared by ${copied.ids.size} operations; drawn again here`,
    };
    for (const id of copied.ids.values())
      nodes.push({ id, role: "copy", key, ...copy, ...sizeNode(copy, count, measure), ...ports });
  }
  const mark = (fields: Omit<SceneNode, "name" | "subtitle" | "inputs" | "outputs" | "room">, end = false) =>
    nodes.push({ ...fields, name: "", subtitle: "", inputs: end ? 1 : 0, outputs: end ? 0 : 1, room: 0 });

  for (const wire of columns.wires) {
    const from = copies.get(wire.producer)?.ids.get(wire.consumer) ?? `${wire.producer}`;
    edges.push({ id: edgeId(wire), from, output: wire.output, to: `${wire.consumer}`, input: wire.input });
  }
  const counts = countBehind(graph, [...open.keys()], drawn);
  for (const [key, wires] of open) {
    const count = counts.get(key);
    const title = count === undefined ? "more nodes" : `${count} more node${count === 1 ? "" : "s"}`;
    const id = `more:${key}`;
    mark({
      id,
      role: "more",
      key,
      kind: "operation",
      title,
      hint: `${title} behind`,
      ...sizeMark(title, "small", measure),
    });
    for (const wire of wires)
      edges.push({ id: edgeId(wire), from: id, output: 0, to: `${key}`, input: wire.input });
  }
  for (const [key, input, title, reason] of cuts) {
    const id = `cut:${key}.${input}`;
    const hint = [title, reason].filter(Boolean).join(": ") || "an input that needs no gradient";
    mark({ id, role: "cut", key, kind: "leaf", title, hint, ...sizeMark(title, "code", measure) });
    edges.push({ id: `${key}.${input}`, from: id, output: 0, to: `${key}`, input });
  }
  ends.forEach(([key, output, title], index) => {
    const id = `out:${index}`;
    const hint = title ? `output ${title}` : "output";
    mark({ id, role: "output", key, kind: "operation", title, hint, ...OUTPUT }, true);
    edges.push({ id, from: `${key}`, output, to: id, input: 0 });
  });
  return { nodes, edges, left_out: graph.nodes - drawn };
}

function edgeId(wire: Wire): string {
  return `${wire.consumer}.${wire.input}`;
}

interface Copies {
  ids: Map<number, string>; // by consumer
  alsoOnce: boolean; // it is an output as well: that wire leaves from a node of its own
}

/** Which leaves are drawn once for each consumer. */
function copyLeaves(
  graph: GraphPayload,
  { wires }: Columns,
  drawn: number,
  ends: Set<number>,
  take: (count: number) => boolean,
): Map<number, Copies> {
  const outgoing = new Map<number, Wire[]>();
  for (const wire of wires) {
    if (graph.kinds[graph.op[wire.producer] ?? -1] !== "leaf") continue;
    const list = outgoing.get(wire.producer);
    if (list) list.push(wire);
    else outgoing.set(wire.producer, [wire]);
  }
  const depth = depths(wires, drawn);
  const copies = new Map<number, Copies>();
  for (const [key, list] of outgoing) {
    const at = list.map((wire) => depth[wire.consumer] ?? 0);
    const far = at.reduce((a, b) => Math.max(a, b)) - at.reduce((a, b) => Math.min(a, b)) > CLOSE;
    if (list.length <= SHARED && !far) continue;
    const ids = new Map<number, string>();
    for (const wire of list)
      if (!ids.has(wire.consumer)) ids.set(wire.consumer, `${key}@${wire.consumer}.${wire.input}`);
    const alsoOnce = ends.has(key);
    if (ids.size > 1 && take(ids.size - (alsoOnce ? 0 : 1))) copies.set(key, { ids, alsoOnce });
  }
  return copies;
}

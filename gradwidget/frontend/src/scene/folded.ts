/** The picture with groups: those that are collapsed as one box each, those that are open as frames. */
import { groupKey, type Scene, type SceneEdge, type SceneFrame, type SceneNode } from "../scene";
import type { GraphPayload } from "../wire";
import { depths } from "./columns";
import {
  compact,
  describeNodes,
  type Measure,
  roomsOf,
  sizeFrame,
  sizeGroup,
  sizeMark,
  sizeNode,
} from "./text";
import type { GroupTree } from "./tree";

export interface Folding {
  tree: GroupTree;
  collapsed: ReadonlySet<string>;
  /** Nodes that are drawn at all; null: every one. */
  focus: ReadonlySet<number> | null;
  /** Whether open groups are framed. */
  frames: boolean;
  measure: Measure;
}

/** A leaf with more wires than this is drawn again beside each operation; groups just say that they use it. */
const SHARED = 4;
/** ... and so is one whose readers are further apart than this many layers. */
const CLOSE = 8;
/** A group with more different values going out, or coming in, than this has one port for all. */
const PORTS = 5;
/** Wires of the graph that one line remembers. */
const STANDS = 60;
const SMALL = 60;
/** What fits on a screen at half its size. */
const ROW = 850;
const OUTPUT = { width: 56, height: 32 };

export function buildFolded(
  graph: GraphPayload,
  { tree, collapsed, focus, frames: framed, measure }: Folding,
): Scene {
  const holder = tree.holders(collapsed);
  const boxOf = (key: number): number => {
    const group = tree.of(key);
    const box = group < 0 ? -1 : (holder[group] ?? -1);
    return box < 0 ? key : groupKey(box);
  };
  const shown = (key: number) => !focus || focus.has(key);
  const idOf = (box: number) => (box < 0 ? `g:${groupKey(box)}` : `${box}`);
  const small = graph.nodes <= SMALL;

  // boxes, in the order of their first nodes
  const boxes = new Map<number, number>(); // box -> how many of its nodes are shown
  for (let key = 0; key < graph.nodes; key++) {
    if (!shown(key)) continue;
    const box = boxOf(key);
    boxes.set(box, (boxes.get(box) ?? 0) + 1);
  }
  const isLeaf = (box: number) => box >= 0 && graph.kinds[graph.op[box] ?? -1] === "leaf";
  const links = linksOf(graph, boxOf, shown);
  const ports = new Ports(links);
  const leafUse = new Map<number, Link[]>();
  for (const link of links.values())
    if (isLeaf(link.from)) leafUse.set(link.from, [...(leafUse.get(link.from) ?? []), link]);
  const ends = graph.outputs.filter(([key]) => shown(key));
  const endBoxes = new Set(ends.map(([key]) => boxOf(key)));

  const docked = new Map<number, number[]>(); // box -> shared leaves that it uses without a wire
  const copies: { id: string; leaf: number; link: Link }[] = [];
  const dropped = new Set<Link>();
  const moved = new Map<Link, string>();
  const gone = new Set<number>();
  const depth = depthsOf(boxes, links);
  const made = new Set<string>();
  const copy = (leaf: number, link: Link) => {
    const id = `${leaf}@${idOf(link.to)}`;
    if (!made.has(id)) copies.push({ id, leaf, link });
    made.add(id);
    moved.set(link, id);
  };
  for (const [leaf, uses] of leafUse) {
    const consumers = new Set(uses.map((link) => link.to));
    if (consumers.size <= SHARED) {
      const at = [...consumers].map((box) => depth.get(box) ?? 0);
      if (consumers.size < 2 || Math.max(...at) - Math.min(...at) <= CLOSE) continue;
      for (const link of uses) copy(leaf, link);
      if (!endBoxes.has(leaf)) gone.add(leaf);
      continue;
    }
    const groups = [...consumers].filter((box) => box < 0);
    const nodes = [...consumers].filter((box) => box >= 0);
    // the one wire that stays leads to the first group of the forward pass
    const first = nodes.length === 0 ? Math.max(...groups) : null;
    for (const link of uses) {
      if (link.to < 0 && link.to !== first) {
        dropped.add(link);
        docked.set(link.to, [...new Set([...(docked.get(link.to) ?? []), leaf])]);
      } else if (link.to >= 0) {
        copy(leaf, link);
      }
    }
    if (first === null && !endBoxes.has(leaf)) gone.add(leaf);
  }

  const describe = describeNodes(graph, null);
  const roomOf = roomsOf(graph);
  const frames = new Frames(graph, tree, framed, measure);
  const nodes: SceneNode[] = [];
  for (const [box, count] of boxes) {
    if (gone.has(box)) continue;
    const frame = frames.around(box < 0 ? tree.parent(groupKey(box)) : tree.of(box));
    if (box < 0)
      nodes.push(groupBox(graph, tree, groupKey(box), count, docked.get(box)?.length ?? 0, frame, measure));
    else {
      const used = {
        inputs: ports.inputs(box),
        outputs: ports.outputs(box),
        numbers: small && roomOf(box) > 0,
      };
      const text = describe(box);
      const size = sizeNode(text, used, measure);
      const { inputs, outputs } = used;
      nodes.push({
        id: `${box}`,
        role: "node",
        key: box,
        ...text,
        ...size,
        inputs,
        outputs,
        room: roomOf(box),
        frame,
      });
    }
  }
  for (const { id, leaf, link } of copies) {
    const text = describe(leaf);
    const uses = leafUse.get(leaf)?.length ?? 0;
    const copy = {
      ...text,
      subtitle: "",
      hint: `${text.hint}\nleaf ${text.title}, shared by ${uses} operations; drawn again here`,
    };
    const size = sizeNode(copy, { inputs: 0, outputs: 1, numbers: false }, measure);
    const frame = frames.around(link.to < 0 ? tree.parent(groupKey(link.to)) : tree.of(link.to));
    nodes.push({
      id,
      role: "copy",
      key: leaf,
      ...copy,
      ...size,
      inputs: 0,
      outputs: 1,
      room: roomOf(leaf),
      frame,
    });
  }

  const edges: SceneEdge[] = [];
  for (const link of links.values()) {
    if (dropped.has(link)) continue;
    const from = moved.get(link) ?? idOf(link.from);
    const input = ports.input(link);
    const edge: SceneEdge = {
      id: `${idOf(link.to)}.${input}<${from}.${ports.output(link)}`,
      from,
      output: ports.output(link),
      to: idOf(link.to),
      input,
    };
    if (link.from >= 0 && link.to >= 0) edges.push({ ...edge, id: `${link.to}.${input}` });
    else {
      if (link.values.length === 1 && link.values[0]) {
        const { key, output } = link.values[0];
        edge.carries = { key, output };
      }
      edges.push({ ...edge, stands: link.stands });
    }
  }
  const mark = (fields: Omit<SceneNode, "name" | "subtitle" | "inputs" | "outputs" | "room">, end = false) =>
    nodes.push({ ...fields, name: "", subtitle: "", inputs: end ? 1 : 0, outputs: end ? 0 : 1, room: 0 });
  if (small)
    for (const [key, input, title, reason] of graph.cuts) {
      if (!shown(key) || boxOf(key) !== key) continue;
      const id = `cut:${key}.${input}`;
      const hint = [title, reason].filter(Boolean).join(": ") || "an input that needs no gradient";
      const frame = frames.around(tree.of(key));
      mark({ id, role: "cut", key, kind: "leaf", title, hint, ...sizeMark(title, "code", measure), frame });
      edges.push({ id: `${key}.${input}`, from: id, output: 0, to: `${key}`, input });
    }
  ends.slice(0, 50).forEach(([key, output, title], index) => {
    const id = `out:${index}`;
    const hint = title ? `output ${title}` : "output";
    const box = boxOf(key);
    mark({ id, role: "output", key, kind: "operation", title, hint, ...OUTPUT, frame: -1 }, true);
    const port = box < 0 ? 0 : output;
    edges.push({ id, from: idOf(box), output: port, to: id, input: 0, carries: { key, output } });
  });
  return { nodes, edges, frames: frames.list, left_out: 0, ...(!small && { row: ROW }) };
}

/** All wires of the graph that run between the same two boxes and ports. */
interface Link {
  from: number; // boxes
  to: number;
  values: { key: number; output: number }[]; // up to two different ones
  input: number; // slot, where `to` is a node
  output: number; // where `from` is a node
  stands: [number, number][];
}

function linksOf(
  graph: GraphPayload,
  boxOf: (key: number) => number,
  shown: (key: number) => boolean,
): Map<string, Link> {
  const links = new Map<string, Link>();
  graph.source.forEach((consumer, i) => {
    const producer = graph.target[i] ?? 0;
    const [to, from] = [boxOf(consumer), boxOf(producer)];
    if (to === from || !shown(consumer) || !shown(producer)) return;
    const input = graph.input[i] ?? 0;
    const output = graph.output[i] ?? 0;
    const slot = to < 0 ? "" : input;
    const name = from < 0 ? `${from}>${to}.${slot}` : `${from}.${output}>${to}.${slot}`;
    let link = links.get(name);
    if (!link) {
      link = { from, to, values: [], input, output, stands: [] };
      links.set(name, link);
    }
    if (link.values.length < 2 && !link.values.some((v) => v.key === producer && v.output === output))
      link.values.push({ key: producer, output });
    if (link.stands.length < STANDS) link.stands.push([consumer, input]);
  });
  return links;
}

function depthsOf(boxes: Map<number, number>, links: Map<string, Link>): Map<number, number> {
  const index = new Map([...boxes.keys()].map((box, i) => [box, i]));
  const wires = [...links.values()].map((link) => ({
    consumer: index.get(link.to) ?? 0,
    producer: index.get(link.from) ?? 0,
    input: 0,
    output: 0,
  }));
  const depth = depths(wires, index.size);
  return new Map([...index].map(([box, i]) => [box, depth[i] ?? 0]));
}

/** Which port a link has at a group: one for each value or each origin while they are few. */
class Ports {
  private readonly into = new Map<number, Map<string, number>>();
  private readonly out = new Map<number, Map<string, number>>();
  private readonly slots = new Map<number, [inputs: number, outputs: number]>();

  constructor(links: Map<string, Link>) {
    for (const link of links.values()) {
      if (link.to < 0) number(this.into, link.to, Ports.origin(link));
      else this.count(link.to, link.input + 1, 0);
      if (link.from < 0) number(this.out, link.from, Ports.value(link));
      else this.count(link.from, 0, link.output + 1);
    }
  }

  private static origin = (link: Link) => `${link.from}.${link.from < 0 ? 0 : link.output}`;
  private static value = (link: Link) =>
    link.values.length === 1 ? `${link.values[0]?.key}.${link.values[0]?.output}` : `>${link.to}`;

  private count(box: number, inputs: number, outputs: number): void {
    const [a, b] = this.slots.get(box) ?? [0, 1];
    this.slots.set(box, [Math.max(a, inputs), Math.max(b, outputs)]);
  }

  inputs = (box: number): number => this.slots.get(box)?.[0] ?? 0;
  outputs = (box: number): number => this.slots.get(box)?.[1] ?? 1;

  input(link: Link): number {
    return link.to >= 0 ? link.input : few(this.into.get(link.to), Ports.origin(link));
  }

  output(link: Link): number {
    return link.from >= 0 ? link.output : few(this.out.get(link.from), Ports.value(link));
  }
}

function number(map: Map<number, Map<string, number>>, box: number, name: string): void {
  const ports = map.get(box) ?? new Map<string, number>();
  map.set(box, ports);
  if (!ports.has(name)) ports.set(name, ports.size);
}

const few = (ports: Map<string, number> | undefined, name: string): number =>
  !ports || ports.size > PORTS ? 0 : (ports.get(name) ?? 0);

/** The frames that are needed, parents first. */
class Frames {
  readonly list: SceneFrame[] = [];
  private readonly index = new Map<number, number>();

  constructor(
    private readonly graph: GraphPayload,
    private readonly tree: GroupTree,
    private readonly framed: boolean,
    private readonly measure: Measure,
  ) {}

  /** Index of the frame of an open group. */
  around(group: number): number {
    if (group < 0 || !this.framed) return -1;
    const old = this.index.get(group);
    if (old !== undefined) return old;
    const parent = this.around(this.tree.parent(group));
    const { title, name, hint } = groupText(this.graph, this.tree, group);
    this.list.push({
      id: `g:${group}`,
      group,
      parent,
      title,
      name,
      hint,
      width: sizeFrame(title, name, this.measure),
    });
    this.index.set(group, this.list.length - 1);
    return this.list.length - 1;
  }
}

interface GroupText {
  title: string;
  name: string;
  counts: string;
  hint: string;
}

export function groupText(graph: GraphPayload, tree: GroupTree, group: number): GroupText {
  const { groups } = graph;
  const kind = tree.kind(group);
  const own = groups.title[group] ?? "";
  const type = groups.type[group] ?? "";
  const call = groups.call[group] ?? 0;
  const times = groups.times[group] ?? 0;
  const count = tree.counts[group] ?? 0;
  const parameters = groups.parameters[group] ?? 0;
  const named = kind === "module" || kind === "stack";
  const title = named ? type : own;
  // A module without a path is called by its class.
  const name = named && own !== type ? own : "";
  const called = call > 0 ? ` call ${call}` : "";
  const counts = [
    `${compact(count)} node${count === 1 ? "" : "s"}`,
    parameters > 0 && `${compact(parameters)} param${parameters === 1 ? "" : "s"}`,
  ];
  const words: Record<typeof kind, string> = {
    module: `module ${groups.path[group] || own}, ${type}${call > 0 ? `, call ${call}` : ""}`,
    stack: `${times} × ${type}: ${own}`,
    repeat: `${own}, ${times} times`,
    step: `one of the repeated stretches: ${own}`,
    part: `members ${own}`,
  };
  return {
    title,
    name: (name + called).trim(),
    counts: counts.filter(Boolean).join(" · "),
    hint: [words[kind], `${count} nodes`, parameters > 0 ? `${parameters} parameters` : ""]
      .filter(Boolean)
      .join("\n"),
  };
}

function groupBox(
  graph: GraphPayload,
  tree: GroupTree,
  group: number,
  count: number,
  docked: number,
  frame: number,
  measure: Measure,
): SceneNode {
  const { title, name, counts, hint } = groupText(graph, tree, group);
  const kind = tree.kind(group);
  const times = graph.groups.times[group] ?? 0;
  const some = count < (tree.counts[group] ?? 0) ? `${compact(count)} of ` : "";
  const shared = docked > 0 ? ` · ${docked} shared` : "";
  const subtitle = `${some}${counts}${shared}`;
  const lines = [hint, docked > 0 ? `uses ${docked} leaves that others use as well` : "", "folded"];
  return {
    id: `g:${group}`,
    role: "group",
    key: groupKey(group),
    kind: "operation",
    title,
    name,
    subtitle,
    hint: lines.filter(Boolean).join("\n"),
    ...sizeGroup({ title, name, subtitle }, times, measure),
    inputs: 1,
    outputs: 1,
    room: 0,
    frame,
    group: { kind, times },
  };
}

/**
 * Open groups: one container at a time, the innermost first, each laid out by itself and then a box of its parent.
 * A wire that leaves a container ends at a port on its border and goes on from there. Containers of the same
 * structure are laid out once.
 */
import type { Placed, PlacedEdge, PlacedFrame, PlacedNode, Point, Scene } from "../scene";
import type { LayoutOptions } from "./index";
import { at, type Net } from "./net";
import { type Gaps, gapsFor, isMinor, LEAD_DOWN, type Part, placeNet } from "./part";
import { inRows } from "./rows";

/** Between a frame and what is in it; above that, its title. */
const PAD = 16;
const TITLE = 34;
/** What a port on a border takes across. */
const PORT = 8;
const REMEMBERED = 2000;
const known = new Map<string, Part>();

interface Step {
  container: number;
  wire: number;
}

class Container {
  readonly length: number[] = [];
  readonly breadth: number[] = [];
  readonly lead: number[] = [];
  readonly minor: boolean[] = [];
  readonly end: boolean[] = [];
  readonly wires: Net["wires"] = [];
  readonly entries = new Map<string, number>(); // value -> vertex
  readonly exits = new Map<string, number>();
  /** Of frames inside, by vertex: which of their ports is which number. */
  readonly frames = new Map<number, Container>();
  readonly vertexOf = new Map<string, number>();
  private readonly wireOf = new Map<string, number>();
  part: Part | null = null;
  at: Point = { x: 0, y: 0 };

  /** `least`: how wide a frame around it has to be for its title. */
  constructor(readonly least: number) {}

  vertex(length: number, breadth: number, lead = 0, minor = false, end = false): number {
    this.length.push(length);
    this.breadth.push(breadth);
    this.lead.push(lead);
    this.minor.push(minor);
    this.end.push(end);
    return this.length.length - 1;
  }

  port(ports: Map<string, number>, value: string): number {
    const old = ports.get(value);
    if (old !== undefined) return old;
    const vertex = this.vertex(0, PORT);
    ports.set(value, vertex);
    return vertex;
  }

  wire(from: number, output: number, to: number, input: number): number {
    const name = `${from}.${output}>${to}.${input}`;
    const old = this.wireOf.get(name);
    if (old !== undefined) return old;
    this.wires.push({ from, to, output, input });
    this.wireOf.set(name, this.wires.length - 1);
    return this.wires.length - 1;
  }

  /** Along and across, of a frame around it. */
  get size(): { length: number; breadth: number; before: number } {
    const before = this.entries.size > 0 ? 0 : PAD;
    const after = this.exits.size > 0 ? 0 : PAD;
    const { length, breadth } = this.part ?? { length: 0, breadth: 0 };
    return { length: length + before + after, breadth, before };
  }
}

export function layoutNested(scene: Scene, options: LayoutOptions): Placed {
  const down = options.direction === "down";
  const frames = scene.frames ?? [];
  const numbers = scene.nodes.some((node) => node.room > 0);
  const gaps = gapsFor(down, numbers);
  const row = down ? null : (scene.row ?? null);
  // container 0 is the picture, container i + 1 is frame i
  const containers = [new Container(0), ...frames.map((frame) => new Container(frame.width))];
  const parent = [-1, ...frames.map((frame) => frame.parent + 1)];
  const home = new Map(scene.nodes.map((node) => [node.id, (node.frame ?? -1) + 1]));
  const read = new Set(scene.edges.map((edge) => edge.from));
  for (const node of scene.nodes) {
    const container = at(containers, home.get(node.id) ?? 0);
    const lead = down ? Math.min(node.room, LEAD_DOWN) : node.room;
    const [length, breadth] = down ? [node.height, node.width] : [node.width, node.height];
    const end = node.role === "output" && !read.has(node.id);
    container.vertexOf.set(node.id, container.vertex(length, breadth, lead, isMinor(node), end));
  }
  // frames are vertices too; their sizes come once they are laid out
  const vertexOfFrame = [
    -1,
    ...frames.map((_, i) => {
      const outer = at(containers, at(parent, i + 1));
      const vertex = outer.vertex(0, 0);
      outer.frames.set(vertex, at(containers, i + 1));
      return vertex;
    }),
  ];
  const ways = scene.edges.map((edge) => {
    if (!home.has(edge.from) || !home.has(edge.to)) return null;
    return trace(edge, containers, parent, home, vertexOfFrame);
  });
  for (let c = containers.length - 1; c >= 0; c--) place(at(containers, c), c === 0, down, gaps, row);

  const point = (along: number, across: number): Point =>
    down ? { x: across, y: along } : { x: along, y: across };
  const placedFrames: PlacedFrame[] = frames.map((frame, i) => {
    const inner = at(containers, i + 1);
    const outer = at(containers, at(parent, i + 1));
    const corner = at(outer.part?.boxes ?? [], at(vertexOfFrame, i + 1));
    const { before } = inner.size;
    const origin = { x: outer.at.x + corner.x, y: outer.at.y + corner.y };
    const { length, breadth } = frameSize(inner, down);
    // where its own contents begin
    inner.at = down
      ? { x: origin.x + (before > 0 ? TITLE : 0), y: origin.y + PAD }
      : { x: origin.x + before, y: origin.y + TITLE };
    const { x, y } = point(origin.x, origin.y);
    return { ...frame, x, y, width: down ? breadth : length, height: down ? length : breadth };
  });
  const nodes: PlacedNode[] = scene.nodes.map((node) => {
    const container = at(containers, home.get(node.id) ?? 0);
    const corner = at(container.part?.boxes ?? [], container.vertexOf.get(node.id) ?? 0);
    return { ...node, ...point(container.at.x + corner.x, container.at.y + corner.y) };
  });
  const edges: PlacedEdge[] = [];
  scene.edges.forEach((edge, i) => {
    const way = ways[i];
    if (!way) return;
    const points: Point[] = [];
    for (const { container: c, wire } of way) {
      const container = at(containers, c);
      for (const { x, y } of at(container.part?.routes ?? [], wire)) {
        const next = point(container.at.x + x, container.at.y + y);
        const last = points[points.length - 1];
        if (!last || last.x !== next.x || last.y !== next.y) points.push(next);
      }
    }
    edges.push({ ...edge, points });
  });
  const whole = at(containers, 0).part ?? { length: 0, breadth: 0 };
  const corner = point(whole.length, whole.breadth);
  return {
    nodes,
    edges,
    frames: placedFrames,
    width: corner.x,
    height: corner.y,
    direction: options.direction,
  };
}

/** The wires of an edge, container by container: out of those around its start, into those around its end. */
function trace(
  edge: Scene["edges"][number],
  containers: Container[],
  parent: number[],
  home: Map<string, number>,
  vertexOfFrame: number[],
): Step[] {
  const value = `${edge.from}.${edge.output}`;
  const chain = (from: number) => {
    const found = [];
    for (let c = from; c >= 0; c = at(parent, c)) found.push(c);
    return found;
  };
  const out = chain(home.get(edge.from) ?? 0);
  const into = chain(home.get(edge.to) ?? 0);
  const common = out.find((c) => into.includes(c)) ?? 0;
  const steps: Step[] = [];
  let from = at(containers, at(out, 0)).vertexOf.get(edge.from) ?? 0;
  let output = edge.output;
  for (const c of out) {
    if (c === common) break;
    const container = at(containers, c);
    const port = container.port(container.exits, value);
    steps.push({ container: c, wire: container.wire(from, output, port, 0) });
    from = at(vertexOfFrame, c);
    output = [...container.exits.keys()].indexOf(value);
  }
  const inward = into.slice(0, into.indexOf(common)).reverse();
  let here = common;
  for (const c of inward) {
    const container = at(containers, c);
    container.port(container.entries, value);
    const input = [...container.entries.keys()].indexOf(value);
    steps.push({
      container: here,
      wire: at(containers, here).wire(from, output, at(vertexOfFrame, c), input),
    });
    from = container.entries.get(value) ?? 0;
    output = 0;
    here = c;
  }
  const last = at(containers, here);
  steps.push({ container: here, wire: last.wire(from, output, last.vertexOf.get(edge.to) ?? 0, edge.input) });
  return steps;
}

function frameSize(inner: Container, down: boolean): { length: number; breadth: number } {
  const { length, breadth, before } = inner.size;
  if (down)
    return {
      length: length + (before > 0 ? TITLE - PAD : 0),
      breadth: Math.max(inner.least, breadth + 2 * PAD),
    };
  return { length: Math.max(inner.least, length), breadth: breadth + TITLE + PAD };
}

function place(
  container: Container,
  outermost: boolean,
  down: boolean,
  gaps: Gaps,
  row: number | null,
): void {
  const fixed: NonNullable<Net["fixed"]> = new Map();
  for (const [vertex, inner] of container.frames) {
    const { length, breadth } = frameSize(inner, down);
    container.length[vertex] = length;
    container.breadth[vertex] = breadth;
    const shift = (down ? PAD : TITLE) - breadth / 2;
    const ports = (of: Map<string, number>) =>
      [...of.values()].map((v) => at(inner.part?.boxes ?? [], v).y + PORT / 2 + shift);
    fixed.set(vertex, { from: ports(inner.exits), to: ports(inner.entries) });
  }
  const net: Net = {
    length: [...container.length],
    breadth: [...container.breadth],
    lead: [...container.lead],
    minor: [...container.minor],
    end: [...container.end],
    boxes: container.length.length,
    wires: container.wires,
    fixed,
    ...(!outermost && {
      entries: new Set(container.entries.values()),
      exits: new Set(container.exits.values()),
    }),
  };
  const name = JSON.stringify([
    net.length,
    net.breadth,
    net.lead,
    net.minor,
    net.end,
    net.wires.map(({ from, output, to, input }) => [from, output, to, input]),
    [...fixed],
    [...(net.entries ?? [])],
    [...(net.exits ?? [])],
    gaps,
    row,
  ]);
  let part = known.get(name);
  if (!part) {
    part = placeNet(net, gaps);
    if (row !== null) part = inRows(part, net, row);
    if (known.size >= REMEMBERED) known.clear();
    known.set(name, part);
  }
  container.part = part;
}

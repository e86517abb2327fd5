/**
 * The layout: a layered drawing, made for graphs that flow from inputs to outputs. Pure and deterministic;
 * runs in a worker or on the page. The phases are named in `layoutComponent`, one file each.
 */
import type { Direction, Placed, PlacedEdge, PlacedNode, Point, Role, Scene } from "../scene";
import { alignBlocks } from "./align";
import { makeChains } from "./chains";
import { type Component, splitComponents } from "./components";
import { placeAcross } from "./coordinates";
import { findLoops } from "./cycles";
import { assignLayers } from "./layers";
import { at, type Net } from "./net";
import { orderLayers } from "./order";
import { placePorts } from "./ports";
import { routeWires } from "./routes";
import { findSpine } from "./spine";

export interface LayoutOptions {
  direction: Direction;
}

interface Gaps {
  layers: number;
  boxes: number;
  wires: number;
  components: number;
}

/** Beside numbers, boxes and wires stand further apart. */
function gapsFor(down: boolean, numbers: boolean): Gaps {
  if (!numbers) return { layers: 48, boxes: 24, wires: 14, components: 36 };
  return down
    ? { layers: 48, boxes: 48, wires: 24, components: 60 }
    : { layers: 46, boxes: 28, wires: 18, components: 44 };
}

/** Two lines of numbers, where the wires run down. */
const LEAD_DOWN = 20;

export function layout(scene: Scene, options: LayoutOptions): Placed {
  const down = options.direction === "down";
  const gaps = gapsFor(
    down,
    scene.nodes.some((node) => node.room > 0),
  );
  const point = (along: number, across: number): Point =>
    down ? { x: across, y: along } : { x: along, y: across };
  const nodes: PlacedNode[] = [];
  const edges: PlacedEdge[] = [];
  let length = 0;
  let breadth = 0;
  for (const component of splitComponents(scene)) {
    const part = layoutComponent(scene, component, down, gaps);
    const base = breadth === 0 ? 0 : breadth + gaps.components;
    component.nodes.forEach((index, i) => {
      const box = at(part.boxes, i);
      nodes[index] = { ...at(scene.nodes, index), ...point(box.x, box.y + base) };
    });
    component.edges.forEach((index, i) => {
      const points = at(part.routes, i).map(({ x, y }) => point(x, y + base));
      edges[index] = { ...at(scene.edges, index), points };
    });
    length = Math.max(length, part.length);
    breadth = base + part.breadth;
  }
  const corner = point(length, breadth);
  return {
    nodes,
    edges: edges.filter(Boolean),
    width: corner.x,
    height: corner.y,
    direction: options.direction,
  };
}

interface Part {
  boxes: Point[]; // top left corners; x along, y across
  routes: Point[][];
  length: number;
  breadth: number;
}

function layoutComponent(scene: Scene, component: Component, down: boolean, gaps: Gaps): Part {
  const net = makeNet(scene, component, down);
  const loops = findLoops(net);
  const ranks = assignLayers(net, loops);
  const spine = findSpine(net, loops, ranks);
  const ports = placePorts(net, spine);
  const layered = makeChains(net, loops, ranks, ports);
  orderLayers(layered, spine);
  const blocks = alignBlocks(net, layered, spine, ranks);
  const across = placeAcross(net, layered, blocks, at(blocks.block, spine.anchor), gaps);
  const { start, routes } = routeWires(net, layered, ports, across, gaps);
  return frame(net, start, across, routes);
}

const MINOR: readonly Role[] = ["copy", "cut", "more"];

function makeNet(scene: Scene, component: Component, down: boolean): Net {
  const nodes = component.nodes.map((index) => at(scene.nodes, index));
  const local = new Map(nodes.map((node, i) => [node.id, i]));
  const wires = component.edges.map((index) => {
    const edge = at(scene.edges, index);
    return {
      from: local.get(edge.from) ?? 0,
      to: local.get(edge.to) ?? 0,
      output: edge.output,
      input: edge.input,
    };
  });
  const read = new Set(wires.map((wire) => wire.from));
  return {
    length: nodes.map((node) => (down ? node.height : node.width)),
    breadth: nodes.map((node) => (down ? node.width : node.height)),
    lead: nodes.map((node) => (down ? Math.min(node.room, LEAD_DOWN) : node.room)),
    boxes: nodes.length,
    minor: nodes.map((node) => node.kind === "leaf" || MINOR.includes(node.role)),
    end: nodes.map((node, i) => node.role === "output" && !read.has(i)),
    wires,
  };
}

/** Moves everything so that the drawing starts at 0, 0. */
function frame(net: Net, start: number[], across: number[], routes: Point[][]): Part {
  const low = { x: Number.POSITIVE_INFINITY, y: Number.POSITIVE_INFINITY };
  const high = { x: Number.NEGATIVE_INFINITY, y: Number.NEGATIVE_INFINITY };
  const cover = (x: number, y: number) => {
    low.x = Math.min(low.x, x);
    low.y = Math.min(low.y, y);
    high.x = Math.max(high.x, x);
    high.y = Math.max(high.y, y);
  };
  const corners = start.map((x, v) => ({ x, y: at(across, v) - at(net.breadth, v) / 2 }));
  corners.forEach(({ x, y }, v) => {
    cover(x, y);
    cover(x + at(net.length, v), y + at(net.breadth, v));
  });
  for (const route of routes) for (const { x, y } of route) cover(x, y);
  const move = ({ x, y }: Point) => ({ x: round(x - low.x), y: round(y - low.y) });
  return {
    boxes: corners.map(move),
    routes: routes.map((route) => route.map(move)),
    length: round(high.x - low.x),
    breadth: round(high.y - low.y),
  };
}

/** Halves of a pixel keep straight lines sharp and the numbers short. */
function round(value: number): number {
  return Math.round(value * 2) / 2;
}

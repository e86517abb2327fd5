/** One net through all phases. */
import type { Point, Role, SceneNode } from "../scene";
import { alignBlocks } from "./align";
import { makeChains } from "./chains";
import { placeAcross } from "./coordinates";
import { findLoops } from "./cycles";
import { assignLayers } from "./layers";
import { at, type Net } from "./net";
import { orderLayers } from "./order";
import { placePorts } from "./ports";
import { routeWires } from "./routes";
import { findSpine } from "./spine";

export interface Gaps {
  layers: number;
  boxes: number;
  wires: number;
  components: number;
}

/** Beside numbers, boxes and wires stand further apart. */
export function gapsFor(down: boolean, numbers: boolean): Gaps {
  if (!numbers) return { layers: 48, boxes: 24, wires: 14, components: 36 };
  return down
    ? { layers: 48, boxes: 48, wires: 24, components: 60 }
    : { layers: 46, boxes: 28, wires: 18, components: 44 };
}

/** Two lines of numbers, where the wires run down. */
export const LEAD_DOWN = 20;

const MINOR: readonly Role[] = ["copy", "cut", "more"];

export const isMinor = (node: SceneNode): boolean => node.kind === "leaf" || MINOR.includes(node.role);

export interface Part {
  boxes: Point[]; // top left corners; x along, y across
  routes: Point[][];
  length: number;
  breadth: number;
}

export function placeNet(net: Net, gaps: Gaps): Part {
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

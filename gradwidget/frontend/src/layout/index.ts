/**
 * The layout: a layered drawing, made for graphs that flow from inputs to outputs. Pure and deterministic;
 * runs in a worker or on the page. The phases are named in `part.ts`, one file each.
 */
import type { Direction, Placed, PlacedEdge, PlacedNode, Point, Scene } from "../scene";
import { type Component, splitComponents } from "./components";
import { layoutNested } from "./nested";
import { at, type Net } from "./net";
import { type Gaps, gapsFor, isMinor, LEAD_DOWN, type Part, placeNet } from "./part";
import { inRows } from "./rows";

export interface LayoutOptions {
  direction: Direction;
}

export function layout(scene: Scene, options: LayoutOptions): Placed {
  if (scene.frames?.length) return layoutNested(scene, options);
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

function layoutComponent(scene: Scene, component: Component, down: boolean, gaps: Gaps): Part {
  const net = makeNet(scene, component, down);
  const part = placeNet(net, gaps);
  return down || scene.row === undefined ? part : inRows(part, net, scene.row);
}

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
    minor: nodes.map(isMinor),
    end: nodes.map((node, i) => node.role === "output" && !read.has(i)),
    wires,
  };
}

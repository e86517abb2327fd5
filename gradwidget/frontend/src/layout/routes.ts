import type { Point } from "../scene";
import { at, type Layered, type Net } from "./net";
import type { Ports } from "./ports";

/** Here x is along and y is across, whatever the direction of the picture. */
export interface Routed {
  start: number[]; // of each box, along
  routes: Point[][]; // of each wire
}

/** Steep wires need room to turn: a gap grows with the widest step that a wire takes in it. */
const EASY = 120;
const WIDEN = 0.12;
const MOST = 140;
/** Between lanes, and between the boxes and the first lane. */
const LANE = 10;

export interface Room {
  layers: number; // between two layers, beyond the straight part of their wires
}

/** Phase 9. Columns along the flow, and the way points of each wire. Wires turn only in the gaps between columns. */
export function routeWires(net: Net, layered: Layered, ports: Ports, across: number[], room: Room): Routed {
  const { layer } = layered;
  const columns = makeColumns(net, layered, across, room.layers);
  const start = Array.from({ length: net.boxes }, (_, v) => columns.start(at(layer, v)));
  const lanes = makeLanes(net, layered, across);

  const routes = net.wires.map((wire, index) => {
    const first = {
      x: at(start, wire.from) + at(net.length, wire.from),
      y: at(across, wire.from) + at(ports.from, index),
    };
    const last = { x: at(start, wire.to), y: at(across, wire.to) + at(ports.to, index) };
    const leave = {
      x: Math.max(columns.end(at(layer, wire.from)), first.x + at(net.lead, wire.from)),
      y: first.y,
    };
    const arrive = { x: columns.start(at(layer, wire.to)), y: last.y };
    const points = [first, leave];
    const path = layered.paths[index];
    const lane = lanes.get(index);
    if (path)
      for (const v of path.slice(1, -1)) {
        const y = at(across, v);
        points.push({ x: columns.start(at(layer, v)), y }, { x: columns.end(at(layer, v)), y });
      }
    else if (lane !== undefined)
      points.push(
        { x: columns.start(at(layer, wire.from) + 1), y: lane },
        { x: columns.end(at(layer, wire.to) - 1), y: lane },
      );
    points.push(arrive, last);
    return simplify(points);
  });
  return { start, routes };
}

interface Columns {
  start: (layer: number) => number;
  end: (layer: number) => number;
}

function makeColumns(net: Net, { layer, layers, links }: Layered, across: number[], gap: number): Columns {
  const widest = layers.map((list) => list.reduce((most, v) => Math.max(most, at(net.length, v)), 0));
  const leads = layers.map((list) =>
    list.reduce((most, v) => Math.max(most, v < net.boxes ? at(net.lead, v) : 0), 0),
  );
  const steps = layers.map(() => 0);
  for (const { from, to, fromPort, toPort } of links) {
    const step = Math.abs(at(across, to) + toPort - at(across, from) - fromPort);
    steps[at(layer, from)] = Math.max(at(steps, at(layer, from)), step);
  }
  const starts = [0];
  layers.forEach((_, i) => {
    const room = gap + at(leads, i) + Math.min(MOST, Math.max(0, at(steps, i) - EASY) * WIDEN);
    starts.push(Math.round(at(starts, i) + at(widest, i) + room));
  });
  return {
    // a loop may leave after the last column or arrive before the first
    start: (i) => starts[i] ?? at(starts, layers.length),
    end: (i) => (i < 0 ? -gap : at(starts, i) + at(widest, i)),
  };
}

/** Wires without bends run past everything, side by side. Those that share an end share a lane. */
function makeLanes(net: Net, layered: Layered, across: number[]): Map<number, number> {
  const lanes = new Map<number, number>();
  const groups = new Map<string, { wires: number[]; from: number; to: number }>();
  const outside = net.wires.map((_, index) => index).filter((index) => layered.paths[index] === null);
  if (outside.length === 0) return lanes;
  const arriving = new Int32Array(net.boxes);
  for (const index of outside) arriving[at(net.wires, index).to] = at(arriving, at(net.wires, index).to) + 1;
  for (const index of outside) {
    const wire = at(net.wires, index);
    const key = at(arriving, wire.to) > 1 ? `>${wire.to}` : `${wire.from}.${wire.output}`;
    const ends = [at(layered.layer, wire.from), at(layered.layer, wire.to)];
    const group = groups.get(key) ?? {
      wires: [],
      from: Number.POSITIVE_INFINITY,
      to: Number.NEGATIVE_INFINITY,
    };
    groups.set(key, group);
    group.wires.push(index);
    group.from = Math.min(group.from, ...ends);
    group.to = Math.max(group.to, ...ends);
  }
  const bottom = across.reduce((most, y, v) => Math.max(most, y + at(net.breadth, v) / 2), 0);
  const ends: number[] = []; // of each lane, the layer up to which it is taken
  for (const group of [...groups.values()].sort((a, b) => a.from - b.from || a.to - b.to)) {
    let lane = ends.findIndex((end) => end < group.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = group.to;
    for (const index of group.wires) lanes.set(index, bottom + LANE * (lane + 2));
  }
  return lanes;
}

/** Drops what lies on a straight line between its neighbours. */
function simplify(points: Point[]): Point[] {
  const kept: Point[] = [];
  for (const point of points) {
    const last = kept[kept.length - 1];
    const before = kept[kept.length - 2];
    if (last && last.x === point.x && last.y === point.y) continue;
    if (last && before && last.y === before.y && last.y === point.y) kept.pop();
    kept.push(point);
  }
  return kept;
}

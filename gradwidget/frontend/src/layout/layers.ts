import { at, lists, type Net } from "./net";

export interface Ranks {
  layer: number[]; // 0 is the inward side
  depth: number[]; // stations on the longest way from an input to here, this one included
  height: number[]; // vertices on the longest way from here to an end, this one not included
}

/**
 * Phase 2. Longest path, as late as possible: a box stands right before its first consumer, so that leaves
 * sit beside what they feed.
 */
export function assignLayers(net: Net, loops: boolean[]): Ranks {
  const arriving = lists(net.boxes);
  const waiting = new Int32Array(net.boxes);
  net.wires.forEach((wire, index) => {
    if (loops[index]) return;
    at(arriving, wire.to).push(wire.from);
    waiting[wire.from] = at(waiting, wire.from) + 1;
  });
  // from the ends backwards
  const order: number[] = [];
  for (let v = 0; v < net.boxes; v++) if (waiting[v] === 0) order.push(v);
  const height = new Array<number>(net.boxes).fill(0);
  for (let i = 0; i < order.length; i++) {
    const to = at(order, i);
    const step = net.end[to] ? 0 : 1;
    for (const from of at(arriving, to)) {
      height[from] = Math.max(at(height, from), at(height, to) + step);
      waiting[from] = at(waiting, from) - 1;
      if (waiting[from] === 0) order.push(from);
    }
  }
  const top = height.reduce((a, b) => Math.max(a, b), 0);
  const layer = height.map((h) => top - h);
  const depth = new Array<number>(net.boxes).fill(0);
  for (let i = order.length - 1; i >= 0; i--) {
    const to = at(order, i);
    let longest = 0;
    for (const from of at(arriving, to)) longest = Math.max(longest, at(depth, from));
    depth[to] = longest + (net.minor[to] ? 0 : 1);
    if (net.end[to])
      layer[to] = at(arriving, to).reduce((last, from) => Math.max(last, at(layer, from)), -1) + 1;
  }
  if (net.entries || net.exits) toBorders(net, layer, top);
  return { layer, depth, height };
}

/** What lies on the border of a container stands before, and after, everything in it. */
function toBorders(net: Net, layer: number[], top: number): void {
  const before = net.entries?.size ? 1 : 0;
  for (let v = 0; v < net.boxes; v++) {
    if (net.entries?.has(v)) layer[v] = 0;
    else if (net.exits?.has(v)) layer[v] = top + before + 1;
    else layer[v] = at(layer, v) + before;
  }
}

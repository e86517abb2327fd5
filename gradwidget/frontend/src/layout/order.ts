import { at, type Layered, type Link } from "./net";
import type { Spine } from "./spine";

/** Rounds of sweeps; large pictures get fewer, their start order is good already. */
const ROUNDS = 6;
const LARGE = 6000; // links
/** Boxes with more wires than this on one side are not tried for exchange with a neighbour. */
const HUB = 40;
/** A crossing of the spine counts as so many. */
const SPINE = 2;

/**
 * Phase 6. The order of each layer. It starts from a walk back from the outputs, input by input, which keeps
 * arguments in their order (for d = a * b, a above b); sweeps change it only where that takes crossings away.
 */
export function orderLayers(net: Layered, spine: Spine): void {
  const weight = net.links.map((link) => (spine.wires.has(link.wire) ? SPINE : 1));
  startOrder(net);
  const position = new Float64Array(net.layer.length);
  const settle = (layer: number[]) =>
    layer.forEach((v, i) => {
      position[v] = i;
    });
  net.layers.forEach(settle);
  const counter = new Crossings(net, weight);
  let best = net.layers.map((layer) => [...layer]);
  let fewest = counter.total();
  const rounds = net.links.length > LARGE ? 2 : ROUNDS;
  const keep = () => {
    const found = counter.total();
    if (found >= fewest) return;
    fewest = found;
    best = net.layers.map((layer) => [...layer]);
  };
  if (fewest > 0) {
    exchange(net, position, weight);
    keep();
  }
  for (let round = 0; round < rounds && fewest > 0; round++) {
    const inward = round % 2 === 0;
    for (let i = 0; i < net.layers.length; i++) {
      const layer = at(net.layers, inward ? net.layers.length - 1 - i : i);
      sweep(net, layer, position, inward);
      settle(layer);
    }
    exchange(net, position, weight);
    keep();
  }
  net.layers = best;
}

function startOrder(net: Layered): void {
  const seen = new Uint8Array(net.layer.length);
  const next = new Int32Array(net.layer.length);
  const visit = (v: number) => {
    seen[v] = 1;
    at(net.layers, at(net.layer, v)).push(v);
  };
  for (let root = 0; root < net.layer.length; root++) {
    if (seen[root] || at(net.ahead, root).length > 0) continue;
    const stack = [root];
    visit(root);
    while (stack.length > 0) {
      const v = at(stack, stack.length - 1);
      const link = at(net.behind, v)[at(next, v)];
      if (link === undefined) {
        stack.pop();
        continue;
      }
      next[v] = at(next, v) + 1;
      const from = at(net.links, link).from;
      if (seen[from]) continue;
      visit(from);
      stack.push(from);
    }
  }
}

/** Barycentres. What has no neighbour on that side keeps its place. */
function sweep(net: Layered, layer: number[], position: Float64Array, inward: boolean): void {
  const lists = inward ? net.ahead : net.behind;
  const movable: { v: number; key: number }[] = [];
  for (const v of layer) {
    const links = at(lists, v);
    if (links.length === 0) continue;
    let sum = 0;
    for (const link of links) sum += far(at(net.links, link), inward, position);
    movable.push({ v, key: sum / links.length });
  }
  movable.sort((a, b) => a.key - b.key || at(position, a.v) - at(position, b.v));
  let i = 0;
  layer.forEach((v, slot) => {
    if (at(lists, v).length > 0) layer[slot] = at(movable, i++).v;
  });
}

/** Where a link ends in the neighbouring layer; the port counts as a fraction of a place. */
function far(link: Link, ahead: boolean, position: Float64Array): number {
  const [v, port] = ahead ? [link.to, link.toPort] : [link.from, link.fromPort];
  return at(position, v) + port / 1000;
}

/** Neighbours change places as long as that takes crossings away. */
function exchange(net: Layered, position: Float64Array, weight: number[]): void {
  for (let pass = 0; pass < 4; pass++) {
    let gained = 0;
    for (const layer of net.layers)
      for (let i = 1; i < layer.length; i++) {
        const [a, b] = [at(layer, i - 1), at(layer, i)];
        const gain = gainOf(net, a, b, position, weight, true) + gainOf(net, a, b, position, weight, false);
        if (gain <= 0) continue;
        gained += gain;
        layer[i - 1] = b;
        layer[i] = a;
        position[b] = i - 1;
        position[a] = i;
      }
    if (gained === 0) return;
  }
}

function gainOf(
  net: Layered,
  a: number,
  b: number,
  position: Float64Array,
  weight: number[],
  ahead: boolean,
): number {
  const lists = ahead ? net.ahead : net.behind;
  const [left, right] = [at(lists, a), at(lists, b)];
  if (left.length > HUB || right.length > HUB) return 0;
  let gain = 0;
  for (const i of left)
    for (const j of right) {
      const side = Math.sign(far(at(net.links, i), ahead, position) - far(at(net.links, j), ahead, position));
      gain += side * at(weight, i) * at(weight, j);
    }
  return gain;
}

/** Counts crossings between neighbouring layers, ports included, by inversions in a Fenwick tree. */
class Crossings {
  private readonly rank: Int32Array;

  constructor(
    private readonly net: Layered,
    private readonly weight: number[],
  ) {
    this.rank = new Int32Array(net.links.length);
  }

  total(): number {
    let sum = 0;
    for (let i = 1; i < this.net.layers.length; i++)
      sum += this.between(at(this.net.layers, i - 1), at(this.net.layers, i));
    return sum;
  }

  private between(left: number[], right: number[]): number {
    const { net, rank, weight } = this;
    let ranks = 0;
    for (const v of right) {
      let port = Number.NaN;
      for (const link of at(net.behind, v)) {
        if (at(net.links, link).toPort !== port) ranks++;
        port = at(net.links, link).toPort;
        rank[link] = ranks;
      }
    }
    const tree = new Int32Array(ranks + 1); // sums of weights
    let seen = 0;
    let crossings = 0;
    const count = (group: number[]) => {
      for (const link of group) {
        let below = 0;
        for (let i = at(rank, link); i > 0; i -= i & -i) below += at(tree, i);
        crossings += (seen - below) * at(weight, link);
      }
      for (const link of group) {
        seen += at(weight, link);
        for (let i = at(rank, link); i <= ranks; i += i & -i) tree[i] = at(tree, i) + at(weight, link);
      }
    };
    for (const v of left) {
      let group: number[] = []; // wires of one port don't cross each other
      for (const link of at(net.ahead, v)) {
        const last = group[0];
        if (last !== undefined && at(net.links, last).fromPort !== at(net.links, link).fromPort) {
          count(group);
          group = [];
        }
        group.push(link);
      }
      count(group);
    }
    return crossings;
  }
}

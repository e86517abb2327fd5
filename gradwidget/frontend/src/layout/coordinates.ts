import type { Blocks } from "./align";
import { at, type Layered, type Net } from "./net";

export interface Spacing {
  boxes: number; // between two boxes of a layer
  wires: number; // between a passing wire and anything
}

const ROUNDS = 24;

/** One block must stay this far behind another. */
interface Rule {
  before: number;
  after: number;
  distance: number;
}

/** A link between two blocks wants them at this distance. */
interface Pull {
  from: number;
  to: number;
  distance: number; // across, of `to` against `from`
  weight: number;
}

/**
 * Phase 8. Places across. All blocks go where their links pull them, as far as order and spacing allow;
 * the block of the spine stays where it is.
 */
export function placeAcross(
  net: Net,
  layered: Layered,
  blocks: Blocks,
  pinned: number,
  spacing: Spacing,
): number[] {
  const rules = makeRules(net, layered, blocks, spacing);
  const pulls = makePulls(net, layered, blocks);
  const touching: number[][] = Array.from({ length: blocks.count }, () => []);
  pulls.forEach((pull, index) => {
    at(touching, pull.from).push(index);
    at(touching, pull.to).push(index);
  });
  const solver = new Solver(blocks.count, rules, pinned);
  let place = solver.allow(new Float64Array(blocks.count));
  let best = place;
  let least = cost(pulls, place);
  for (let round = 0; round < ROUNDS; round++) {
    const wish = new Float64Array(blocks.count);
    for (let b = 0; b < blocks.count; b++) {
      let sum = 0;
      let weights = 0;
      for (const index of at(touching, b)) {
        const pull = at(pulls, index);
        const [other, distance] = pull.from === b ? [pull.to, -pull.distance] : [pull.from, pull.distance];
        sum += pull.weight * (at(place, other) + distance);
        weights += pull.weight;
      }
      wish[b] = weights > 0 ? sum / weights : at(place, b);
    }
    place = solver.allow(wish);
    const found = cost(pulls, place);
    if (found < least - 1e-6) {
      least = found;
      best = place;
    }
  }
  return layered.layer.map((_, v) => at(best, at(blocks.block, v)) + at(blocks.offset, v));
}

function cost(pulls: Pull[], place: Float64Array): number {
  let sum = 0;
  for (const pull of pulls)
    sum += pull.weight * Math.abs(at(place, pull.to) - at(place, pull.from) - pull.distance);
  return sum;
}

function makeRules(net: Net, layered: Layered, blocks: Blocks, spacing: Spacing): Rule[] {
  const rules = new Map<number, Rule>();
  for (const layer of layered.layers)
    for (let i = 1; i < layer.length; i++) {
      const [a, b] = [at(layer, i - 1), at(layer, i)];
      const gap = a < net.boxes && b < net.boxes ? spacing.boxes : spacing.wires;
      const distance =
        (at(net.breadth, a) + at(net.breadth, b)) / 2 + gap + at(blocks.offset, a) - at(blocks.offset, b);
      const [before, after] = [at(blocks.block, a), at(blocks.block, b)];
      const key = before * blocks.count + after;
      const rule = rules.get(key);
      if (rule === undefined) rules.set(key, { before, after, distance });
      else rule.distance = Math.max(rule.distance, distance);
    }
  return [...rules.values()];
}

function makePulls(net: Net, layered: Layered, blocks: Blocks): Pull[] {
  const pulls: Pull[] = [];
  for (const link of layered.links) {
    const [from, to] = [at(blocks.block, link.from), at(blocks.block, link.to)];
    if (from === to) continue;
    const distance = at(blocks.offset, link.from) + link.fromPort - at(blocks.offset, link.to) - link.toPort;
    pulls.push({ from, to, distance, weight: net.minor[link.from] === true ? 0.1 : 1 });
  }
  return pulls;
}

/** Turns wished places into allowed ones that are near. */
class Solver {
  private readonly order: number[] = [];
  private readonly before: Rule[][];
  private readonly after: Rule[][];
  private readonly low: Float64Array;
  private readonly high: Float64Array;

  constructor(
    private readonly count: number,
    rules: Rule[],
    pinned: number,
  ) {
    this.before = Array.from({ length: count }, () => []);
    this.after = Array.from({ length: count }, () => []);
    const waiting = new Int32Array(count);
    for (const rule of rules) {
      at(this.after, rule.before).push(rule);
      at(this.before, rule.after).push(rule);
      waiting[rule.after] = at(waiting, rule.after) + 1;
    }
    for (let b = 0; b < count; b++) if (waiting[b] === 0) this.order.push(b);
    for (let i = 0; i < this.order.length; i++)
      for (const rule of at(this.after, at(this.order, i))) {
        waiting[rule.after] = at(waiting, rule.after) - 1;
        if (waiting[rule.after] === 0) this.order.push(rule.after);
      }
    // what the pinned block, at 0, leaves to those before and after it
    this.low = new Float64Array(count).fill(-Infinity);
    this.high = new Float64Array(count).fill(Infinity);
    this.low[pinned] = 0;
    this.high[pinned] = 0;
    this.forward(this.low);
    this.backward(this.high);
  }

  /** The middle between pushing every conflict onward and pushing it back: both are allowed, so is the middle. */
  allow(wish: Float64Array): Float64Array {
    const ahead = Float64Array.from(wish, (w, b) => Math.min(Math.max(w, at(this.low, b)), at(this.high, b)));
    const back = Float64Array.from(ahead);
    this.forward(ahead);
    this.backward(back);
    for (let b = 0; b < this.count; b++)
      ahead[b] = (Math.min(at(ahead, b), at(this.high, b)) + Math.max(at(back, b), at(this.low, b))) / 2;
    return ahead;
  }

  private forward(place: Float64Array): void {
    for (const b of this.order)
      for (const rule of at(this.before, b))
        place[b] = Math.max(at(place, b), at(place, rule.before) + rule.distance);
  }

  private backward(place: Float64Array): void {
    for (let i = this.order.length - 1; i >= 0; i--) {
      const b = at(this.order, i);
      for (const rule of at(this.after, b))
        place[b] = Math.min(at(place, b), at(place, rule.after) - rule.distance);
    }
  }
}

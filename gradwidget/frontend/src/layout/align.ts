import type { Ranks } from "./layers";
import { at, type Layered, type Net } from "./net";
import type { Spine } from "./spine";

/** Vertices that move as one, so that what runs through them is straight. */
export interface Blocks {
  block: Int32Array; // of each vertex
  offset: Float64Array; // across, of a vertex against its block
  count: number;
}

/**
 * Phase 7. Which links are drawn straight. Each vertex is lined up with at most one vertex before and one
 * after it; straight links never cross. The spine comes first, then long wires, then the main input of each box.
 */
export function alignBlocks(net: Net, layered: Layered, spine: Spine, ranks: Ranks): Blocks {
  const { links, layer, layers } = layered;
  const position = new Int32Array(layer.length);
  for (const list of layers)
    list.forEach((v, i) => {
      position[v] = i;
    });
  const isBend = (v: number) => v >= net.boxes;
  const free = (v: number) => isBend(v) || net.fixed?.has(v) === true;

  const priority = (index: number): number => {
    const link = at(links, index);
    const wire = at(net.wires, link.wire);
    const through = at(ranks.depth, wire.from) + at(ranks.height, wire.to);
    if (isBend(link.from) && isBend(link.to)) return 2e9 + through;
    if (isBend(link.to)) return through;
    if (at(spine.main, link.to) !== link.wire) return -1;
    return (spine.wires.has(link.wire) ? 4e9 : 1e9) + through;
  };
  const gaps: { link: number; priority: number }[][] = layers.map(() => []);
  links.forEach((link, index) => {
    const p = priority(index);
    if (p >= 0) at(gaps, at(layer, link.from)).push({ link: index, priority: p });
  });

  const nextOf = new Int32Array(layer.length).fill(-1);
  const previousOf = new Int32Array(layer.length).fill(-1);
  for (const gap of gaps) {
    gap.sort((a, b) => b.priority - a.priority || a.link - b.link);
    const taken: number[] = []; // links, by position of their start
    for (const { link: index } of gap) {
      const link = at(links, index);
      if (nextOf[link.from] !== -1 || previousOf[link.to] !== -1) continue;
      let low = 0;
      let high = taken.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (at(position, at(links, at(taken, middle)).from) < at(position, link.from)) low = middle + 1;
        else high = middle;
      }
      const above = taken[low - 1];
      const below = taken[low];
      if (above !== undefined && at(position, at(links, above).to) > at(position, link.to)) continue;
      if (below !== undefined && at(position, at(links, below).to) < at(position, link.to)) continue;
      taken.splice(low, 0, index);
      nextOf[link.from] = index;
      previousOf[link.to] = index;
    }
  }

  const block = new Int32Array(layer.length).fill(-1);
  const offset = new Float64Array(layer.length);
  let count = 0;
  for (let root = 0; root < layer.length; root++) {
    if (previousOf[root] !== -1) continue;
    let v = root;
    block[v] = count;
    while (nextOf[v] !== -1) {
      const link = at(links, at(nextOf, v));
      // boxes of one path stand in one row, whatever their ports
      const shift = free(link.from) || free(link.to) ? link.fromPort - link.toPort : 0;
      offset[link.to] = at(offset, v) + shift;
      v = link.to;
      block[v] = count;
    }
    count++;
  }
  return { block, offset, count };
}

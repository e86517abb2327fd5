import type { Ranks } from "./layers";
import { at, lists, type Net } from "./net";

export interface Spine {
  /** For each box the wire that carries the main path into it, -1 where several weigh the same. */
  main: number[];
  /** The wires of the longest path. It is drawn as one straight line. */
  wires: Set<number>;
  /** A box of it, to be pinned. */
  anchor: number;
}

/** Up to this depth equals are drawn symmetrically; a longer path has to go on somewhere. */
const SYMMETRIC = 4;

/** Phase 3. The way that the eye should follow: at each box the input with the longest history. */
export function findSpine(net: Net, loops: boolean[], ranks: Ranks): Spine {
  const arriving = lists(net.boxes);
  net.wires.forEach((wire, index) => {
    if (!loops[index]) at(arriving, wire.to).push(index);
  });
  const depthOf = (wire: number) => at(ranks.depth, at(net.wires, wire).from);
  const main = arriving.map((wires) => {
    if (wires.length === 0) return -1;
    wires.sort((a, b) => at(net.wires, a).input - at(net.wires, b).input);
    const deepest = wires.reduce((most, wire) => Math.max(most, depthOf(wire)), 0);
    const equals = wires.filter((wire) => depthOf(wire) === deepest);
    const from = at(net.wires, at(equals, 0)).from;
    const onlyOne = equals.every((wire) => at(net.wires, wire).from === from); // x * x
    if (onlyOne || deepest > SYMMETRIC) return at(equals, 0);
    const centre = middleOf(wires);
    return equals.includes(centre) ? centre : middleOf(equals);
  });
  let anchor = 0;
  for (let v = 1; v < net.boxes; v++) if (at(ranks.depth, v) > at(ranks.depth, anchor)) anchor = v;
  const spine = new Set<number>();
  for (let v = anchor, wire = at(main, v); wire >= 0 && !spine.has(wire); wire = at(main, v)) {
    spine.add(wire);
    v = at(net.wires, wire).from;
  }
  return { main, wires: spine, anchor };
}

function middleOf(wires: number[]): number {
  return wires.length % 2 === 1 ? at(wires, (wires.length - 1) / 2) : -1;
}

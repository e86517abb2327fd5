import type { Ranks } from "./layers";
import { at, type Layered, type Link, lists, type Net } from "./net";
import type { Ports } from "./ports";

/** An input side with more long wires than this gets them as one bundle in a lane. */
const BUNDLE = 12;
const LONG = 6;

/**
 * Phase 5. A wire that passes layers gets a bend in each, to keep its way free. Wires of one port share
 * their bends. Bends are bounded: the wires that would need most of them run in lanes outside.
 */
export function makeChains(net: Net, loops: boolean[], ranks: Ranks, ports: Ports): Layered {
  const layer = [...ranks.layer];
  const span = net.wires.map((wire) => at(layer, wire.to) - at(layer, wire.from));
  const paths: (number[] | null)[] = net.wires.map(() => null);
  const links: Link[] = [];
  const trunks = new Map<string, number[]>();
  const linked = new Map<string, true>();

  const longInto = new Int32Array(net.boxes);
  net.wires.forEach((wire, index) => {
    if (at(span, index) > LONG) longInto[wire.to] = at(longInto, wire.to) + 1;
  });
  let budget = 3 * net.boxes + 500;
  const byLength = net.wires.map((_, index) => index).filter((index) => !loops[index]);
  byLength.sort((a, b) => at(span, a) - at(span, b) || a - b);
  for (const index of byLength) {
    const wire = at(net.wires, index);
    if (at(span, index) > LONG && at(longInto, wire.to) > BUNDLE) continue;
    const key = `${wire.from}.${wire.output}`;
    const trunk = trunks.get(key) ?? [];
    const needed = at(span, index) - 1 - trunk.length;
    if (needed > budget) continue;
    trunks.set(key, trunk);
    budget -= Math.max(0, needed);
    while (trunk.length < at(span, index) - 1) {
      trunk.push(net.length.length);
      net.length.push(0);
      net.breadth.push(0);
      layer.push(at(layer, wire.from) + trunk.length);
    }
    const path = [wire.from, ...trunk.slice(0, at(span, index) - 1), wire.to];
    paths[index] = path;
    for (let i = 1; i < path.length; i++) {
      const [a, b] = [at(path, i - 1), at(path, i)];
      const fromPort = i === 1 ? at(ports.from, index) : 0;
      const toPort = i === path.length - 1 ? at(ports.to, index) : 0;
      const name = `${a}.${fromPort}>${b}.${toPort}`;
      if (linked.has(name)) continue;
      linked.set(name, true);
      links.push({ from: a, to: b, fromPort, toPort, wire: index });
    }
  }

  const ahead = lists(layer.length);
  const behind = lists(layer.length);
  links.forEach((link, index) => {
    at(ahead, link.from).push(index);
    at(behind, link.to).push(index);
  });
  for (const list of ahead) list.sort((a, b) => at(links, a).fromPort - at(links, b).fromPort || a - b);
  for (const list of behind) list.sort((a, b) => at(links, a).toPort - at(links, b).toPort || a - b);
  const layers = lists(layer.reduce((a, b) => Math.max(a, b), 0) + 1);
  return { layer, layers, links, ahead, behind, paths };
}

/** A part of the graph looked at alone. */
import type { GraphPayload } from "../wire";
import type { Sight } from "./camera";

export type Kin = "ancestors" | "descendants";

export interface Focus {
  title: string;
  keys: ReadonlySet<number>;
  /** Where the view stood when it was asked for. */
  from: Sight | null;
}

/** Whether anything is before or behind these nodes, among those that are looked at. */
export function sidesOf(
  graph: GraphPayload,
  keys: ReadonlySet<number>,
  among: ReadonlySet<number> | null,
): Record<Kin, boolean> {
  const found = { ancestors: false, descendants: false };
  graph.source.forEach((consumer, i) => {
    const producer = graph.target[i] ?? 0;
    if (keys.has(consumer) === keys.has(producer)) return;
    if (keys.has(consumer)) found.ancestors ||= !among || among.has(producer);
    else found.descendants ||= !among || among.has(consumer);
  });
  return found;
}

/** Nodes by what they are made from and by what is made from them. */
export class Kinship {
  private readonly producers: number[][];
  private readonly consumers: number[][];

  constructor(graph: GraphPayload) {
    this.producers = Array.from({ length: graph.nodes }, () => []);
    this.consumers = Array.from({ length: graph.nodes }, () => []);
    graph.source.forEach((consumer, i) => {
      const producer = graph.target[i] ?? 0;
      this.producers[consumer]?.push(producer);
      this.consumers[producer]?.push(consumer);
    });
  }

  reach(from: Iterable<number>, kin: Kin): Set<number> {
    const found = new Set(from);
    const next = kin === "ancestors" ? this.producers : this.consumers;
    for (const key of found) for (const other of next[key] ?? []) found.add(other);
    return found;
  }

  /** Everything on a way between the two, whichever comes first; empty where there is none. */
  between(a: Iterable<number>, b: Iterable<number>): Set<number> {
    const [one, other] = [[...a], [...b]];
    for (const [first, last] of [
      [one, other],
      [other, one],
    ] as const) {
      const ahead = this.reach(first, "descendants");
      if (!last.some((key) => ahead.has(key))) continue;
      const back = this.reach(last, "ancestors");
      return new Set([...ahead].filter((key) => back.has(key)));
    }
    return new Set();
  }
}

/** The groups of a graph as a tree, to be asked what is in which. */
import type { GraphPayload, GroupKind } from "../wire";

export class GroupTree {
  readonly size: number;
  /** Nodes in each group, at any depth. */
  readonly counts: Int32Array;
  /** Groups right inside each group. */
  readonly inside: number[][];
  private readonly indexOf: Map<string, number>;
  /** All keys, sorted so that those of one group stand together from `start` to `end`. */
  private readonly keys: Int32Array;
  private readonly start: Int32Array;
  private readonly end: Int32Array;

  constructor(private readonly graph: GraphPayload) {
    const { groups, member } = graph;
    this.size = groups.id.length;
    this.indexOf = new Map(groups.id.map((id, i) => [id, i]));
    this.inside = groups.id.map(() => []);
    this.counts = new Int32Array(this.size);
    groups.parent.forEach((parent, i) => {
      this.inside[parent]?.push(i);
    });
    for (const group of member) if (group >= 0) this.counts[group] = (this.counts[group] ?? 0) + 1;
    const own = Int32Array.from(this.counts);
    for (let i = this.size - 1; i >= 0; i--) {
      const parent = this.parent(i);
      if (parent >= 0) this.counts[parent] = (this.counts[parent] ?? 0) + (this.counts[i] ?? 0);
    }
    this.start = new Int32Array(this.size);
    this.end = new Int32Array(this.size);
    const next = new Int32Array(this.size); // where a group's next own key, then its next inner group, goes
    let free = 0;
    for (let i = 0; i < this.size; i++) {
      const parent = this.parent(i);
      const count = this.counts[i] ?? 0;
      const first = parent < 0 ? free : (this.start[parent] ?? 0) + (own[parent] ?? 0) + (next[parent] ?? 0);
      if (parent < 0) free += count;
      else next[parent] = (next[parent] ?? 0) + count;
      this.start[i] = first;
      this.end[i] = first + count;
    }
    this.keys = new Int32Array(free);
    const filled = new Int32Array(this.size);
    member.forEach((group, key) => {
      if (group < 0) return;
      this.keys[(this.start[group] ?? 0) + (filled[group] ?? 0)] = key;
      filled[group] = (filled[group] ?? 0) + 1;
    });
  }

  parent(group: number): number {
    return this.graph.groups.parent[group] ?? -1;
  }

  id(group: number): string {
    return this.graph.groups.id[group] ?? "";
  }

  kind(group: number): GroupKind {
    return this.graph.groups.kind[group] ?? "part";
  }

  /** Index of the group of that id, or -1. */
  find(id: string): number {
    return this.indexOf.get(id) ?? -1;
  }

  /** Innermost group of a node, or -1. */
  of(key: number): number {
    return this.graph.member[key] ?? -1;
  }

  /** The nodes in a group, at any depth. */
  members(group: number): Int32Array {
    return this.keys.subarray(this.start[group] ?? 0, this.end[group] ?? 0);
  }

  /** The groups around a group and itself, outermost first. */
  chain(group: number): number[] {
    const found: number[] = [];
    for (let i = group; i >= 0; i = this.parent(i)) found.unshift(i);
    return found;
  }

  /** For each group the outermost collapsed one around it or itself; -1 where all are open. */
  holders(collapsed: ReadonlySet<string>): Int32Array {
    const holder = new Int32Array(this.size).fill(-1);
    for (let i = 0; i < this.size; i++) {
      const parent = this.parent(i);
      const above = parent >= 0 ? (holder[parent] ?? -1) : -1;
      holder[i] = above >= 0 ? above : collapsed.has(this.id(i)) ? i : -1;
    }
    return holder;
  }

  /** How many boxes a picture has. */
  boxes(collapsed: ReadonlySet<string>): number {
    const holder = this.holders(collapsed);
    const closed = new Set<number>();
    let loose = 0;
    for (let key = 0; key < this.graph.nodes; key++) {
      const group = this.of(key);
      const box = group < 0 ? -1 : (holder[group] ?? -1);
      if (box < 0) loose++;
      else closed.add(box);
    }
    return loose + closed.size;
  }

  /** Ids of the groups that are in no other. */
  outermost(): string[] {
    return this.graph.groups.id.filter((_, i) => this.parent(i) < 0);
  }

  /** With one group opened; the groups right inside stay closed. */
  opened(collapsed: readonly string[], group: number): string[] {
    const inner = (this.inside[group] ?? []).filter((i) => (this.counts[i] ?? 0) > 1);
    const next = new Set(collapsed.filter((id) => id !== this.id(group)));
    for (const i of inner) next.add(this.id(i));
    return this.inOrder(next);
  }

  /** With one group closed. */
  closed(collapsed: readonly string[], group: number): string[] {
    const inner = (id: string) => this.chain(this.find(id)).includes(group);
    return this.inOrder(new Set([...collapsed.filter((id) => !inner(id)), this.id(group)]));
  }

  /** With every group around a node opened. */
  shown(collapsed: readonly string[], key: number): string[] {
    let next = [...collapsed];
    for (const group of this.chain(this.of(key)))
      if (next.includes(this.id(group))) next = this.opened(next, group);
    return next;
  }

  private inOrder(ids: ReadonlySet<string>): string[] {
    return [...ids].sort((a, b) => this.find(a) - this.find(b));
  }
}

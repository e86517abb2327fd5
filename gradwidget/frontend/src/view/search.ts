/** What is found by a word: names, operations, modules, shapes, source lines. */
import type { GroupTree } from "../scene/tree";
import type { GraphPayload } from "../wire";

export class SearchIndex {
  private readonly names = new Map<number, string>();
  private readonly lines = new Map<number, string>();
  private readonly labels: string[];
  private readonly ops: string[];
  private readonly forms: string[];
  private readonly paths: string[];

  constructor(
    private readonly graph: GraphPayload,
    private readonly tree: GroupTree,
  ) {
    for (const [key, , names] of graph.names)
      this.names.set(key, `${this.names.get(key) ?? ""}\n${names.join("\n").toLowerCase()}`);
    for (const [line, keys] of graph.lines) for (const key of keys) this.lines.set(key, line.toLowerCase());
    this.labels = graph.labels.map((label) => label.toLowerCase());
    this.ops = graph.ops.map((op) => op.toLowerCase());
    this.forms = graph.forms.map(({ text, dtype, shape }) =>
      `${text}\n${dtype}\n${(shape ?? []).join("x")}\n[${(shape ?? []).join(", ")}]\n(${(shape ?? []).join(", ")})`.toLowerCase(),
    );
    // a group is found by itself; what is in it, by the modules around it
    this.paths = graph.groups.id.map((_, i) =>
      `${graph.groups.path[i] ?? ""}\n${graph.groups.type[i] ?? ""}`.toLowerCase(),
    );
  }

  /** Keys in the order of the forward pass, as far as it is known. Every word must be there. */
  find(query: string): number[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const ofLabel = words.map((word) =>
      this.labels.map((text, i) => text.includes(word) || this.ops[i]?.startsWith(word)),
    );
    const ofForm = words.map((word) => this.forms.map((text) => text.includes(word)));
    const ofGroup = words.map((word) => {
      const inside: boolean[] = [];
      this.paths.forEach((text, i) => {
        inside.push(text.includes(word) || (inside[this.tree.parent(i)] ?? false));
      });
      return inside;
    });
    const found: number[] = [];
    for (let key = this.graph.nodes - 1; key >= 0; key--) {
      const hit = words.every(
        (word, w) =>
          ofLabel[w]?.[this.graph.op[key] ?? -1] ||
          ofForm[w]?.[this.graph.form[key] ?? -1] ||
          ofGroup[w]?.[this.tree.of(key)] ||
          this.names.get(key)?.includes(word) ||
          this.lines.get(key)?.includes(word),
      );
      if (hit) found.push(key);
    }
    return found;
  }
}

/** What is asked of a graph key by key. */
import type { GraphPayload, Kind } from "../wire";

export interface Naming {
  label: string; // "Mul", "" where the name says it all
  name: string; // "d", "" none
}

export interface Handing {
  input: number; // slot of the node that hands on
  receiver: number;
  output: number; // of the receiver
}

export class GraphIndex {
  private readonly names = new Map<number, string>();
  private readonly handings = new Map<number, Handing[]>();
  private readonly uses = new Map<number, number>();
  private readonly second: Set<number>;

  constructor(private readonly graph: GraphPayload) {
    for (const [key, , [name]] of graph.names) if (name && !this.names.has(key)) this.names.set(key, name);
    graph.source.forEach((source, i) => {
      const receiver = graph.target[i] ?? 0;
      const list = this.handings.get(source) ?? [];
      this.handings.set(source, list);
      list.push({ input: graph.input[i] ?? 0, receiver, output: graph.output[i] ?? 0 });
      this.uses.set(receiver, (this.uses.get(receiver) ?? 0) + 1);
    });
    this.second = new Set(graph.second);
  }

  naming(key: number): Naming {
    const name = this.names.get(key) ?? "";
    const label = this.graph.labels[this.graph.op[key] ?? -1] ?? "node";
    if (this.kind(key) !== "leaf") return { label, name };
    return name ? { label: "", name } : { label: `leaf ${key}`, name: "" };
  }

  /** How a node is called where there is no picture: by its name, else by what it is and its number. */
  called(key: number): string {
    const { label, name } = this.naming(key);
    if (name) return name;
    return this.kind(key) === "leaf" ? label : `${label}, node ${key}`;
  }

  kind(key: number): Kind {
    return this.graph.kinds[this.graph.op[key] ?? -1] ?? "operation";
  }

  /** To whom a node hands gradients, slot by slot. */
  receivers(key: number): Handing[] {
    return [...(this.handings.get(key) ?? [])].sort((a, b) => a.input - b.input);
  }

  /** What arrives there is a sum over several uses. */
  isSum(key: number): boolean {
    return (this.uses.get(key) ?? 0) > 1;
  }

  form(key: number, output: number): string {
    const several = this.graph.multi.find(([owner]) => owner === key);
    const form = several ? several[output + 1] : this.graph.form[key];
    return this.graph.forms[form ?? -1]?.text ?? "";
  }

  isSecond(key: number): boolean {
    return this.second.has(key);
  }
}

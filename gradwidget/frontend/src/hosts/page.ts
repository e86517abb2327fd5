import { type Host, type Selected, type Topic, Trouble } from "../host";
import type { Direction } from "../scene";
import type { Detail, GraphPayload, LivePayload } from "../wire";
import { Topics } from "./topics";

/** What a standalone page carries. */
export interface PageData {
  graph: GraphPayload;
  live: LivePayload | null;
  details: Record<string, Detail>;
  selected: Selected;
  height: number;
  direction: Direction;
}

/** A page without a kernel: everything it will ever know came with it. */
export class PageHost implements Host {
  readonly problem = "";
  private readonly topics = new Topics();

  constructor(private data: PageData) {}

  get graph(): GraphPayload {
    return this.data.graph;
  }

  get live(): LivePayload | null {
    return this.data.live;
  }

  get selected(): Selected {
    return this.data.selected;
  }

  get height(): number {
    return this.data.height;
  }

  get direction(): Direction {
    return this.data.direction;
  }

  select(selected: Selected): void {
    this.change("selected", { selected });
  }

  turn(direction: Direction): void {
    this.change("direction", { direction });
  }

  cached(key: number): Detail | null {
    return this.data.details[String(key)] ?? null;
  }

  async details(key: number): Promise<Detail> {
    const cached = this.cached(key);
    if (cached) return cached;
    throw new Trouble(
      "The details of this node were not saved with this page.",
      "Open the notebook it came from and run it to see them.",
    );
  }

  subscribe(signal: AbortSignal, listener: (topic: Topic) => void): void {
    this.topics.subscribe(signal, listener);
  }

  /** Also how a test plays the kernel. */
  change(topic: Topic, part: Partial<PageData>): void {
    this.data = { ...this.data, ...part };
    this.topics.publish(topic);
  }
}

import { type Host, type QuizAnswers, type QuizSetup, type Selected, type Topic, Trouble } from "../host";
import type { Direction } from "../scene";
import type { Detail, GraphPayload, LivePayload, ReferencesPayload, TracePayload } from "../wire";
import { completeDetail, completeGraph, completeLive, completeReferences, completeTrace } from "./complete";
import { Topics } from "./topics";

/** What a standalone page carries. */
export interface PageData {
  graph: GraphPayload;
  live: LivePayload | null;
  details: Record<string, Detail>;
  references?: ReferencesPayload | null;
  trace?: TracePayload | null;
  quiz?: QuizSetup | null;
  answers?: QuizAnswers;
  selected: Selected;
  step?: number | null;
  /** Ids of the groups that are folded; as the graph has them at first where it lacks. */
  collapsed?: readonly string[];
  height: number;
  direction: Direction;
}

const NO_KERNEL = new Trouble(
  "This page has no kernel to run anything.",
  "Open the notebook it came from and run it.",
);

const NO_ANSWERS: QuizAnswers = {};

/** A page without a kernel: everything it will ever know came with it. */
export class PageHost implements Host {
  readonly problem = "";
  silence: string = "saved page: no kernel";
  private data: PageData;
  private readonly topics = new Topics();

  constructor(data: PageData) {
    this.data = { ...data, ...complete(data) };
  }

  get graph(): GraphPayload {
    return this.data.graph;
  }

  get live(): LivePayload | null {
    return this.data.live;
  }

  get references(): ReferencesPayload | null {
    return completeReferences(this.data.references ?? null);
  }

  get selected(): Selected {
    return this.data.selected;
  }

  get step(): number | null {
    return this.data.step ?? null;
  }

  get collapsed(): readonly string[] {
    return this.data.collapsed ?? this.data.graph.collapsed;
  }

  get height(): number {
    return this.data.height;
  }

  get direction(): Direction {
    return this.data.direction;
  }

  get quiz(): QuizSetup | null {
    return this.data.quiz ?? null;
  }

  get answers(): QuizAnswers {
    return this.data.answers ?? NO_ANSWERS;
  }

  setQuiz(quiz: QuizSetup | null): void {
    this.change("quiz", { quiz });
  }

  setAnswers(answers: QuizAnswers): void {
    this.change("quiz", { answers });
  }

  select(selected: Selected): void {
    this.change("selected", { selected });
  }

  fold(collapsed: readonly string[]): void {
    this.change("collapsed", { collapsed });
  }

  stepTo(step: number | null): void {
    if (step !== this.step) this.change("step", { step });
  }

  turn(direction: Direction): void {
    this.change("direction", { direction });
  }

  cached(key: number): Detail | null {
    const detail = this.data.details[String(key)];
    return detail ? completeDetail(detail) : null;
  }

  async details(key: number): Promise<Detail> {
    const cached = this.cached(key);
    if (cached) return cached;
    throw new Trouble(
      "The details of this node were not saved with this page.",
      "Open the notebook it came from and run it to see them.",
    );
  }

  async unpack(_key: number, _name: string): Promise<Detail> {
    throw NO_KERNEL;
  }

  async trace(): Promise<TracePayload> {
    if (this.data.trace) return completeTrace(this.data.trace);
    throw new Trouble(
      "The trace was not saved with this page.",
      "Open the notebook it came from and run it to see it.",
    );
  }

  async probe(): Promise<void> {
    throw NO_KERNEL;
  }

  async askReferences(): Promise<ReferencesPayload> {
    const found = this.references;
    if (found) return found;
    throw new Trouble(
      "The names and tensors were not saved with this page.",
      "Open the notebook it came from and run it to see them.",
    );
  }

  subscribe(signal: AbortSignal, listener: (topic: Topic) => void): void {
    this.topics.subscribe(signal, listener);
  }

  /** Also how a test plays the kernel. */
  change(topic: Topic, part: Partial<PageData>): void {
    this.data = { ...this.data, ...part, ...complete(part) };
    this.topics.publish(topic);
  }
}

/** Those of its parts that are there, with nothing missing in them. */
function complete({ graph, live }: Partial<PageData>): Partial<PageData> {
  return { ...(graph && { graph: completeGraph(graph) }), ...(live && { live: completeLive(live) }) };
}

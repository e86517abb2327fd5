import {
  asTrouble,
  type Host,
  type QuizAnswers,
  type QuizSetup,
  type Selected,
  type Topic,
  Trouble,
} from "../host";
import type { Direction } from "../scene";
import type { Detail, GraphPayload, LivePayload, ReferencesPayload, TracePayload } from "../wire";
import { completeDetail, completeGraph, completeLive, completeReferences, completeTrace } from "./complete";
import { type Bytes, decode, decodeVersioned } from "./decode";
import { commLive, type Manager, watchKernel } from "./kernel";
import { Rpc } from "./rpc";
import { Throttle } from "./throttle";
import { Topics } from "./topics";

/** What is used of an anywidget model. */
export interface AnyModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, listener: (...args: unknown[]) => void): void;
  off(event: string, listener: (...args: unknown[]) => void): void;
  widget_manager?: unknown;
}

/** However fast it plays, Python hears of it at most ten times a second. */
const STEP_MS = 100;

const NO_ANSWERS: QuizAnswers = {};
const REMEDY = "Run the cell again to ask a live kernel.";
const NONE: readonly string[] = [];
const NO_KERNEL = new Trouble("No kernel is connected to this figure.", REMEDY);
const NOT_SAVED = new Trouble(
  "No kernel is connected to this figure, and the details of this node were not saved with it.",
  REMEDY,
);
const NAMES_NOT_SAVED = new Trouble("The names and tensors were not saved with this figure.", REMEDY);

const TRACE_NOT_SAVED = new Trouble(
  "No kernel is connected to this figure, and its trace was not saved with it.",
  REMEDY,
);

export class ModelHost implements Host {
  graph: GraphPayload | null = null;
  live: LivePayload | null = null;
  references: ReferencesPayload | null = null;
  problem = "";
  private cache: Record<string, Detail> = {};
  private traced: TracePayload | null = null;
  /** The kernel that made this model was there, and is not any more. */
  private gone = false;
  private connected: boolean | null = null;
  private readonly topics = new Topics();
  private readonly heard: [event: string, listener: (...args: unknown[]) => void][] = [];
  private readonly rpc: Rpc;
  private readonly steps: Throttle<number | null>;

  constructor(
    private readonly model: AnyModel,
    signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => this.deafen(), { once: true });
    this.rpc = new Rpc(
      { send: (message) => model.send(message), listen: (s, f) => this.on("msg:custom", s, f) },
      signal,
    );
    this.watch(signal);
    this.follow("_graph", "graph", signal, async (bytes) => {
      const graph = await decodeVersioned<GraphPayload>(bytes);
      return () => {
        this.graph = graph && completeGraph(graph);
      };
    });
    this.follow("_live", "live", signal, async (bytes) => {
      const live = await decodeVersioned<LivePayload>(bytes);
      return () => {
        this.live = live && completeLive(live);
      };
    });
    this.follow("_details", "details", signal, async (bytes) => {
      const cache = await decode<Record<string, Detail>>(bytes);
      return () => {
        this.cache = cache ?? {};
      };
    });
    this.follow("_references", "references", signal, async (bytes) => {
      const found = await decode<ReferencesPayload>(bytes);
      return () => {
        this.references = completeReferences(found);
      };
    });
    this.follow("_trace", "trace", signal, async (bytes) => {
      const trace = await decode<TracePayload>(bytes);
      return () => {
        this.traced = trace && completeTrace(trace);
      };
    });
    this.steps = new Throttle(signal, STEP_MS, (step) => this.write("step", stepOf(model.get("step")), step));
    this.on("change:step", signal, (source) => {
      this.steps.forget();
      this.noteConnection(source);
      this.topics.publish("step");
    });
    for (const trait of ["_quiz", "_answers"]) {
      this.on(`change:${trait}`, signal, () => this.topics.publish("quiz"));
    }
    for (const topic of ["selected", "collapsed", "height", "direction"] as const) {
      this.on(`change:${topic}`, signal, (source) => {
        this.noteConnection(source);
        this.topics.publish(topic);
      });
    }
  }

  get selected(): Selected {
    const value = this.model.get("selected");
    return typeof value === "number" || typeof value === "string" ? value : null;
  }

  get step(): number | null {
    return this.steps.waiting ? this.steps.waiting.value : stepOf(this.model.get("step"));
  }

  get silence(): string {
    if (this.gone) return "kernel gone: last known state";
    const live = commLive(this.model) ?? this.connected ?? true;
    return live ? "" : "no kernel: saved state";
  }

  get collapsed(): readonly string[] {
    const value = this.model.get("collapsed");
    if (!Array.isArray(value)) return this.graph?.collapsed ?? NONE;
    return value as string[];
  }

  get height(): number {
    const value = this.model.get("height");
    return typeof value === "number" && value > 0 ? value : 480;
  }

  get direction(): Direction {
    return this.model.get("direction") === "down" ? "down" : "right";
  }

  get quiz(): QuizSetup | null {
    return (this.model.get("_quiz") as QuizSetup | null | undefined) ?? null;
  }

  get answers(): QuizAnswers {
    return (this.model.get("_answers") as QuizAnswers | undefined) ?? NO_ANSWERS;
  }

  setQuiz(quiz: QuizSetup | null): void {
    this.write("_quiz", this.quiz, quiz);
  }

  setAnswers(answers: QuizAnswers): void {
    this.write("_answers", this.answers, answers);
  }

  select(selected: Selected): void {
    this.write("selected", this.selected, selected);
  }

  fold(collapsed: readonly string[]): void {
    if (collapsed.join("\n") !== this.collapsed.join("\n")) this.write("collapsed", null, [...collapsed]);
  }

  stepTo(step: number | null): void {
    if (step === this.step) return;
    this.steps.put(step);
    this.topics.publish("step");
  }

  turn(direction: Direction): void {
    this.write("direction", this.direction, direction);
  }

  cached(key: number): Detail | null {
    const detail = this.cache[String(key)];
    return detail ? completeDetail(detail) : null;
  }

  async details(key: number): Promise<Detail> {
    if (this.silence) {
      const cached = this.cached(key);
      if (cached) return cached;
      throw NOT_SAVED;
    }
    return completeDetail(await this.rpc.details(key));
  }

  async unpack(key: number, name: string): Promise<Detail> {
    if (this.silence) throw NO_KERNEL;
    return completeDetail(await this.rpc.unpack(key, name));
  }

  async trace(): Promise<TracePayload> {
    if (this.traced) return this.traced;
    if (this.silence) throw TRACE_NOT_SAVED;
    return completeTrace(await this.rpc.trace());
  }

  async probe(): Promise<void> {
    if (this.silence) throw NO_KERNEL;
    await this.rpc.probe();
  }

  async askReferences(): Promise<ReferencesPayload> {
    if (this.silence) throw this.references ? NO_KERNEL : NAMES_NOT_SAVED;
    const found = completeReferences(await this.rpc.references());
    if (!found) throw NAMES_NOT_SAVED;
    return found;
  }

  subscribe(signal: AbortSignal, listener: (topic: Topic) => void): void {
    this.topics.subscribe(signal, listener);
  }

  private write(name: string, old: unknown, value: unknown): void {
    if (old === value) return;
    this.model.set(name, value);
    if (!this.silence) this.model.save_changes();
  }

  /** anywidget's proxy says nothing of its line, but the model's layout is a model too, and on the same one. */
  private watch(signal: AbortSignal): void {
    this.connected = commLive(this.model.get("layout"));
    const lose = () => {
      if (this.gone) return;
      this.gone = true;
      this.rpc.fail(NO_KERNEL);
      this.topics.publish("kernel");
    };
    watchKernel(this.model.widget_manager as Manager | undefined, signal, lose);
    // A line only ever goes from live to dead: a new one comes with a new model.
    this.on("comm_live_update", signal, lose);
    this.on("comm:close", signal, lose);
  }

  /** A later message may be read faster than an earlier one: only the newest is kept. */
  private follow(
    trait: string,
    topic: Topic,
    signal: AbortSignal,
    read: (bytes: Bytes | null) => Promise<() => void>,
  ): void {
    let newest = 0;
    const update = async () => {
      newest += 1;
      const mine = newest;
      try {
        const keep = await read(this.model.get(trait) as Bytes | null);
        if (mine !== newest || signal.aborted) return;
        keep();
        if (topic === "graph") this.problem = "";
      } catch (error) {
        if (mine !== newest || signal.aborted) return;
        this.problem = `The figure can't be read. ${asTrouble(error).message}`;
      }
      this.topics.publish(topic);
    };
    this.on(`change:${trait}`, signal, (source) => {
      this.noteConnection(source);
      void update();
    });
    void update();
  }

  private on(event: string, signal: AbortSignal, listener: (...args: unknown[]) => void): void {
    if (signal.aborted) return;
    this.model.on(event, listener);
    this.heard.push([event, listener]);
  }

  private deafen(): void {
    for (const [event, listener] of this.heard) this.model.off(event, listener);
  }

  /** anywidget hands out a proxy without `comm_live`; the model itself comes along as an event's first argument. */
  private noteConnection(source: unknown): void {
    const live = commLive(source);
    if (live !== null) this.connected = live;
  }
}

function stepOf(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? Math.floor(value) : null;
}

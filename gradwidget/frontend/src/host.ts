/** The one seam between the view and where it runs. The view knows nothing of Jupyter. */
import type { Direction } from "./scene";
import type { Detail, GraphPayload, LivePayload, ReferencesPayload, TracePayload } from "./wire";

export type Selected = number | string | null;
export type Topic =
  | "graph"
  | "live"
  | "details"
  | "references"
  | "trace"
  | "quiz"
  | "selected"
  | "collapsed"
  | "step"
  | "height"
  | "direction"
  | "kernel";

/** Gradients are hidden until they are typed; null: they are not. */
export interface QuizSetup {
  keys: number[] | null; // the nodes to ask for, null: all but the outputs
  tolerance: number; // part of the right value
}

/** By node: what was typed, oldest first, and how it went. */
export type QuizAnswers = Record<
  number,
  { tries: string[]; hinted: boolean; shown: boolean; right: boolean }
>;

export interface Host {
  /** null until the first payload is read. */
  readonly graph: GraphPayload | null;
  readonly live: LivePayload | null;
  /** The named tensors as they were sent along; null where they were not. */
  readonly references: ReferencesPayload | null;
  /** Why the payload can't be read, "" when all is well. */
  readonly problem: string;
  readonly selected: Selected;
  /** Steps taken of the pass on view, not yet clamped to it; null: the pass as it ended. */
  readonly step: number | null;
  /** Why nobody answers, for the header; "" where there is, as far as is known, a kernel that does. */
  readonly silence: string;
  /** Ids of the groups that are drawn as one box. */
  readonly collapsed: readonly string[];
  readonly height: number;
  readonly direction: Direction;
  readonly quiz: QuizSetup | null;
  readonly answers: QuizAnswers;
  setQuiz(quiz: QuizSetup | null): void;
  setAnswers(answers: QuizAnswers): void;
  select(selected: Selected): void;
  fold(collapsed: readonly string[]): void;
  stepTo(step: number | null): void;
  turn(direction: Direction): void;
  /** What was sent along, at once and perhaps a pass behind. */
  cached(key: number): Detail | null;
  /** Rejects with a Trouble when nobody can answer. */
  details(key: number): Promise<Detail>;
  /** Runs a saved-tensor hook of the user's; the node's new details. */
  unpack(key: number, name: string): Promise<Detail>;
  /** The evaluation trace; rejects with a Trouble when nobody can answer. */
  trace(): Promise<TracePayload>;
  /** Runs a backward pass that leaves every .grad alone; what it saw comes as a pass. */
  probe(): Promise<void>;
  /** The named tensors as they are now. Rejects with a Trouble when nobody can answer. */
  askReferences(): Promise<ReferencesPayload>;
  subscribe(signal: AbortSignal, listener: (topic: Topic) => void): void;
}

/** An error in words for the user: what happened, and what to do about it. */
export class Trouble extends Error {
  constructor(
    readonly what: string,
    readonly remedy: string,
  ) {
    super(remedy ? `${what} ${remedy}` : what);
    this.name = "Trouble";
  }
}

export function asTrouble(error: unknown): Trouble {
  if (error instanceof Trouble) return error;
  return new Trouble(error instanceof Error ? error.message : String(error), "");
}

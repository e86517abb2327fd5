/** Where the player stands in a pass. */
export interface Position {
  at: number; // steps taken
  ended: boolean; // the pass at rest, as it ended: nobody is at work
}

export type Move = "start" | "back" | "forward" | "end";

export function positionOf(step: number | null, steps: number): Position {
  if (step === null) return { at: steps, ended: true };
  return { at: Math.min(Math.max(0, step), steps), ended: false };
}

/** The step that a move leads to. The last step still shows who is at work; only "end" comes to rest. */
export function moved({ at, ended }: Position, steps: number, move: Move): number | null {
  switch (move) {
    case "start":
      return 0;
    case "back":
      return Math.max(0, at - 1);
    case "forward":
      return ended ? null : Math.min(steps, at + 1);
    case "end":
      return null;
  }
}

export function moveOf(event: KeyboardEvent): Move | null {
  // On many keyboards brackets are typed with AltGr, which some systems report as Ctrl and Alt.
  if (event.metaKey || (event.ctrlKey && !event.altKey)) return null;
  if (event.key === "[") return "back";
  return event.key === "]" ? "forward" : null;
}

const STEP_MS = 900;
/** However long a pass is, at 1× it plays within about this time. */
const WHOLE_MS = 30_000;
const LEAST_MS = 100;

/** How long a picture stands, and how many steps lead to the next. */
export function tempo(steps: number, speed: number): { pause: number; stride: number } {
  const each = Math.min(STEP_MS, WHOLE_MS / Math.max(1, steps)) / speed;
  return { pause: Math.max(LEAST_MS, each), stride: Math.max(1, Math.round(LEAST_MS / each)) };
}

/** How a node's box looks in the pass on view, at the step on view. */
import type { GraphIndex } from "../graph_index";
import { short } from "../numbers";
import type { Position } from "../replay/position";
import type { Run } from "../replay/run";
import { levelOf, type Scale } from "./scale";

export type Colour = "kind" | "grad";
export type Bad = "first" | "also" | "";

export interface Look {
  /** "0" to "6" from faint to strong, "bad", "zero", "none" (yet); "" where colours mean something else. */
  heat: string;
  bad: Bad;
  tag: string; // "NaN", "inf", "hook ×100", "0", "" none
  atWork: boolean;
  idle: boolean; // it did not run in this pass
  second: boolean;
  words: string; // the same for hover and screen readers, lines
}

export interface Showing {
  run: Run;
  position: Position;
  colour: Colour;
  scale: Scale | null;
}

const PLAIN: Look = { heat: "", bad: "", tag: "", atWork: false, idle: false, second: false, words: "" };

export const hatched = ({ bad, heat }: Pick<Look, "bad" | "heat">): boolean =>
  bad === "first" || heat === "bad";

export function lookOf(key: number, index: GraphIndex, showing: Showing | null): Look {
  const second = index.isSecond(key);
  const own = second ? ["second order: made by a backward pass"] : [];
  if (!showing) return { ...PLAIN, second, words: own.join("\n") };
  const { run, position } = showing;
  const heat = showing.colour === "grad" ? "none" : "";
  if (run.steps > 0 && !run.ran(key))
    return { ...PLAIN, heat, second, idle: true, words: [...own, "did not run in this pass"].join("\n") };
  const atWork = !position.ended && run.worker(position.at) === key;
  const size = sizeOf(key, showing);
  const hooked = hookedOf(key, run, position);
  const bad = badOf(key, run, position);
  const found = { ...size, ...hooked, ...bad };
  const words = [
    ...own,
    bad.words ?? size.words,
    hooked.words,
    atWork ? `at work in step ${position.at}` : "",
  ];
  return { ...PLAIN, heat, ...found, second, atWork, words: words.filter(Boolean).join("\n") };
}

/** A hook of the user's was seen to change what arrived. */
function hookedOf(key: number, run: Run, position: Position): Partial<Look> {
  const change = run.arrival(key) <= position.at ? run.hooked(key) : "";
  if (!change) return {};
  const short = change === "set to zero" ? "hook ×0" : change === "changed" ? "hook" : `hook ${change}`;
  return { tag: short, words: `a hook of yours changed its gradient: ${change}` };
}

/** Marked whatever the colours stand for. */
function badOf(key: number, run: Run, position: Position): Partial<Look> {
  const { bad } = run.pass;
  if (bad?.key === key && position.at > bad.step)
    return { bad: "first", tag: bad.kind === "NaN" ? "NaN" : "inf", words: bad.text };
  const norm = run.arrival(key) <= position.at ? run.norm(key) : null;
  if (norm === null || Number.isFinite(norm)) return {};
  const nan = Number.isNaN(norm);
  return {
    bad: "also",
    tag: nan ? "NaN" : "inf",
    words: nan ? "its gradient holds NaN" : "its gradient is infinite",
  };
}

function sizeOf(key: number, { run, position, colour, scale }: Showing): Partial<Look> {
  if (colour === "kind" || run.arrival(key) > position.at) return {};
  const norm = run.norm(key);
  if (norm === null) return {};
  if (!Number.isFinite(norm)) return { heat: "bad" };
  if (norm === 0) return { heat: "zero", tag: "0", words: "its gradient is zero" };
  return { heat: scale ? String(levelOf(norm, scale)) : "none", words: `gradient norm ${short(norm)}` };
}

/** What a step did, in words with places for names and numbers. */
import type { GraphIndex, Handing } from "../graph_index";
import { plural, short } from "../numbers";
import type { Position } from "./position";
import type { Quantity, Run } from "./run";

export type Part = { text: string } | { number: string } | { key: number; label: string; name: string };

/** Receivers told one by one; the picture shows the others. */
const TOLD = 4;

export function headline({ pass, steps }: Run, { at, ended }: Position): string {
  if (!ended) return `step ${at} of ${steps}`;
  return pass.state === "failed" ? `failed after ${plural(steps, "step")}` : `all ${plural(steps, "step")}`;
}

/** "1.3 · 1.2": incoming gradient times local derivative, for an input of a node; "" where it is not that short. */
export type Working = (worker: number, input: number) => string;

const NOTHING_SHOWN: Working = () => "";

export function sentence(
  run: Run,
  position: Position,
  index: GraphIndex,
  working: Working = NOTHING_SHOWN,
): Part[] {
  if (run.steps === 0) return [{ text: "No step of this pass was seen." }];
  if (position.ended) return [{ text: "The pass as it ended. Play it, or press [ and ] to step." }];
  const worker = run.worker(position.at);
  if (worker !== null)
    return [...received(run, worker, index), ...handedOn(run, position.at, worker, index, working)];
  const first = run.worker(1) ?? 0;
  return [{ text: "Nothing has run yet. " }, node(first, index), { text: " comes first." }];
}

export const spoken = (parts: Part[]): string =>
  parts
    .map((part) => {
      if ("text" in part) return part.text;
      return "number" in part ? part.number : [part.label, part.name].filter(Boolean).join(" ");
    })
    .join("");

const node = (key: number, index: GraphIndex): Part => ({ key, ...index.naming(key) });

function received(run: Run, worker: number, index: GraphIndex): Part[] {
  const arrivals = [...run.arrivals(worker)].sort((a, b) => a.output - b.output);
  if (arrivals.length === 0) return [node(worker, index), { text: " runs" }];
  const told = arrivals.map((one) => {
    const where: Part[] = arrivals.length > 1 ? [{ text: ` for output ${one.output}` }] : [];
    return [...quantity(one, index.form(worker, one.output)), ...where];
  });
  return [node(worker, index), { text: " receives " }, ...listed(told)];
}

function handedOn(run: Run, k: number, worker: number, index: GraphIndex, working: Working): Part[] {
  if (index.kind(worker) === "leaf")
    return run.pass.kind === "backward" && run.arrivals(worker).length > 0
      ? [{ text: " and adds it to .grad" }]
      : [];
  const all = index
    .receivers(worker)
    .filter(({ input, receiver }) => run.handedOn(k, input) || run.ran(receiver));
  if (all.length === 0) return [];
  const told = all
    .slice(0, TOLD)
    .map((one) => handing(run.handedOn(k, one.input), one, index, working(worker, one.input)));
  if (all.length > TOLD) told.push([{ text: plural(all.length - TOLD, "other") }]);
  return [{ text: ", hands " }, ...listed(told)];
}

function handing(
  handed: Quantity | null,
  { receiver, output }: Handing,
  index: GraphIndex,
  working: string,
): Part[] {
  const to = node(receiver, index);
  if (handed) {
    const sum: Part[] = working && handed.text ? [{ text: `${working} = ` }] : [];
    return [...sum, ...quantity(handed, index.form(receiver, output)), { text: " to " }, to];
  }
  return [{ text: "on to " }, to, ...(index.isSum(receiver) ? [{ text: " (part of a sum)" }] : [])];
}

/** The number itself, or the shape and norm of what is too big. */
function quantity({ text, norm }: Quantity, form: string): Part[] {
  if (text === "none") return [{ text: "nothing" }];
  if (text) return [{ number: text }];
  if (norm === null) return [{ text: form ? `a gradient of ${form}` : "a gradient" }];
  return [{ text: form ? `${form} of norm ` : "norm " }, { number: short(norm) }];
}

function listed(items: Part[][]): Part[] {
  return items.flatMap((item, i) => {
    if (i === 0) return item;
    return [{ text: i === items.length - 1 ? " and " : ", " }, ...item];
  });
}

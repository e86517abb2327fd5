/**
 * What comes over the wire, made fit to be shown. An older kernel, or a notebook saved by one, leaves out what
 * the wire has gained since: filled in as empty.
 */
import type { Detail, GraphPayload, LivePayload, Pass, Saved, TracePayload } from "../wire";
import { legible, legibleName } from "./legible";

type Gained<T, Names extends keyof T> = Required<Pick<T, Names>>;

const GRAPH: Gained<GraphPayload, "second"> = { second: [] };

const LIVE: Gained<LivePayload, "probe"> = { probe: { possible: false, note: "" } };

const PASS: Gained<
  Pass,
  "kind" | "inside" | "handed_step" | "handed_input" | "handed_text" | "handed_norm" | "bad"
> = {
  kind: "backward",
  inside: 0,
  handed_step: [],
  handed_input: [],
  handed_text: [],
  handed_norm: [],
  bad: null,
};

const DETAIL: Gained<
  Detail,
  "hooks" | "hook_steps" | "hooks_note" | "function" | "history" | "history_start" | "formula"
> = {
  hooks: [],
  hook_steps: [],
  hooks_note: "",
  function: null,
  history: [],
  history_start: 1,
  formula: null,
};

const SAVED: Gained<Saved, "unpack"> = { unpack: false };

export const completeGraph = (graph: GraphPayload): GraphPayload => ({
  ...GRAPH,
  ...legible(graph),
  title: legibleName(graph.title),
  names: graph.names.map(([key, output, names]) => [key, output, names.map(legibleName)]),
});

export const completeLive = (live: LivePayload): LivePayload => ({
  ...LIVE,
  ...legible(live),
  passes: live.passes.map((pass) => ({ ...PASS, ...legible(pass) })),
});

export const completeDetail = (detail: Detail): Detail => ({
  ...DETAIL,
  ...legible(detail),
  names: detail.names.map(legibleName),
  saved: detail.saved.map((saved) => ({ ...SAVED, ...legible(saved) })),
});

export const completeTrace = (trace: TracePayload): TracePayload => legible(trace);

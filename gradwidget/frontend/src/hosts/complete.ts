/**
 * What comes over the wire, made fit to be shown. An older kernel, or a notebook saved by one, leaves out what
 * the wire has gained since: filled in as empty.
 */
import type {
  Detail,
  GraphPayload,
  LivePayload,
  Pass,
  ReferencesPayload,
  Saved,
  TracePayload,
  Why,
} from "../wire";
import { legible, legibleName } from "./legible";

type Gained<T, Names extends keyof T> = Required<Pick<T, Names>>;

const GRAPH: Gained<GraphPayload, "second" | "code" | "groups" | "member" | "collapsed" | "lines"> = {
  second: [],
  code: { recorded: false, files: [], places: [], place: [] },
  groups: {
    id: [],
    parent: [],
    kind: [],
    title: [],
    type: [],
    path: [],
    call: [],
    times: [],
    parameters: [],
  },
  member: [],
  collapsed: [],
  lines: [],
};

const LIVE: Gained<LivePayload, "probe" | "cells"> = { probe: { possible: false, note: "" }, cells: [] };

const PASS: Gained<
  Pass,
  | "kind"
  | "inside"
  | "handed_step"
  | "handed_input"
  | "handed_text"
  | "handed_norm"
  | "bad"
  | "hooked_key"
  | "hooked_change"
> = {
  kind: "backward",
  inside: 0,
  handed_step: [],
  handed_input: [],
  handed_text: [],
  handed_norm: [],
  hooked_key: [],
  hooked_change: [],
  bad: null,
};

const DETAIL: Gained<
  Detail,
  | "hooks"
  | "hook_steps"
  | "hooks_note"
  | "function"
  | "history"
  | "history_start"
  | "module_types"
  | "code"
  | "made_note"
  | "formula"
> = {
  hooks: [],
  hook_steps: [],
  hooks_note: "",
  function: null,
  history: [],
  history_start: 1,
  module_types: [],
  code: "",
  made_note: "",
  formula: null,
};

const SAVED: Gained<Saved, "unpack"> = { unpack: false };

export const completeGraph = (graph: GraphPayload): GraphPayload => ({
  ...GRAPH,
  ...legible(graph),
  // Ids are told to the kernel as they are.
  groups: { ...legible(graph.groups ?? GRAPH.groups), id: graph.groups?.id ?? [] },
  collapsed: graph.collapsed ?? [],
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
  why: whyOf(legible(detail.why)),
  saved: detail.saved.map((saved) => ({ ...SAVED, ...legible(saved) })),
});

/** It was a sentence once. */
function whyOf(why: Why | string | null): Why | null {
  if (typeof why === "string") return why ? { kind: "", cause: why, remedy: "", evidence: [] } : null;
  return why ?? null;
}

/** null for what was not sent along. */
export const completeReferences = (found: ReferencesPayload | null): ReferencesPayload | null =>
  found?.objects
    ? { ...legible(found), names: found.names.map((one) => ({ ...one, text: legibleName(one.text) })) }
    : null;
export const completeTrace = (trace: TracePayload): TracePayload => legible(trace);

/** An older kernel, or a notebook saved by one, leaves out what the wire has gained since: filled in as empty. */
import type { Detail, GraphPayload, LivePayload, Pass, Saved } from "../wire";

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
  "hooks" | "hook_steps" | "hooks_note" | "function" | "history" | "history_start"
> = { hooks: [], hook_steps: [], hooks_note: "", function: null, history: [], history_start: 1 };

const SAVED: Gained<Saved, "unpack"> = { unpack: false };

export const completeGraph = (graph: GraphPayload): GraphPayload => ({ ...GRAPH, ...graph });

export const completeLive = (live: LivePayload): LivePayload => ({
  ...LIVE,
  ...live,
  passes: live.passes.map((pass) => ({ ...PASS, ...pass })),
});

export const completeDetail = (detail: Detail): Detail => ({
  ...DETAIL,
  ...detail,
  saved: detail.saved.map((saved) => ({ ...SAVED, ...saved })),
});

/** What the page shows while gradients are to be predicted: the same data, with those of some nodes left out. */
import type { Detail, FormulaPart, Pass, TracePayload } from "../../wire";
import type { GraphIndex } from "../graph_index";

export type Hidden = ReadonlySet<number>;

const HIDDEN = "Hidden: predict it.";

export function maskedPass(pass: Pass, hidden: Hidden, index: GraphIndex): Pass {
  if (hidden.size === 0) return pass;
  const concealed = pass.handed_step.map((step, row) => {
    const receivers = index.receivers(pass.order[step] ?? -1);
    const to = receivers.find(({ input }) => input === pass.handed_input[row]);
    return to !== undefined && hidden.has(to.receiver);
  });
  return {
    ...pass,
    text: pass.text.map((text, row) => (hidden.has(pass.key[row] ?? -1) && text ? "?" : text)),
    norm: pass.norm.map((norm, row) => (hidden.has(pass.key[row] ?? -1) ? null : norm)),
    handed_text: pass.handed_text.map((text, row) => (concealed[row] ? "?" : text)),
    handed_norm: pass.handed_norm.map((norm, row) => (concealed[row] ? null : norm)),
  };
}

/** The rule by which a hidden gradient comes about is left out as well, until it was asked for as a hint. */
export function maskedDetail(detail: Detail, hidden: Hidden, hinted: Hidden): Detail {
  if (hidden.size === 0) return detail;
  const mine = hidden.has(detail.key);
  const parts =
    detail.formula?.parts
      .filter(({ key }) => !hidden.has(key) || hinted.has(key))
      .map((part) => maskedPart(part, mine || hidden.has(part.key))) ?? [];
  const formula = detail.formula && {
    ...detail.formula,
    parts,
    arrival: mine ? null : detail.formula.arrival,
  };
  if (!mine) return { ...detail, formula };
  return {
    ...detail,
    formula,
    outputs: detail.outputs.map((output) => ({
      ...output,
      gradient: null,
      gradient_note: HIDDEN,
      grad: null,
      grad_note: "",
    })),
    captures: [],
    captures_note: HIDDEN,
    why: null,
    hook_steps: [],
    history: [],
  };
}

const maskedPart = (part: FormulaPart, concealed: boolean): FormulaPart =>
  concealed ? { ...part, numbers: null, result: null, note: "" } : part;

export function maskedTrace(trace: TracePayload, hidden: Hidden): TracePayload {
  if (hidden.size === 0) return trace;
  const rows = trace.rows.map((row) => ({
    ...row,
    adjoints: row.adjoints.map((one) =>
      hidden.has(one.key) ? { ...one, line: { text: "?", maths: ["mi", "?"] as ["mi", string] } } : one,
    ),
  }));
  return { ...trace, rows, markdown: "", latex: "", csv: "" };
}

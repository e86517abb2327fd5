/**
 * The wire between the kernel and the page, as types. Its other end is `gradwidget/_wire.py`;
 * `tests/wire/*.json` are written by the Python tests and read by the front-end tests.
 *
 * Synced traits of the model (all the page ever reads):
 *   _graph    bytes, gzipped JSON of GraphPayload: the picture. Sent once, and again on refresh().
 *   _live     bytes, gzipped JSON of LivePayload: passes and their gradients. Sent after each pass.
 *   _details  bytes, gzipped JSON of Record<key, Detail>: panel contents sent along while they fit a byte
 *             budget, so that a page without a kernel still answers clicks. May lack any key.
 *   _references  bytes, gzipped JSON of ReferencesPayload: the named tensors, sent along and again after each cell that
 *             ran a pass. {} where there are too many of them to look at unasked (Call "references").
 *   _trace    bytes, gzipped JSON of TracePayload, of small graphs; empty for others (Call "trace").
 *   _quiz     {keys: number[] | null, tolerance: number} | null: gradients are hidden until they are typed.
 *   _answers  by key, {tries: string[], hinted, shown, right}. Both written by both sides.
 *   selected  number | string | null: a node's key or one of its names. Written by both sides.
 *   step      number | null: how many steps of the pass on view have been taken (0: none yet, n: all of n);
 *             null: the pass is shown as it ended. Written by both sides; clamp to the pass on view.
 *   collapsed string[]: ids of the groups that are drawn as one box. Written by both sides.
 *   height    number, px. direction "right" | "down".
 *
 * Custom messages: the page sends Call, the kernel answers every Call with exactly one Reply of the same id.
 * Replies reach every view of the model: keep only your own ids.
 */
export const WIRE_VERSION = 1;

/** A number; what JSON can't say is a string: "nan", "inf", "-inf", or the digits of an integer beyond 2^53. */
export type Num = number | string;

export interface GraphPayload {
  v: number;
  title: string; // "e = Mul", "3 outputs"
  nodes: number; // how many nodes there are; keys are 0..nodes-1, breadth-first from the outputs
  // interned tables
  ops: string[]; // "MulBackward0"
  labels: string[]; // "Mul", parallel to ops
  kinds: Kind[]; // parallel to ops
  forms: Form[]; // shapes with dtype and device
  // one entry a node
  op: number[]; // index into ops
  form: number[]; // index into forms of output 0; -1 unknown
  // nodes with several outputs: [key, form of output 0, form of output 1, ...]
  multi: number[][];
  // edges, parallel columns. The gradient flows from `source` (consumer of the value) to `target` (its producer);
  // the value flows from target to source, and that is the way the picture runs: left to right.
  source: number[];
  target: number[];
  input: number[]; // slot in source's next_functions
  output: number[]; // which output of target
  // inputs that need no gradient: [node, slot, label or "", reason]
  cuts: [number, number, string, string][];
  names: [number, number, string[]][]; // [key, output, all names of that tensor]
  outputs: [number, number, string][]; // [key, output number, name or ""]
  values: [number, number, string][]; // [key, output, short text], only where known and short
  groups: Groups; // parents before what is in them
  member: number[]; // per node the innermost group, -1 none; [] where there are no groups
  collapsed: string[]; // ids of the groups that are collapsed at first
  lines: [string, number[]][]; // source lines, with the nodes that each made; only where known
  second: number[]; // nodes that a backward pass with create_graph=True has made: the second-order part
  code: CodePayload;
  notes: string[]; // sentences for the user about the whole graph ("loss2 needs no gradient and was left out")
}

/** The source lines that made nodes; only known of what was made under record() or %load_ext gradwidget. */
export interface CodePayload {
  recorded: boolean; // something of this graph was
  files: CodeFile[]; // cells first
  places: [number, number][]; // [index into files, line number]: every line that made nodes
  place: number[]; // per node, index into places, -1 unknown; empty without places
}

/** A cell, or the lines of a file around those that made nodes. The text is text. */
export interface CodeFile {
  title: string; // "cell 3", "model.py"
  lines: [number, string][]; // [line number, text]; numbers may leave out some
}

export type Kind = "operation" | "leaf" | "function" | "checkpoint" | "compiled" | "hook";

export interface Form {
  shape: number[] | null; // null: can't be said (nested tensors)
  dtype: string; // "float32"
  device: string; // "cpu"
  text: string; // "scalar f32", "4×3 f32", "4×3 f32 cuda:0"
}

/**
 * A tree of groups as parallel columns. Each is an interval of the forward pass with the leaves that only it uses,
 * so that whichever are folded, the picture has no cycle.
 */
export interface Groups {
  id: string[]; // unique: "h.0.attn", "fc (call 2)", "Add × 1000 [1 – 100]"
  parent: number[]; // -1 none
  kind: GroupKind[];
  title: string[]; // "attn", "h.0 … h.11", "step 3"
  type: string[]; // class of the module, of a stack's modules; "" otherwise
  path: string[]; // the module's full path, "" otherwise
  call: number[]; // which call of a module that was called more than once; 0 otherwise
  times: number[]; // members of a stack or a repeat; 0 otherwise
  parameters: number[]; // elements of the leaves that it uses, each leaf once
}

/** "stack": modules of one kind in a row. "repeat": a stretch that repeats itself. "step": one such stretch.
 *  "part": some of the members of what is too long. */
export type GroupKind = "module" | "stack" | "repeat" | "step" | "part";

export interface LivePayload {
  v: number;
  watching: boolean; // hooks are in place: the next backward() will be seen
  status: string; // one sentence, "" when there is nothing to say ("The graph is gone: ...")
  freed: boolean; // a backward() has freed the saved variables
  passes: Pass[]; // oldest first
  probe: Probe;
  dropped: number; // older passes whose numbers are no longer sent along
  cells: CellState[]; // oldest first; of cells that ran after %load_ext gradwidget
}

/** How the leaves stood after a cell. Columns hold what has changed since the cell before. */
export interface CellState {
  cell: number; // 0: a cell without a number
  what: string[]; // "built", "backward", "backward ×3", "step", "zero_grad", "clip", "gradients changed"
  pass: number; // number of the last pass seen by then, 0 none
  value_key: number[]; // leaves whose value has changed
  value_text: string[]; // "" too big, "none"
  value_norm: (Num | null)[];
  grad_key: number[]; // leaves whose .grad has changed
  grad_text: string[]; // "none" where there was none
  grad_norm: (Num | null)[];
}

/** The button "probe": a backward pass that leaves every .grad alone. */
export interface Probe {
  possible: boolean;
  note: string; // why it isn't, or what else it would do ("2 hooks of yours would run: scale (cell 3, line 2), ...")
}

export interface Pass {
  number: number; // 1, 2, ...
  label: string; // "backward from e", "grad of loss w.r.t. x", "probe"
  kind: "backward" | "grad" | "probe";
  inside: number; // number of the pass in which this one was started; 0: none
  state: "complete" | "failed";
  note: string; // why it failed, or ""
  order: number[]; // keys in the engine's own order
  // gradients, parallel columns, one row for each output of each node that ran
  key: number[];
  output: number[];
  text: string[]; // short text for the wire: "1.3", "[1, 2]"; "" where it is too big to show; "none" where none arrived
  norm: (Num | null)[]; // 2-norm, null where unknown or none; 0 is a gradient of zeros
  // rows of keys that are not in `order`: what autograd.grad() returned for that tensor
  // what a step handed on, parallel columns; only where it is known
  handed_step: number[]; // index into order
  handed_input: number[]; // slot of that node; the edge (source = node, input = slot) leads to the receiver
  handed_text: string[];
  handed_norm: (Num | null)[];
  bad: Bad | null;
  // where hooks of the user's were seen to change the gradient, parallel columns
  hooked_key: number[];
  hooked_change: string[]; // "×100", "set to zero", "changed"
}

/** Where in execution order numbers first went bad. */
export interface Bad {
  key: number; // the node that made them out of finite ones
  step: number; // index into order
  kind: "NaN" | "infinity";
  text: string; // "First NaN: Sqrt handed it on, while what it received was finite."
}

/** What the panel shows of one node. */
export interface Detail {
  key: number;
  op: string;
  label: string;
  kind: Kind;
  names: string[];
  module: string; // "" unknown; path of the module whose call made the node
  module_types: string[]; // that call and those around it, outermost first: "Linear (call 2)"
  source: string; // "" unknown; "cell 3, line 2"
  code: string; // text of that line, "" unknown
  made_note: string; // why these are not known, or more about them; "" otherwise
  subtitle: string; // "operation, not a leaf", "leaf: the gradient is added to .grad"
  outputs: DetailOutput[];
  captures: Capture[]; // oldest first, one for each pass in which this node ran
  captures_note: string; // why there are none, with the remedy; "" otherwise
  hooks: Hook[]; // the user's own, in running order
  hook_steps: HookStep[]; // what they did in the last pass that reached this node; empty without hooks
  hooks_note: string; // what can't be told, "" otherwise
  function: FunctionInfo | null; // of torch.autograd.Function nodes
  history: (Num | null)[]; // norm of the gradient over the last iterations (refresh), oldest first; [] fewer than 2
  history_start: number; // number of the first of these iterations
  saved: Saved[];
  saved_note: string; // "This operation saves nothing for backward", "" otherwise
  inputs: [number, string][]; // per slot: producer's key (-1 where cut) and a label ("a", "Mul", "constant")
  consumers: [number, string][]; // producer's output goes to: key and label, "" capped at 50
  formula: Formula | null; // null where there is nothing to say
  why: Why | null; // why the gradient is as it is; null nothing to explain
  problem: string; // why this node can't be read in full, "" otherwise
}

/** A diagnosis: `code` stands between backticks. */
export interface Why {
  kind: string; // "not-leaf", "nan-sqrt"
  cause: string; // one or two sentences
  remedy: string; // one sentence, "" where there is nothing to mend
  evidence: string[]; // facts it rests on
}

export interface DetailOutput {
  output: number;
  names: string[];
  form: string; // "scalar f32"
  value: TensorView | null;
  value_note: string; // "not kept by autograd"; "" otherwise
  gradient: TensorView | null; // from the last pass that reached it
  gradient_note: string; // "not captured yet: call backward()"; "" otherwise
  gradient_pass: number; // 0 none
  grad: TensorView | null; // torch's own .grad, leaves (and retained) only
  grad_note: string; // "" or e.g. ".grad holds 2 passes"
}

export interface Capture {
  pass: number;
  label: string;
  step: number; // 1-based position in the pass
  steps: number; // of how many
  gradients: (TensorView | null)[]; // per output; null: none arrived
  note: string; // "" or why it is not known
}

export interface Saved {
  name: string; // "self", "other", "result", "exponent"
  state: "value" | "none" | "scalar" | "freed" | "modified" | "packed" | "unknown";
  same_as: string; // "a": the saved variable is this named tensor; "" unknown
  tensor: TensorView | null; // also for "freed": as last seen
  text: string; // for scalars and states without a tensor: what to print
  note: string; // a sentence: "Freed by backward(); as last seen.", "saved at version 0, now at version 1"
  unpack: boolean; // "packed" and can be unpacked on request (Call "unpack"); the note says what that runs
}

export interface Hook {
  kind:
    | "tensor hook"
    | "node pre-hook"
    | "node hook"
    | "post-accumulate hook"
    | "module hook"
    | "retain_grad";
  name: string; // "scale"
  where: string; // "cell 3, line 2", "train.py:41", "" unknown
}

/** One line of what happened to the gradient at a node: first "arrived", last "left". */
export interface HookStep {
  what: string; // "arrived", "after scale", "left"
  change: string; // "", "unchanged", "×100", "changed"
  tensor: TensorView | null; // null: none, or not observed (then the note says so)
  note: string;
}

export interface FunctionInfo {
  name: string; // "Double"
  where: string; // "cell 2, line 1"
  materialize: boolean; // missing incoming gradients are made into zeros
  needs: [string, boolean][]; // arguments of forward, and whether a gradient is asked for
}

/** A tensor, summarised where it lives; never whole when it is big. */
export interface TensorView {
  shape: number[];
  dtype: string;
  device: string;
  form: string; // "4×3 f32"
  numel: number;
  text: string; // short: "1.3", "[1, 2, 3]", "‖·‖ 0.53"
  exact: string; // full precision, for hover and copy; "" when too big
  stats: Stats | null; // null: not computed (meta tensors, no elements)
  histogram: { low: Num; high: Num; counts: number[] } | null; // finite elements only
  values: TensorCorner | null; // numbers to show as table or heat map
  note: string; // "complex: magnitudes shown", "" otherwise
}

export interface Stats {
  norm: Num;
  mean: Num;
  std: Num;
  min: Num;
  max: Num;
  nan: number;
  inf: number;
  zero: number;
}

export interface TensorCorner {
  rows: number;
  columns: number;
  // row-major, rows*columns; 1-D tensors are one row, higher ranks show the first matrix of the last two dimensions
  data: Num[];
  text: string[] | null; // for what isn't a plain real number (complex, bool): the cell's text
  whole: boolean; // false: a corner of a bigger tensor
  index: string; // "[0, 0, :, :]" when a slice of higher rank is shown, "" otherwise
}

/**
 * Names, tensor objects and memory, placed: pixels from the top. The columns' widths are the page's own. The same data
 * is drawn as static HTML by `gradwidget/_references_html.py`.
 */
export interface ReferencesPayload {
  v: number;
  height: number;
  names_width: number; // px that the names need
  names: ReferenceName[];
  objects: ReferenceObject[];
  memory: ReferenceMemory[];
  sentences: ReferenceSentence[];
  left_out: string; // how many objects are not drawn, "" none
}

export interface ReferenceName {
  text: string;
  short: string; // what is shown of it
  top: number;
  height: number;
  object: number; // index into objects
  more: boolean; // no name, but how many more there are
  end: number; // where its wire ends, at the object
}

export interface ReferenceObject {
  id: string;
  top: number;
  height: number;
  title: string; // "a[:2], made under no_grad"
  note: string; // "version 0 · 2 f32"
  verdict: string; // "none will arrive"
  tone: "good" | "warn" | "mute";
  leaf: boolean;
  dashed: boolean; // no gradient arrives or passes
  tall: boolean; // has room for a line more
  names: string[];
  about: string; // one sentence
  node: number | null; // its node in the graph
  memory: number; // index into memory; -1 none that can be told
  end: number; // where its wire ends, at the memory
}

export interface ReferenceMemory {
  top: number;
  height: number;
  text: string; // "[1, 2]", "…"
  note: string; // "8 bytes, 2 objects"
  shared: boolean;
  objects: number[];
}

export interface ReferenceSentence {
  parts: [string, boolean][]; // true: a name
  objects: number[]; // whom it is about
}

/** A typeset expression: as text to read out and copy, and as MathML: [tag, child, ...], a leaf's child is its text. */
export interface Maths {
  text: string;
  maths: MathNode;
}

export type MathNode = [tag: string, ...children: (MathNode | string)[]];

/** The chain rule at one node, with the names and numbers of this graph. */
export interface Formula {
  state: "formula" | "sentence" | "own" | "leaf" | "unknown"; // "own": a torch.autograd.Function of the user's
  pass: number; // whose numbers are put in; 0 none
  forward: Maths | null; // "d = a · b = 1.1 · 1.2 = 1.32"
  arrival: Maths | null; // how its own gradient comes together: "dL/dx = dL/du · a + dL/dv · b = 2 + 3 = 5"
  hint: Maths | null; // the rule for its own gradient, without numbers: "dL/dd = dL/de · c"
  parts: FormulaPart[]; // one for each input that asks for a gradient, the first few
  note: string; // a sentence, "" nothing to say
  text: string; // all of it as lines of plain text
}

export interface FormulaPart {
  slot: number;
  key: number; // the input's node
  gradient: Maths; // "dL/da"
  alone: boolean; // false: one contribution of several to it
  local: Maths | null; // "∂d/∂a = b"
  chain: Maths | null; // "dL/dd · b"; null where there is no formula
  numbers: Maths | null; // "1.3 · 1.2", where they are few
  result: Maths | null; // "1.56"
  note: string;
}

/** The evaluation trace: inputs first, outputs last. */
export interface TracePayload {
  rows: TraceRow[];
  outputs: TraceRow[]; // the closing lines: "y = v5", "v̄5 = ȳ = 1"
  note: string; // why there are no rows, "" otherwise
  markdown: string; // the same as text, to be copied
  latex: string;
  csv: string;
}

export interface TraceRow {
  key: number;
  name: string;
  op: string; // "Mul", "leaf", "output"
  statement: Maths; // "v1 = ln(v-1) = ln(2) = 0.693"
  adjoints: Adjoint[]; // what the reverse pass does at this step
}

export interface Adjoint {
  key: number; // whose adjoint
  line: Maths; // "v̄0 = v̄0 + v̄2 · v-1 = 1.716"
}

/** "unpack" runs a saved-tensor hook of the user's and answers with the node's new Detail; "probe" answers with null,
 *  "references" with the named tensors as they are now, "trace" with the evaluation trace. */
export type Call = { kind: "call"; id: string } & (
  | { method: "details"; params: { key: number } }
  | { method: "unpack"; params: { key: number; name: string } }
  | { method: "trace"; params: Record<string, never> }
  | { method: "probe"; params: Record<string, never> }
  | { method: "references"; params: Record<string, never> }
);

export interface Reply {
  kind: "reply";
  id: string;
  result?: Detail | ReferencesPayload | TracePayload | null;
  error?: { cause: string; remedy: string };
}

// Passes of every sort over one graph whose nodes have hooks, a history, packed tensors and a second order.
import { Builder, matrix, scalar } from "./graphs.mjs";

const HISTORY = Array.from({ length: 120 }, (_, i) => {
  if (i === 40) return "nan";
  if (i > 60 && i < 66) return null;
  return 0.9 ** (i / 6) * (1.5 + Math.sin(i * 0.7)) + 0.01;
});

const scaled = {
  hooks: [
    { kind: "tensor hook", name: "watch", where: "cell 3, line 2" },
    { kind: "tensor hook", name: "scale", where: "cell 3, line 5" },
    { kind: "retain_grad", name: "retain_grad", where: "" },
  ],
  hook_steps: [
    { what: "arrived", change: "", tensor: scalar("2"), note: "" },
    { what: "after watch", change: "unchanged", tensor: scalar("2"), note: "" },
    { what: "after scale", change: "×100", tensor: scalar("200"), note: "" },
    { what: "left", change: "", tensor: scalar("200"), note: "" },
  ],
  hooks_note: "What a node hook does to what is handed on can't be told apart from the node itself.",
  function: {
    name: "Double",
    where: "cell 2, line 1",
    materialize: false,
    needs: [
      ["x", true],
      ["factor", false],
    ],
  },
  history: HISTORY,
  history_start: 81,
  saved_note: "",
  saved: [
    {
      name: "x",
      state: "packed",
      same_as: "",
      tensor: null,
      text: "packed by save_on_cpu",
      note: "This runs unpack_from_cpu (torch/autograd/graph.py) and copies 12×16 f32 to the GPU.",
      unpack: true,
    },
  ],
};

export function story(options) {
  const g = new Builder("loss = Sum");
  const x = g.leaf("x", { value: "3", gradient: "200" });
  const w = g.leaf("w", { form: "12×16 f32", norm: 0.0042 });
  const y = g.leaf("y", { value: "0.5", gradient: "0" });
  const double = g.node("Twice", { name: "h", value: "6", gradient: "2", inputs: [x], detail: scaled });
  const proj = g.node("Addmm", { name: "z", form: "12×16 f32", norm: 0.31, inputs: [double, w, x] });
  const squared = g.node("Mul", { form: "12×16 f32", norm: 0.31, inputs: [proj, proj], second: true });
  const side = g.node("Tanh", { value: "0.46", gradient: "0", inputs: [y] });
  const total = g.node("Add", { form: "12×16 f32", norm: 1, inputs: [squared, side], second: true });
  g.node("Sum", { name: "loss", value: "7.1", gradient: "1", inputs: [total] });
  const data = g.finish({ passes: 4, ...options });
  const [, failed, nested, last] = data.live.passes;
  if (last) {
    const at = failed.order.length - 4;
    const keep = new Set(failed.order.slice(0, at));
    cut(failed, (key) => keep.has(key), at);
    Object.assign(failed, { state: "failed", note: "RuntimeError in hook scale: shapes differ" });
    Object.assign(nested, { inside: 2 });
    Object.assign(last, { kind: "grad", label: "grad of loss w.r.t. x" });
    const names = new Map(data.graph.names.map(([key, , [name]]) => [name, key]));
    const without = new Set(["y", "w", "x"].map((name) => names.get(name)));
    const tanh = data.graph.op.indexOf(data.graph.labels.indexOf("Tanh"));
    cut(last, (key) => !without.has(key) && key !== tanh, Number.POSITIVE_INFINITY);
    // What autograd.grad() returned: of a tensor whose node did not run.
    last.key.push(names.get("x"));
    last.output.push(0);
    last.text.push("200");
    last.norm.push(200);
  }
  return data;
}

function cut(pass, keep, steps) {
  const rows = pass.key.flatMap((key, row) => (keep(key) ? [row] : []));
  pass.order = pass.order.filter(keep).slice(0, steps);
  for (const column of ["key", "output", "text", "norm"]) pass[column] = rows.map((row) => pass[column][row]);
  for (const column of ["handed_step", "handed_input", "handed_text", "handed_norm"]) pass[column] = [];
}

export const unpacked = (detail) => ({
  ...detail,
  saved: detail.saved.map((saved) => ({
    ...saved,
    tensor: matrix(12, 16),
    text: "",
    note: "Unpacked on request.",
    unpack: false,
  })),
});

import { extremes } from "./extremes.mjs";
import { Builder, matrix, scalar } from "./graphs.mjs";
import { story } from "./story.mjs";

const saved = (name, tensor, more = {}) => ({
  name,
  state: "value",
  same_as: "",
  tensor,
  text: "",
  note: "",
  unpack: false,
  ...more,
});

/** a, b, c -> d = a * b -> e = d * c. */
export function abc(options) {
  const g = new Builder("e = Mul");
  const a = g.leaf("a", { value: "1.1", gradient: "1.56" });
  const b = g.leaf("b", { value: "1.2", gradient: "1.43" });
  const d = g.node("Mul", {
    name: "d",
    value: "1.32",
    gradient: "1.3",
    inputs: [a, b],
    detail: {
      source: "cell 1, line 4  d = a * b",
      saved: [
        saved("self", scalar("1.1"), { same_as: "a" }),
        saved("other", scalar("1.2"), {
          same_as: "b",
          state: "freed",
          note: "Freed by backward(); as last seen.",
        }),
      ],
      saved_note: "",
      why: {
        kind: "not-leaf",
        cause: "d.grad is None in torch: d is not a leaf.",
        remedy: "Read it here, or call `d.retain_grad()` before backward().",
        evidence: ["d.grad_fn is <MulBackward0>", "d.is_leaf is False"],
      },
    },
  });
  const c = g.leaf("c", { value: "1.3", gradient: "1.32" });
  g.node("Mul", { name: "e", value: "1.716", gradient: "1", inputs: [d, c] });
  return g.finish(options);
}

export function mlp(options) {
  const g = new Builder("loss = MseLoss");
  let x = ["x", "needs no gradient"];
  for (const [i, [rows, columns]] of [
    [32, 16],
    [32, 32],
    [1, 32],
  ].entries()) {
    const weight = g.leaf(`net.${i * 2}.weight`, { form: `${rows}×${columns} f32` });
    const bias = g.leaf(`net.${i * 2}.bias`, { form: `1×${rows} f32` });
    const t = g.node("T", { form: `${columns}×${rows} f32`, inputs: [weight] });
    const detail = {
      module: `net.${i * 2}`,
      saved_note: "",
      saved: [
        saved(
          "mat1",
          matrix(64, columns),
          i ? { state: "modified", note: "saved at version 0, now at version 1" } : { same_as: "x" },
        ),
        saved("mat2", matrix(columns, rows)),
        saved("alpha", null, { state: "scalar", text: "1" }),
      ],
    };
    x = g.node("Addmm", { form: `64×${rows} f32`, inputs: [bias, x, t], detail });
    if (i < 2)
      x = g.node("Relu", { form: `64×${rows} f32`, inputs: [x], detail: { module: `net.${i * 2 + 1}` } });
  }
  g.node("MseLoss", {
    name: "loss",
    value: "0.9173",
    gradient: "1",
    inputs: [x, ["target", "needs no gradient"]],
  });
  return g.finish(options);
}

export function nan(options) {
  const g = new Builder("loss = Sum");
  const x = g.leaf("x", { value: "[0, 1, 2]", gradient: "[nan, 0, 0.25]", form: "3 f32" });
  const w = g.leaf("w", { form: "12×16 f32", gradient: "nan", norm: "nan" });
  const bias = g.leaf("bias", { value: "[0, 0, 0]", gradient: "[0, 0, 0]", form: "3 f32" });
  const log = g.node("Log", {
    value: "[-inf, 0, 0.6931]",
    gradient: "[0, 0, 1]",
    form: "3 f32",
    inputs: [x],
  });
  const mul = g.node("Mul", {
    value: "[nan, 0, 1.3863]",
    gradient: "[1, 1, 1]",
    form: "3 f32",
    inputs: [log, w],
  });
  const add = g.node("Add", { gradient: "[1, 1, 1]", form: "3 f32", inputs: [mul, bias] });
  g.node("Sum", { name: "loss", value: "nan", gradient: "1", inputs: [add] });
  g.notes.push("loss2 needs no gradient and was left out");
  const data = g.finish(options);
  const key = data.graph.op.indexOf(data.graph.labels.indexOf("Log"));
  for (const pass of data.live.passes)
    pass.bad = {
      key,
      step: pass.order.indexOf(key),
      kind: "NaN",
      text: "First NaN: Log handed it on, while what it received was finite.",
    };
  return data;
}

export function hostile(options) {
  const g = new Builder("</script><img src=x onerror=alert(1)> = Add");
  const names = [
    "</script><img src=x onerror=alert(1)>",
    "שלום.עולם",
    "名前の長い変数テスト",
    "x".repeat(300),
    "<b>&amp;</b>",
  ];
  let x = g.leaf("start", { value: "-1.234567e-10", gradient: "-123456789.123" });
  for (const name of names) {
    const leaf = g.leaf(name, { value: "0.123456789", gradient: "-0.000012345" });
    x = g.node("Add", {
      name,
      value: "12345.6789",
      gradient: "1",
      inputs: [x, leaf],
      detail: {
        source: `cell 1, line 1  ${name} = y`,
        why: { kind: "", cause: name, remedy: name, evidence: [name] },
      },
    });
  }
  return g.finish(options);
}

/** Layers of blocks with a residual stream, up to about `size` nodes. */
export function big(size, options) {
  const g = new Builder("loss = Sum");
  let x = g.leaf("tokens.weight", { form: "50257×768 f32" });
  for (let i = 0; g.nodes.length < size - 1; i += 1) {
    const branch = [];
    for (const part of ["q", "k", "v"]) {
      const w = g.leaf(`h.${i}.attn.${part}.weight`, { form: "768×768 f32" });
      const t = g.node("T", { form: "768×768 f32", inputs: [w] });
      branch.push(
        g.node("Addmm", { form: "64×768 f32", inputs: [x, t], value: "0.1234", gradient: "0.0123" }),
      );
    }
    const scores = g.node("Mul", {
      form: "64×64 f32",
      inputs: [branch[0], branch[1]],
      value: "0.5",
      gradient: "-0.25",
    });
    const mixed = g.node("Twice", { form: "64×768 f32", inputs: [scores, branch[2]] });
    x = g.node("Add", { form: "64×768 f32", inputs: [x, mixed], value: "1.5", gradient: "1" });
  }
  g.node("Sum", { name: "loss", value: "3.2", gradient: "1", inputs: [x] });
  return g.finish({ ...options, details: false });
}

/** One of each: every kind of node, a leaf shared by many, several outputs, inputs without gradient. */
export function kinds(options) {
  const g = new Builder("total = Sum");
  const w = g.leaf("w", { value: "[0.5, -1]", gradient: "[12, 8]", form: "2 f32" });
  const parts = ["Twice", "Checkpoint", "Compiled", "Hook", "Relu", "Tanh"].map((label, i) => {
    const x = g.leaf(`x${i}`, { form: "2 f32", value: "[1, 2]", gradient: "[0, 3]" });
    return g.node(label, {
      form: "2 f32",
      value: "[0.5, -2]",
      gradient: "[1, 1]",
      inputs: [x, w, [i % 2 ? "" : "mask", "needs no gradient"]],
    });
  });
  const split = g.node("Split", { name: "left, right", form: "1 f32", inputs: [parts[0], parts[1]] });
  const left = g.node("Mul", {
    name: "y",
    value: "0.25",
    gradient: "1",
    inputs: [split, parts[2], ["2", "constant"]],
  });
  const right = g.node("Add", { value: "-4", gradient: "1", inputs: [split, parts[3]] });
  g.node("Sum", { name: "total", value: "7.125", gradient: "1", inputs: [left, right, parts[4], parts[5]] });
  const data = g.finish(options);
  const key = data.graph.labels.indexOf("Split");
  const at = data.graph.op.indexOf(key);
  data.graph.multi.push([at, 0, 0]);
  data.graph.output = data.graph.target.map((target, i) =>
    target === at && data.graph.source[i] === data.graph.op.indexOf(data.graph.labels.indexOf("Add")) ? 1 : 0,
  );
  data.graph.values.push([at, 0, "0.5"], [at, 1, "-2"]);
  for (const pass of data.live.passes) {
    pass.key.push(at, at);
    pass.output.push(0, 1);
    pass.text.push("2", "none");
    pass.norm.push(2, null);
  }
  return data;
}

export const SAMPLES = {
  extremes: (options) => extremes(options),
  story: (options) => story(options),
  abc: (options) => abc(options),
  mlp: (options) => mlp(options),
  kinds: (options) => kinds(options),
  nan: (options) => nan(options),
  hostile: (options) => hostile(options),
  big300: (options) => big(300, options),
  big3000: (options) => big(3000, options),
  big6000: (options) => big(6000, options),
};

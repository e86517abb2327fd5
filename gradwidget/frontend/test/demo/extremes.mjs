// What is longest, oddest and most at once: for the tests of what must not break the page.
import { Builder, matrix, scalar } from "./graphs.mjs";

const LONG = "a_very_long_name_".repeat(18);

/** A tensor whose elements are all alike, or none of which is finite. */
const even = (number, more) => {
  const view = matrix(16, 16);
  const data = view.values.data.map(() => number);
  const alike = { mean: number, std: 0, min: number, max: number, norm: 16 };
  return { ...view, values: { ...view.values, data }, stats: { ...view.stats, ...alike, ...more } };
};

const complex = {
  ...scalar("1.894-2.5j"),
  dtype: "complex64",
  note: "Complex: statistics of the magnitude.",
};

const saved = (name, more) => ({
  name,
  state: "scalar",
  same_as: "",
  tensor: null,
  text: "",
  note: "",
  unpack: false,
  ...more,
});

export function extremes(options) {
  const g = new Builder(`${LONG} = Sum`);
  const a = g.leaf("turned\u202eeman", { value: "-1.235e+08", gradient: "-0.0001235" });
  const b = g.leaf("", {
    value: "[-1.235e+08, 8.1e-11, 3, 4]",
    gradient: "[1, 2, 3, 4.125e-07]",
    form: "4 f32",
  });
  const c = g.leaf(LONG, { value: "1.894-2.5j", gradient: "-1.235e-10+8.1e+11j", form: "scalar c64" });
  const mul = g.node("Mul", {
    form: "4 f32",
    value: "[1.235e+04, nan, -inf, 2.25]",
    gradient: "[1, 1, 1, 1]",
    inputs: [a, b, ["3", "a constant"]],
  });
  const twice = g.node("Twice", {
    name: "y",
    form: "16×16 f32",
    inputs: [mul, c, ["mask", "needs no gradient"]],
    detail: {
      function: { name: LONG, where: LONG, materialize: true, needs: [[LONG, true]] },
      hooks: [{ kind: "tensor hook", name: LONG, where: `${LONG}.py:3` }],
      saved: [
        saved("self", { state: "freed", same_as: LONG, tensor: even(1, { nan: 0, inf: 0, zero: 0 }) }),
        saved(LONG, { text: `${"word ".repeat(24)}(3,000 characters)` }),
        saved("none_finite", { state: "value", tensor: even("nan", { nan: 250, inf: 6, zero: 0 }) }),
        saved("some_odd", { state: "modified", tensor: matrix(16, 16, { odd: true }) }),
        saved("z", { state: "value", tensor: complex }),
      ],
      saved_note: "",
    },
  });
  const third = g.node("Relu", { form: "16×16 f32", inputs: [twice] });
  const fourth = g.node("Tanh", { form: "16×16 f32", inputs: [third] });
  g.node("Sum", { name: LONG, value: "7.1", gradient: "1", inputs: [fourth] });
  const data = g.finish({ passes: 50, ...options });
  const [first, second] = data.live.passes;
  Object.assign(first, {
    label: `backward from ${LONG}`,
    state: "failed",
    note: "RuntimeError in hook scale",
  });
  Object.assign(data.live.passes.at(-1), { inside: 49 });
  Object.assign(second, { inside: 1 });
  return data;
}

// Graphs for eyes and tests: what the kernel would send, made by hand.
const OPS = {
  Mul: "operation",
  Add: "operation",
  Addmm: "operation",
  Relu: "operation",
  Tanh: "operation",
  Sum: "operation",
  MseLoss: "operation",
  Log: "operation",
  T: "operation",
  Twice: "function",
  Checkpoint: "checkpoint",
  Compiled: "compiled",
  Hook: "hook",
  Split: "operation",
  AccumulateGrad: "leaf",
};

export class Builder {
  constructor(title) {
    this.title = title;
    this.ops = Object.keys(OPS);
    this.nodes = [];
    this.edges = [];
    this.cuts = [];
    this.forms = [];
    this.notes = [];
  }

  node(label, options = {}) {
    const { inputs = [], ...rest } = options;
    const key = this.nodes.length;
    this.nodes.push({
      ...{ label, name: "", form: "scalar f32", value: "", gradient: "", norm: null, second: false },
      detail: {},
      ...rest,
    });
    inputs.forEach((input, slot) => {
      if (typeof input === "number") this.edges.push([key, input, slot]);
      else this.cuts.push([key, slot, ...input]);
    });
    return key;
  }

  leaf(name, options) {
    return this.node("AccumulateGrad", { name, ...options });
  }

  /** Keys are counted from the output, breadth-first, as the kernel does. */
  finish({
    passes = 1,
    selected = null,
    direction = "right",
    height = 480,
    watching = true,
    details = true,
    probe = "",
  } = {}) {
    const order = this.order();
    const keyOf = new Map(order.map((old, key) => [old, key]));
    const nodes = order.map((old) => this.nodes[old]);
    const byKey = (list, at) =>
      list.map((row) => row.with(at, keyOf.get(row[at]))).filter((row) => row[at] !== undefined);
    const edges = byKey(byKey(this.edges, 0), 1).sort((a, b) => a[0] - b[0] || a[2] - b[2]);
    const form = (text) => {
      if (!this.forms.includes(text)) this.forms.push(text);
      return this.forms.indexOf(text);
    };
    const graph = {
      v: 1,
      title: this.title,
      nodes: nodes.length,
      ops: this.ops.map((op) => (op === "AccumulateGrad" ? op : `${op}Backward0`)),
      labels: this.ops.map((op) => (op === "AccumulateGrad" ? "Leaf" : op)),
      kinds: Object.values(OPS),
      op: nodes.map((node) => this.ops.indexOf(node.label)),
      form: nodes.map((node) => form(node.form)),
      forms: [],
      multi: [],
      source: edges.map((edge) => edge[0]),
      target: edges.map((edge) => edge[1]),
      input: edges.map((edge) => edge[2]),
      output: edges.map(() => 0),
      cuts: byKey(this.cuts, 0),
      names: nodes.flatMap((node, key) => (node.name ? [[key, 0, [node.name]]] : [])),
      outputs: [[0, 0, nodes[0].name]],
      values: nodes.flatMap((node, key) => (node.value ? [[key, 0, node.value]] : [])),
      second: nodes.flatMap((node, key) => (node.second ? [key] : [])),
      notes: this.notes,
    };
    graph.forms = this.forms.map((text) => ({ shape: [], dtype: "float32", device: "cpu", text }));
    const live = {
      v: 1,
      watching,
      status: "",
      freed: passes > 0,
      passes: Array.from({ length: passes }, (_, i) => passOf(i + 1, nodes, edges)),
      probe: { possible: passes === 0, note: probe },
      cells: [],
      dropped: 0,
    };
    const known = details ? nodes.map((node, key) => [String(key), detailOf(key, node, graph, passes)]) : [];
    return { graph, live, details: Object.fromEntries(known), selected, direction, height };
  }

  order() {
    const start = this.nodes.length - 1;
    const seen = new Set([start]);
    for (const key of seen) for (const [from, to] of this.edges) if (from === key) seen.add(to);
    return [...seen];
  }
}

/** Every consumer before its producers, as the engine runs them. */
function engineOrder(count, edges) {
  const waiting = Array.from({ length: count }, () => 0);
  for (const [, target] of edges) waiting[target] += 1;
  const order = waiting.flatMap((uses, key) => (uses === 0 ? [key] : []));
  for (const key of order)
    for (const [source, target] of edges)
      if (source === key) {
        waiting[target] -= 1;
        if (waiting[target] === 0) order.push(target);
      }
  return order;
}

const SIZE = /^(\d+)×(\d+)/;

function normOf(node, key) {
  if (node.norm !== null) return node.norm;
  if (SIZE.test(node.form)) return 10 ** (wave(key) * 3 - 1);
  const numbers = node.gradient.match(/-?[\d.]+(e-?\d+)?|nan|inf/g);
  if (!numbers) return null;
  if (numbers.includes("nan") || numbers.includes("inf")) return numbers.includes("nan") ? "nan" : "inf";
  return Math.hypot(...numbers.map(Number));
}

export function passOf(number, nodes, edges) {
  const keys = nodes.map((_, key) => key);
  const uses = keys.map((key) => edges.filter(([, target]) => target === key).length);
  const order = engineOrder(nodes.length, edges);
  const handed = order.flatMap((key, step) =>
    edges.flatMap(([source, target, slot]) =>
      source === key && uses[target] === 1 ? [[step, slot, target]] : [],
    ),
  );
  return {
    number,
    label: `backward from ${nodes[0].name || "output"}`,
    kind: "backward",
    inside: 0,
    state: "complete",
    note: "",
    order,
    key: keys,
    output: keys.map(() => 0),
    text: nodes.map((node) => node.gradient),
    norm: nodes.map(normOf),
    handed_step: handed.map(([step]) => step),
    handed_input: handed.map(([, slot]) => slot),
    handed_text: handed.map(([, , target]) => nodes[target].gradient),
    handed_norm: handed.map(([, , target]) => normOf(nodes[target], target)),
    bad: null,
    hooked_key: [],
    hooked_change: [],
  };
}

const number = (text) => (/^-?[\d.]+(e-?\d+)?$/.test(text) ? Number(text) : text);

export function scalar(text) {
  return {
    shape: [],
    dtype: "float32",
    device: "cpu",
    form: "scalar f32",
    numel: 1,
    text,
    exact: `${text}0000238418579`,
    stats: null,
    histogram: null,
    values: { rows: 1, columns: 1, data: [number(text)], text: null, whole: true, index: "" },
    note: "",
  };
}

/** A deterministic stand-in for random numbers. */
const wave = (i) => Math.sin(i * 12.9898) * Math.cos(i * 4.1414 + 1);

export function matrix(rows, columns, { odd = false, name = "f32" } = {}) {
  const [r, c] = [Math.min(rows, 64), Math.min(columns, 64)];
  const data = Array.from({ length: r * c }, (_, i) => wave(i) * 0.3);
  if (odd) data.splice(5, 3, "nan", "inf", 0);
  const finite = data.filter((x) => typeof x === "number");
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const counts = Array.from({ length: 24 }, () => 0);
  for (const x of finite) counts[Math.min(23, Math.floor(((x - low) / (high - low)) * 24))] += 1;
  return {
    shape: [rows, columns],
    dtype: "float32",
    device: "cpu",
    form: `${rows}×${columns} ${name}`,
    numel: rows * columns,
    text: odd ? "nan" : "‖·‖ 2.418",
    exact: "",
    stats: {
      norm: 2.418,
      mean: odd ? "nan" : 0.0123456,
      std: 0.1534,
      min: low,
      max: high,
      nan: odd ? 1 : 0,
      inf: odd ? 1 : 0,
      zero: odd ? 1 : 0,
    },
    histogram: { low, high, counts },
    values: { rows: r, columns: c, data, text: null, whole: r === rows && c === columns, index: "" },
    note: "",
  };
}

function viewOf(text, node) {
  const size = /^(\d+)×(\d+)/.exec(node.form);
  if (size) return matrix(Number(size[1]), Number(size[2]), { odd: /nan/.test(text) });
  return scalar(text || "0.25");
}

function detailOf(key, node, graph, passes) {
  const leaf = node.label === "AccumulateGrad";
  const label = (other) => graph.names.find(([k]) => k === other)?.[2][0] ?? graph.labels[graph.op[other]];
  const sized = /×/.test(node.form);
  const value = node.value || sized ? viewOf(node.value, node) : null;
  const gradient = passes > 0 && (node.gradient || sized) ? viewOf(node.gradient, node) : null;
  const edges = graph.source.map((source, i) => ({ source, target: graph.target[i], input: graph.input[i] }));
  const inputs = [
    ...edges
      .filter((edge) => edge.source === key)
      .map((edge) => [edge.input, edge.target, label(edge.target)]),
    ...graph.cuts.filter(([k]) => k === key).map(([, slot, text]) => [slot, -1, text]),
  ].sort((a, b) => a[0] - b[0]);
  return {
    key,
    op: graph.ops[graph.op[key]],
    label: node.label === "AccumulateGrad" ? "Leaf" : node.label,
    kind: graph.kinds[graph.op[key]],
    names: node.name ? [node.name] : [],
    module: "",
    source: "",
    subtitle: leaf ? "leaf: the gradient is added to .grad" : "operation, not a leaf",
    outputs: [
      {
        output: 0,
        names: node.name ? [node.name] : [],
        form: node.form,
        value,
        value_note: value ? "" : "not kept by autograd",
        gradient,
        gradient_note: gradient ? "" : "not captured yet: call backward()",
        gradient_pass: gradient ? passes : 0,
        grad: leaf ? gradient : null,
        grad_note: leaf && passes > 1 ? `.grad holds ${passes} passes` : "",
      },
    ],
    captures: Array.from({ length: gradient ? passes : 0 }, (_, i) => ({
      pass: i + 1,
      label: "backward from e",
      step: key + 1,
      steps: graph.nodes,
      gradients: [gradient],
      note: "",
    })),
    module_types: [],
    code: "",
    made_note: "",
    captures_note: gradient ? "" : "No backward pass yet: call backward().",
    hooks: [],
    hook_steps: [],
    hooks_note: "",
    function: null,
    history: [],
    history_start: 1,
    formula: null,
    saved: [],
    saved_note: leaf ? "" : "This operation saves nothing for backward",
    inputs: inputs.map(([, other, text]) => [other, text]),
    consumers: edges.filter((edge) => edge.target === key).map((edge) => [edge.source, label(edge.source)]),
    why: null,
    problem: "",
    ...node.detail,
  };
}

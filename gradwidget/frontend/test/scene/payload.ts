/** Graph payloads written by hand: each node names its op and its inputs, in the order of the keys. */
import type { Form, GraphPayload, Kind } from "../../src/wire";

export interface NodeSketch {
  op: string;
  kind?: Kind;
  names?: string[];
  /** Producers' keys, slot by slot; [key, output] for another output than the first; null: needs no gradient. */
  inputs?: (number | [number, number] | null)[];
  shapes?: number[][];
}

export function payload(
  sketches: NodeSketch[],
  outputs: [number, number, string][] = [[0, 0, ""]],
): GraphPayload {
  const graph: GraphPayload = {
    v: 1,
    title: "",
    nodes: sketches.length,
    ops: [],
    labels: [],
    kinds: [],
    forms: [],
    op: [],
    form: [],
    multi: [],
    source: [],
    target: [],
    input: [],
    output: [],
    cuts: [],
    names: [],
    outputs,
    values: [],
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
    second: [],
    code: { recorded: false, files: [], places: [], place: [] },
    notes: [],
  };
  sketches.forEach(
    (
      { op, kind = op === "AccumulateGrad" ? "leaf" : "operation", names, inputs = [], shapes = [[]] },
      key,
    ) => {
      let index = graph.ops.indexOf(op);
      if (index < 0 || graph.kinds[index] !== kind) {
        index = graph.ops.push(op) - 1;
        graph.labels.push(op.replace(/Backward0?$/, ""));
        graph.kinds.push(kind);
      }
      graph.op.push(index);
      const forms = shapes.map((shape) => graph.forms.push(form(shape)) - 1);
      graph.form.push(forms[0] ?? -1);
      if (forms.length > 1) graph.multi.push([key, ...forms]);
      if (names) graph.names.push([key, 0, names]);
      inputs.forEach((producer, slot) => {
        if (producer === null) {
          graph.cuts.push([key, slot, "", "a constant"]);
          return;
        }
        const [target, output] = Array.isArray(producer) ? producer : [producer, 0];
        graph.source.push(key);
        graph.target.push(target);
        graph.input.push(slot);
        graph.output.push(output);
      });
    },
  );
  return graph;
}

function form(shape: number[]): Form {
  return { shape, dtype: "float32", device: "cpu", text: `${shape.join("×") || "scalar"} f32` };
}

/** d = a * b; e = d * c */
export function toy(): GraphPayload {
  return payload(
    [
      { op: "MulBackward0", names: ["e"], inputs: [1, 2] },
      { op: "MulBackward0", names: ["d", "product"], inputs: [3, 4] },
      { op: "AccumulateGrad", names: ["c"] },
      { op: "AccumulateGrad", names: ["a"] },
      { op: "AccumulateGrad", names: ["b"] },
    ],
    [[0, 0, "e"]],
  );
}

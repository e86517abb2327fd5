import { describe, expect, it } from "vitest";
import type { Scene, SceneNode } from "../../src/scene";
import { buildScene } from "../../src/scene/build";
import type { GraphPayload, LivePayload } from "../../src/wire";
import { type NodeSketch, payload, toy } from "./payload";

const measure = (text: string) => 7 * text.length;

function build(graph: GraphPayload, maxNodes = 1000): Scene {
  return buildScene(graph, null, { maxNodes, measure });
}

function find(scene: Scene, id: string): SceneNode {
  const node = scene.nodes.find((one) => one.id === id);
  if (!node) throw new Error(`no node ${id} in ${scene.nodes.map((one) => one.id).join(" ")}`);
  return node;
}

const wires = (scene: Scene) => scene.edges.map((edge) => `${edge.from} -> ${edge.to}.${edge.input}`);

const leaf: NodeSketch = { op: "AccumulateGrad", names: ["w"] };

/** A chain of additions of one leaf, the last key. */
function sharing(consumers: number): GraphPayload {
  const nodes: NodeSketch[] = [];
  for (let i = 0; i < consumers; i++)
    nodes.push({ op: "AddBackward0", inputs: i + 1 < consumers ? [i + 1, consumers] : [consumers, null] });
  return payload([...nodes, leaf]);
}

describe("the toy", () => {
  it("has its five nodes and an open end, with wires from producer to consumer", () => {
    const scene = build(toy());
    expect(scene.nodes.map((node) => node.id)).toEqual(["0", "1", "2", "3", "4", "out:0"]);
    expect(wires(scene)).toEqual(["1 -> 0.0", "2 -> 0.1", "3 -> 1.0", "4 -> 1.1", "0 -> out:0.0"]);
    expect(scene.left_out).toBe(0);
    expect(find(scene, "out:0")).toMatchObject({ role: "output", title: "e", width: 56 });
  });

  it("says what each node is", () => {
    const scene = build(toy());
    expect(find(scene, "1")).toMatchObject({
      title: "Mul",
      name: "d = product",
      subtitle: "scalar f32",
      inputs: 2,
      outputs: 1,
    });
    expect(find(scene, "3")).toMatchObject({
      title: "a",
      name: "",
      subtitle: "leaf · scalar f32",
      inputs: 0,
    });
    expect(find(scene, "1").hint).toBe("Mul d = product\nMulBackward0\nscalar f32 on cpu");
  });

  it("tells values and the latest gradients to those who can't see the wires", () => {
    const graph = toy();
    graph.values.push([1, 0, "1.32"]);
    const pass = {
      label: "",
      state: "complete",
      note: "",
      order: [1],
      key: [1],
      output: [0],
      norm: [1],
    } as const;
    const passes = [1, 2].map((number) => ({ ...structuredClone(pass), number, text: [`${number}.5`] }));
    const live = {
      v: 1,
      watching: true,
      status: "",
      freed: false,
      dropped: 0,
      passes,
    } as unknown as LivePayload;
    const hint = buildScene(graph, live, { maxNodes: 10, measure }).nodes[1]?.hint;
    expect(hint).toContain("value 1.32\ngradient of pass 2: 2.5");
  });

  it("gives two lines 48 pixels, and a width that fits up to 220", () => {
    const graph = toy();
    graph.names[1] = [1, 0, ["a_very_long_name_for_a_variable_that_nobody_would_use"]];
    const scene = build(graph);
    expect(find(scene, "0")).toMatchObject({ width: 98, height: 48 });
    expect(find(scene, "1")).toMatchObject({ width: 220, name: graph.names[1][2][0] });
  });
});

describe("kinds", () => {
  it("a user's Function says so, an unknown shape says nothing", () => {
    const graph = payload([{ op: "SquareBackward", kind: "function", inputs: [1] }, leaf]);
    expect(find(build(graph), "0").subtitle).toBe("Function · scalar f32");
    graph.form = [-1, -1];
    expect(find(build(graph), "0").subtitle).toBe("Function");
    expect(find(build(graph), "1").subtitle).toBe("leaf");
  });

  it("outputs of few numbers get room to write them", () => {
    const split = (shape: number[]) =>
      payload([
        { op: "AddBackward0", inputs: [1, [1, 1]] },
        { op: "UnbindBackward0", inputs: [2], shapes: [shape, shape] },
        leaf,
      ]);
    expect(find(build(split([])), "1").height).toBe(100);
    expect(find(build(split([2, 8])), "1").height).toBe(48);
  });

  it("several outputs are counted, ports keep torch's numbers, the box has room for those in use", () => {
    const shapes = Array.from({ length: 6 }, () => [2, 8]);
    const graph = payload([
      {
        op: "CatBackward0",
        inputs: [
          [1, 5],
          [1, 0],
        ],
      },
      { op: "SplitBackward0", inputs: [2], shapes },
      leaf,
    ]);
    const scene = build(graph);
    expect(find(scene, "1")).toMatchObject({ subtitle: "6 outputs · 2×8 f32", outputs: 6, height: 48 });
    expect(scene.edges.slice(0, 2).map((edge) => edge.output)).toEqual([5, 0]);
  });
});

describe("shared leaves", () => {
  it("stay one node with several wires while they are few and close", () => {
    const square = build(payload([{ op: "MulBackward0", inputs: [1, 1] }, leaf]));
    expect(wires(square)).toEqual(["1 -> 0.0", "1 -> 0.1", "0 -> out:0.0"]);
    expect(build(sharing(3)).nodes.filter((node) => node.key === 3)).toHaveLength(1);
  });

  it("are drawn again beside each consumer when they are many", () => {
    const scene = build(sharing(6));
    const copies = scene.nodes.filter((node) => node.key === 6);
    expect(copies.map((node) => node.id)).toEqual(["6@0.1", "6@1.1", "6@2.1", "6@3.1", "6@4.1", "6@5.0"]);
    expect(copies[0]).toMatchObject({ role: "copy", title: "w", height: 28 });
    expect(copies[0]?.hint).toContain("leaf w, shared by 6 operations; drawn again here");
    expect(wires(scene)).toContain("6@2.1 -> 2.1");
  });

  it("are drawn again when two consumers are far apart", () => {
    const nodes: NodeSketch[] = Array.from({ length: 12 }, (_, i) => ({
      op: "SinBackward0",
      inputs: [i + 1],
    }));
    nodes[0] = { op: "MulBackward0", inputs: [1, 12] };
    expect(build(payload([...nodes, leaf])).nodes.filter((node) => node.role === "copy")).toHaveLength(2);
  });

  it("keep a node of their own for the wire of an output", () => {
    const graph = sharing(6);
    graph.outputs.push([6, 0, "w"]);
    const scene = build(graph);
    expect(find(scene, "6").role).toBe("node");
    expect(wires(scene)).toContain("6 -> out:1.0");
  });
});

describe("inputs without gradient", () => {
  it("end in a mark at their slot", () => {
    const graph = payload([{ op: "MulBackward0", inputs: [1, null] }, leaf]);
    graph.cuts[0] = [0, 1, "x", "detached"];
    const scene = build(graph);
    expect(find(scene, "cut:0.1")).toMatchObject({
      role: "cut",
      key: 0,
      title: "x",
      hint: "x: detached",
      height: 28,
    });
    expect(wires(scene)).toContain("cut:0.1 -> 0.1");
  });

  it("are not drawn in large graphs", () => {
    expect(build(sharing(60)).nodes.some((node) => node.role === "cut")).toBe(false);
  });
});

describe("what doesn't fit", () => {
  it("is counted behind each place where it hangs", () => {
    const graph = payload([
      { op: "AddBackward0", inputs: [1, 2] },
      { op: "MulBackward0", inputs: [3, 4] },
      { op: "SinBackward0", inputs: [4] },
      { op: "CosBackward0", inputs: [5] },
      { op: "ExpBackward0", inputs: [5] },
      leaf,
    ]);
    const scene = build(graph, 3);
    expect(scene.left_out).toBe(3);
    expect(find(scene, "more:1")).toMatchObject({
      role: "more",
      key: 1,
      title: "3 more nodes",
      hint: "3 more nodes behind",
    });
    expect(find(scene, "more:2").title).toBe("2 more nodes");
    expect(wires(scene)).toEqual([
      "1 -> 0.0",
      "2 -> 0.1",
      "more:1 -> 1.0",
      "more:1 -> 1.1",
      "more:2 -> 2.0",
      "0 -> out:0.0",
    ]);
  });

  it("never makes more than twice the nodes, and no wire without both ends", () => {
    for (const maxNodes of [1, 2, 10, 50, 100]) {
      const scene = build(sharing(80), maxNodes);
      expect(scene.nodes.length).toBeLessThanOrEqual(2 * maxNodes);
      const ids = new Set(scene.nodes.map((node) => node.id));
      expect(ids.size).toBe(scene.nodes.length);
      for (const edge of scene.edges) expect([ids.has(edge.from), ids.has(edge.to)]).toEqual([true, true]);
    }
  });

  it("a chain of 100,000 nodes is cut without walking it again and again", () => {
    const graph = payload(
      Array.from({ length: 100_000 }, (_, i) => ({ op: "SinBackward0", inputs: i < 99_999 ? [i + 1] : [] })),
    );
    const scene = build(graph, 150);
    expect(scene.nodes).toHaveLength(152);
    expect(find(scene, "more:149").title).toBe("99850 more nodes");
  });
});

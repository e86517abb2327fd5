import { describe, expect, it } from "vitest";
import { groupKey, type Scene } from "../../src/scene";
import { buildFolded } from "../../src/scene/folded";
import { GroupTree } from "../../src/scene/tree";
import { Kinship } from "../../src/view/focus";
import { SearchIndex } from "../../src/view/search";
import type { GraphPayload } from "../../src/wire";
import { grouped } from "./grouped";
import { type NodeSketch, payload } from "./payload";

const measure = (text: string) => 7 * text.length;

function build(graph: GraphPayload, collapsed: string[] = [], focus: Set<number> | null = null): Scene {
  const tree = new GroupTree(graph);
  return buildFolded(graph, { tree, collapsed: new Set(collapsed), focus, frames: true, measure });
}

const wires = (scene: Scene) => scene.edges.map(({ from, to }) => `${from} -> ${to}`).sort();
const ids = (scene: Scene) => scene.nodes.map(({ id }) => id).sort();

/** Eight steps in a row, all with one weight: 7 <- 6 <- ... <- 0; the weight is 8. Two groups of four steps, in one. */
function loop(): GraphPayload {
  const nodes: NodeSketch[] = Array.from({ length: 8 }, (_, key) => ({
    op: "MulBackward0",
    inputs: key < 7 ? [key + 1, 8] : [8, null],
  }));
  const graph = payload([...nodes, { op: "AccumulateGrad", names: ["w"], shapes: [[3]] }], [[0, 0, "loss"]]);
  // places in the forward pass count from the last key: the weight takes the first one
  return grouped(graph, [
    { id: "all", from: 0, to: 9, kind: "repeat", times: 8 },
    { id: "first", from: 1, to: 5, kind: "part" },
    { id: "second", from: 5, to: 9, kind: "part" },
  ]);
}

describe("a folded picture", () => {
  it("has one box for all that is in a collapsed group", () => {
    const scene = build(loop(), ["all"]);
    expect(ids(scene)).toEqual(["g:0", "out:0"]);
    expect(scene.nodes[0]).toMatchObject({
      role: "group",
      key: groupKey(0),
      group: { kind: "repeat", times: 8 },
    });
    expect(scene.nodes[0]?.subtitle).toContain("9 nodes");
    expect(wires(scene)).toEqual(["g:0 -> out:0"]);
  });

  it("has a frame for an open one, and one wire for all that runs between two boxes", () => {
    const scene = build(loop(), ["first", "second"]);
    expect(scene.frames?.map(({ id, parent }) => [id, parent])).toEqual([["g:0", -1]]);
    expect(wires(scene)).toEqual(["8 -> g:1", "8 -> g:2", "g:1 -> g:2", "g:2 -> out:0"].sort());
  });

  it("says which value runs between two groups, if it is one", () => {
    const scene = build(loop(), ["first", "second"]);
    const wire = scene.edges.find(({ from, to }) => from === "g:1" && to === "g:2");
    expect(wire?.carries).toEqual({ key: 4, output: 0 });
    expect(wire?.stands).toEqual([[3, 0]]);
    expect(scene.edges.find(({ from }) => from === "8")?.carries).toEqual({ key: 8, output: 0 });
  });

  it("draws a shared leaf beside each operation that uses it", () => {
    const scene = build(loop());
    expect(scene.nodes.filter(({ role }) => role === "copy")).toHaveLength(8);
    expect(scene.nodes.some(({ id }) => id === "8")).toBe(false);
    expect(scene.edges.filter(({ from }) => from.startsWith("8@"))).toHaveLength(8);
  });

  it("lets groups say that they use a shared leaf, but the first", () => {
    const rows = Array.from({ length: 6 }, (_, i) => ({ id: `step ${i}`, from: 1 + 2 * i, to: 3 + 2 * i }));
    const nodes: NodeSketch[] = Array.from({ length: 12 }, (_, key) => ({
      op: "MulBackward0",
      inputs: key < 11 ? [key + 1, 12] : [12, null],
    }));
    const graph = grouped(payload([...nodes, { op: "AccumulateGrad", names: ["w"] }]), rows);
    const scene = build(
      graph,
      rows.map(({ id }) => id),
    );
    expect(scene.edges.filter(({ from }) => from === "12").map(({ to }) => to)).toEqual(["g:0"]);
    expect(scene.nodes.filter(({ subtitle }) => subtitle.includes("1 shared"))).toHaveLength(5);
  });

  it("has ports of its own for different origins", () => {
    const nodes: NodeSketch[] = [
      { op: "AddBackward0", inputs: [1, 2] },
      { op: "MulBackward0", inputs: [3, 4] },
      { op: "MulBackward0", inputs: [5, 6] },
      ...["a", "b", "c", "d"].map((name) => ({ op: "AccumulateGrad", names: [name] })),
    ];
    const graph = grouped(payload(nodes), [{ id: "both", from: 4, to: 6 }]);
    const into = build(graph, ["both"]).edges.filter(({ to }) => to === "g:0");
    expect(new Set(into.map(({ input }) => input)).size).toBe(4);
  });

  it("looks at a part alone", () => {
    const graph = loop();
    const keys = new Kinship(graph).reach([3], "ancestors");
    expect([...keys].sort()).toEqual([3, 4, 5, 6, 7, 8]);
    const scene = build(graph, ["first"], keys);
    expect(ids(scene)).toEqual(["3", "8", "g:1"]);
    expect(build(graph, ["second"], keys).nodes.find(({ id }) => id === "g:2")?.subtitle).toContain(
      "1 of 4 nodes",
    );
  });
});

describe("the tree", () => {
  it("knows what is in which", () => {
    const tree = new GroupTree(loop());
    expect([...tree.members(0)].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect([...tree.members(1)].sort()).toEqual([4, 5, 6, 7]);
    expect([...tree.counts]).toEqual([9, 4, 4]);
    expect(tree.chain(2)).toEqual([0, 2]);
  });

  it("opens a group onto closed ones, and closes what is in it along", () => {
    const tree = new GroupTree(loop());
    expect(tree.opened(["all"], 0)).toEqual(["first", "second"]);
    expect(tree.closed(["second"], 0)).toEqual(["all"]);
    expect(tree.closed([], 1)).toEqual(["first"]);
    expect(tree.shown(["all"], 2)).toEqual(["first"]);
    expect(tree.shown(["first"], 2)).toEqual(["first"]);
  });

  it("counts boxes", () => {
    const tree = new GroupTree(loop());
    const boxes = (...ids: string[]) => tree.boxes(new Set(ids));
    expect([boxes(), boxes("all"), boxes("first"), boxes("first", "second")]).toEqual([9, 1, 6, 3]);
  });
});

describe("the focus", () => {
  it("finds every way between two nodes, whichever comes first", () => {
    const kinship = new Kinship(loop());
    expect([...kinship.between([1], [4])].sort()).toEqual([1, 2, 3, 4]);
    expect(kinship.between([4], [1])).toEqual(kinship.between([1], [4]));
    expect([...kinship.reach([6], "descendants")].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });
});

describe("the search", () => {
  const graph: GraphPayload = { ...loop(), lines: [["cell 3, line 2", [5, 6]]] };
  const index = new SearchIndex(graph, new GroupTree(graph));

  it("finds names, operations, modules, shapes and source lines, in the order of the forward pass", () => {
    expect(index.find("w")).toEqual([8]);
    expect(index.find("MulB")).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    expect(index.find("first")).toEqual([7, 6, 5, 4]);
    expect(index.find("cell 3")).toEqual([6, 5]);
    expect(index.find("first line")).toEqual([6, 5]);
    expect(index.find("[3]")).toEqual([8]);
    expect(index.find("nothing of it")).toEqual([]);
    expect(index.find("  ")).toEqual([]);
  });
});

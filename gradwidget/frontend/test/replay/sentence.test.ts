import { describe, expect, it } from "vitest";
import { GraphIndex } from "../../src/view/graph_index";
import { positionOf } from "../../src/view/replay/position";
import { Run } from "../../src/view/replay/run";
import { headline, sentence, spoken } from "../../src/view/replay/sentence";
import type { Pass } from "../../src/wire";
import { page } from "../samples";
import { passOf } from "./passes";

function said(name: Parameters<typeof page>[0], step: number | null, change: Partial<Pass> = {}): string {
  const run = new Run(passOf(name, change));
  const position = positionOf(step, run.steps);
  const parts = sentence(run, position, new GraphIndex(page(name).graph));
  return `${headline(run, position)}: ${spoken(parts)}`;
}

const nothingHanded = { handed_step: [], handed_input: [], handed_text: [], handed_norm: [] };

describe("the line says", () => {
  it("what a step received and handed on", () => {
    expect(said("abc", 2)).toBe("step 2 of 5: Mul d receives 1.3, hands 1.56 to a and 1.43 to b");
  });

  it("that a leaf keeps it, but not where nothing is kept", () => {
    expect(said("abc", 4)).toBe("step 4 of 5: a receives 1.56 and adds it to .grad");
    expect(said("abc", 4, { kind: "probe" })).toBe("step 4 of 5: a receives 1.56");
  });

  it("what comes first, and what came out", () => {
    expect(said("abc", 0)).toMatch(/^step 0 of 5: Nothing has run yet\. Mul e comes first\.$/);
    expect(said("abc", null)).toMatch(/^all 5 steps: The pass as it ended/);
    expect(said("abc", null, { state: "failed", order: [0, 1] })).toMatch(/^failed after 2 steps/);
    expect(said("abc", null, { order: [] })).toMatch(/No step of this pass was seen/);
  });

  it("nothing of what is not known", () => {
    expect(said("abc", 2, nothingHanded)).toMatch(/receives 1\.3, hands on to a and on to b$/);
    const rows = { key: [0], output: [0], text: ["1"], norm: [1] };
    expect(said("abc", 2, { ...nothingHanded, ...rows, order: [0, 1] })).toBe("step 2 of 2: Mul d runs");
  });

  it("shape and norm of what is too big, and part of a sum where several meet", () => {
    const graph = page("story").graph;
    const mul = graph.labels.indexOf("Mul");
    const step = passOf("story").order.findIndex((key) => graph.op[key] === mul) + 1;
    expect(said("story", step)).toBe(
      `step ${step} of 9: Mul receives 12×16 f32 of norm 0.31, hands on to Addmm z (part of a sum) and on to Addmm z (part of a sum)`,
    );
  });

  it("none where none came", () => {
    expect(said("abc", 1, { text: ["none", "", "", "", ""], norm: [null, null, null, null, null] })).toMatch(
      /Mul e receives nothing/,
    );
  });
});

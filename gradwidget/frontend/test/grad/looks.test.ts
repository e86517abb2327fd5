import { describe, expect, it } from "vitest";
import { type Colour, lookOf } from "../../src/view/grad/looks";
import { scaleOf } from "../../src/view/grad/scale";
import { GraphIndex } from "../../src/view/graph_index";
import { positionOf } from "../../src/view/replay/position";
import { Run } from "../../src/view/replay/run";
import type { Pass } from "../../src/wire";
import { passOf } from "../replay/passes";
import { page } from "../samples";

const index = new GraphIndex(page("abc").graph);

function look(key: number, step: number | null, colour: Colour, change: Partial<Pass> = {}) {
  const run = new Run(passOf("abc", change));
  return lookOf(key, index, {
    run,
    position: positionOf(step, run.steps),
    colour,
    scale: scaleOf(run),
  });
}

it("lights the node at work, and nobody at rest", () => {
  expect([0, 1, 2].map((key) => look(key, 2, "kind").atWork)).toEqual([false, true, false]);
  expect(look(4, 5, "kind").atWork).toBe(true);
  expect(look(4, null, "kind").atWork).toBe(false);
  expect(look(1, 2, "kind").words).toMatch(/at work in step 2/);
});

it("says of a node that it did not run", () => {
  const part = { order: [0], key: [0], output: [0], text: ["1"], norm: [1] };
  expect(look(1, null, "kind", part)).toMatchObject({ idle: true, words: "did not run in this pass" });
  expect(look(0, null, "kind", part).idle).toBe(false);
  expect(look(1, null, "kind", { order: [], key: [] }).idle).toBe(false);
});

describe("colours", () => {
  it("come with the gradients", () => {
    expect(look(1, 1, "grad").heat).toBe("none");
    expect(look(1, 2, "grad").heat).toMatch(/^[0-6]$/);
    expect(look(1, 2, "kind").heat).toBe("");
  });

  it("tell zero, none and what is no number apart", () => {
    const norm = [1, 0, null, "nan", "inf"];
    const all = [0, 1, 2, 3, 4].map((key) => look(key, null, "grad", { norm }));
    expect(all.map((one) => one.heat)).toEqual(["0", "zero", "none", "bad", "bad"]);
    expect(all.map((one) => one.tag)).toEqual(["", "0", "", "NaN", "inf"]);
    expect(all.map((one) => one.bad)).toEqual(["", "", "", "also", "also"]);
  });
});

it("marks where numbers go bad once that step is reached, in every colouring", () => {
  const bad = { key: 1, step: 1, kind: "NaN", text: "First NaN: Mul handed it on." } as const;
  const norm = [1, 1, 1, "nan", 1];
  expect(look(1, 1, "kind", { bad, norm }).bad).toBe("");
  expect(look(1, 2, "kind", { bad, norm })).toMatchObject({ bad: "first", tag: "NaN" });
  expect(look(1, 2, "kind", { bad, norm }).words).toMatch(/First NaN/);
  expect(look(3, null, "kind", { bad, norm }).bad).toBe("also");
});

it("knows the second order without any pass", () => {
  const second = new GraphIndex({ ...page("abc").graph, second: [1] });
  expect(lookOf(1, second, null)).toMatchObject({
    second: true,
    words: "second order: made by a backward pass",
  });
  expect(lookOf(0, second, null).second).toBe(false);
});

it("marks what a hook of the user's has changed, once it arrived, unless numbers are bad", () => {
  const hooked = { hooked_key: [1, 2, 3], hooked_change: ["×100", "set to zero", "changed"] };
  expect([1, 2, 3].map((key) => look(key, null, "kind", hooked).tag)).toEqual([
    "hook ×100",
    "hook ×0",
    "hook",
  ]);
  expect(look(1, null, "grad", hooked)).toMatchObject({ bad: "", tag: "hook ×100" });
  expect(look(1, null, "kind", hooked).words).toMatch(/a hook of yours changed its gradient: ×100/);
  expect(look(1, 1, "kind", hooked).tag).toBe("");
  const norm = [1, "nan", 1, 1, 1];
  expect(look(1, null, "kind", { ...hooked, norm })).toMatchObject({ bad: "also", tag: "NaN" });
});

import { expect, it } from "vitest";
import { keyOf, passOf, selectedOf } from "../../src/view/state";
import { page } from "../samples";

const { graph, live } = page("abc", { passes: 2 });

it("finds a node by number and by any name", () => {
  expect(keyOf(0, graph)).toBe(0);
  expect(keyOf("e", graph)).toBe(0);
  expect(keyOf("nobody", graph)).toBeNull();
  expect(keyOf(99, graph)).toBeNull();
  expect(keyOf(null, graph)).toBeNull();
});

it("tells Python the name, where it has one of its own", () => {
  expect(selectedOf(0, graph)).toBe("e");
  expect(selectedOf(null, graph)).toBeNull();
  const shared = {
    ...graph,
    names: [
      [0, 0, ["e"]],
      [4, 0, ["e"]],
    ] as [number, number, string[]][],
  };
  expect(selectedOf(4, shared)).toBe(4);
  const unnamed = { ...graph, names: [] };
  expect(selectedOf(3, unnamed)).toBe(3);
});

it("shows the pass that was asked for, else the latest", () => {
  expect(passOf(live, 1)?.number).toBe(1);
  expect(passOf(live, null)?.number).toBe(2);
  expect(passOf(live, 77)?.number).toBe(2);
  expect(passOf(null, null)).toBeNull();
});

it("follows no pass that runs inside another", () => {
  if (!live) throw new Error("no sample");
  const [first, second] = live.passes.map((pass) => ({ ...pass }));
  if (!first || !second) throw new Error("no sample");
  const nested = { ...live, passes: [first, { ...second, inside: 1 }] };
  expect(passOf(nested, null)?.number).toBe(1);
  expect(passOf(nested, 2)?.number).toBe(2);
  expect(passOf({ ...live, passes: [{ ...first, inside: 9 }] }, null)?.number).toBe(1);
});

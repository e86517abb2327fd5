import { describe, expect, it } from "vitest";
import { Run } from "../../src/view/replay/run";
import { passOf } from "./passes";

/** e 0, d 1, c 2, a 3, b 4 */
const run = new Run(passOf("abc"));
const arrived = (one: Run, k: number) => [0, 1, 2, 3, 4].filter((key) => one.arrival(key) <= k);

describe("the gradients that had arrived", () => {
  it("are those of the nodes that had run", () => {
    expect(run.pass.order).toEqual([0, 1, 2, 3, 4]);
    expect([0, 1, 2, 5].map((k) => arrived(run, k))).toEqual([[], [0], [0, 1], [0, 1, 2, 3, 4]]);
    expect([0, 1, 5, 6].map((k) => run.worker(k))).toEqual([null, 0, 4, null]);
  });

  it("come at the end for what autograd.grad() returned", () => {
    const grad = new Run(passOf("abc", { order: [0, 1] }));
    expect(arrived(grad, 1)).toEqual([0]);
    expect(arrived(grad, 2)).toEqual([0, 1, 2, 3, 4]);
    expect(grad.ran(4)).toBe(true);
  });

  it("never come to a node that did not run", () => {
    const part = new Run(passOf("abc", { order: [0], key: [0], output: [0], text: ["1"], norm: [1] }));
    expect(part.ran(1)).toBe(false);
    expect(part.arrival(1)).toBe(Number.POSITIVE_INFINITY);
  });
});

it("knows what a step handed on, where that was seen", () => {
  expect(run.handedOn(2, 0)).toMatchObject({ text: "1.56", norm: 1.56 });
  expect(run.handedOn(2, 7)).toBeNull();
});

it("adds up the norms of several outputs, and misses no NaN", () => {
  const of = (norm: (number | string | null)[]) =>
    new Run(passOf("abc", { key: norm.map(() => 0), output: norm.map((_, i) => i), norm })).norm(0);
  expect(of([3, 4])).toBe(5);
  expect(of([null, 2])).toBe(2);
  expect(of([null])).toBeNull();
  expect(of(["inf", "nan"])).toBeNaN();
  expect(of([1, "inf"])).toBe(Number.POSITIVE_INFINITY);
});

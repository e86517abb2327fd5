import { describe, expect, it } from "vitest";
import { hatchPath } from "../../src/view/grad/hatch";
import { LEVELS, levelOf, power, scaleOf } from "../../src/view/grad/scale";
import { Run } from "../../src/view/replay/run";
import type { Num } from "../../src/wire";
import { passOf } from "../replay/passes";

const scale = (norm: (Num | null)[]) => scaleOf(new Run(passOf("abc", { norm })));

describe("the scale", () => {
  it("spans the finite norms in powers of ten, whatever else there is", () => {
    expect(scale([0.02, 30, "nan", "inf", 0])).toEqual({ low: -2, high: 2 });
    expect(scale([null, null, null, null, 0])).toBeNull();
    expect(scale([1, 1, 1, 1, 1])).toEqual({ low: 0, high: 1 });
    expect(scale(["1e-300", 1e300, 1, 1, 1])).toEqual({ low: -300, high: 300 });
  });

  it("has levels from its lower to its upper end", () => {
    const of = { low: -2, high: 2 };
    expect([0.01, 1, 99].map((norm) => levelOf(norm, of))).toEqual([0, 3, LEVELS - 1]);
    expect([1e-9, 100, 1e9].map((norm) => levelOf(norm, of))).toEqual([0, LEVELS - 1, LEVELS - 1]);
  });

  it("is written as powers of ten", () => {
    expect([power(-12), power(0), power(3)]).toEqual(["10⁻¹²", "10⁰", "10³"]);
  });
});

it("hatches a box without leaving it", () => {
  const numbers = [...hatchPath(100, 48).matchAll(/[ML]([\d.]+) ([\d.]+)/g)];
  expect(numbers.length).toBeGreaterThan(20);
  for (const [, x, y] of numbers) {
    expect(Number(x)).toBeGreaterThanOrEqual(2);
    expect(Number(x)).toBeLessThanOrEqual(98);
    expect(Number(y)).toBeGreaterThanOrEqual(2);
    expect(Number(y)).toBeLessThanOrEqual(46);
  }
});

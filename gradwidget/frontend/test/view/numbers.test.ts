import { describe, expect, it } from "vitest";
import { clipped, grouped, plural, real, short } from "../../src/view/numbers";

describe("short", () => {
  it.each([
    [0, "0"],
    [1.3, "1.3"],
    [1.3200000524520874, "1.32"],
    [0.0123456, "0.01235"],
    [-0.2888499, "-0.2888"],
    [42, "42"],
    [123456, "123456"],
    [1234567, "1.235e6"],
    [12345.678, "12350"],
    [123456.7, "1.235e5"],
    [0.00012, "1.2e-4"],
    [1e-10, "1e-10"],
    [2.5e-30, "2.5e-30"],
    [Number.NaN, "nan"],
    [Number.NEGATIVE_INFINITY, "-inf"],
    ["nan", "nan"],
    ["inf", "inf"],
    ["9007199254740993", "9.007e15"],
  ])("%s reads %s", (number, text) => expect(short(number)).toBe(text));
});

it("gives arithmetic what JSON can't say", () => {
  expect(real("inf")).toBe(Number.POSITIVE_INFINITY);
  expect(real("nan")).toBeNaN();
  expect(real("9007199254740993")).toBe(2 ** 53);
});

it("counts in words", () => {
  expect(plural(1, "node")).toBe("1 node");
  expect(plural(1234, "node")).toBe("1,234 nodes");
  expect(plural(3, "leaf", "leaves")).toBe("3 leaves");
  expect(grouped(1234567)).toBe("1,234,567");
});

it("cuts by characters, not by halves of them", () => {
  expect(clipped("123456789", 9)).toBe("123456789");
  expect(clipped("😀😀😀", 2)).toBe("😀…");
});

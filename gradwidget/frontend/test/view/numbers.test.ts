import { describe, expect, it } from "vitest";
import { clipped, grouped, isWhole, plural, real, short } from "../../src/view/numbers";

describe("short", () => {
  it.each([
    [0, "0"],
    [1.3, "1.3"],
    [1.3200000524520874, "1.32"],
    [0.0123456, "0.01235"],
    [-0.2888499, "-0.2888"],
    [42, "42"],
    [123456, "1.235e+05"],
    [1234567, "1.235e+06"],
    [12345.678, "1.235e+04"],
    [12345, "1.234e+04"],
    [12355, "1.236e+04"],
    [1.0005, "1"],
    [9999.5, "1e+04"],
    [0.00012, "0.00012"],
    [0.000012, "1.2e-05"],
    [1e-10, "1e-10"],
    [2.5e-30, "2.5e-30"],
    [-1e-100, "-1e-100"],
    [Number.NaN, "nan"],
    [Number.NEGATIVE_INFINITY, "-inf"],
    ["nan", "nan"],
    ["inf", "inf"],
    ["9007199254740993", "9.007e+15"],
  ])("%s reads %s", (number, text) => expect(short(number)).toBe(text));
});

it("writes integers of an integer type in full", () => {
  expect([123456, "9007199254740993", -7].map((number) => short(number, true))).toEqual([
    "123456",
    "9007199254740993",
    "-7",
  ]);
  expect(["int64", "uint8", "float32", "bool"].map(isWhole)).toEqual([true, true, false, false]);
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

import { expect, it } from "vitest";
import { chartOf } from "../../src/view/panel/chart";

it("draws the logarithm, breaks at gaps and marks what is no positive number", () => {
  const chart = chartOf([1, 100, "nan", 10, null, 0, 1, 10], 70, 50);
  expect(chart).toMatchObject({ low: 0, high: 2, bad: [20], zero: [50], gaps: 1 });
  expect(chart.lines).toBe("M0 50L10 0M60 50L70 25");
  expect(chart.points).toEqual([{ x: 30, y: 25 }]);
});

it("has an axis even where nothing can be drawn", () => {
  expect(chartOf(["nan", null], 10, 10)).toMatchObject({ low: 0, high: 1, lines: "", points: [] });
  expect(chartOf([5, 5], 10, 10)).toMatchObject({ low: 0, high: 1 });
});

import { expect, test } from "vitest";
import { mapWorth } from "../../src/view/map_worth";

const view = { width: 100, height: 100 };

test("a small graph gets no map, however little of it is in view", () => {
  expect(mapWorth(39, { width: 5000, height: 5000 }, view)).toBe(false);
  expect(mapWorth(40, { width: 5000, height: 50 }, view)).toBe(true);
  expect(mapWorth(40, { width: 50, height: 5000 }, view)).toBe(true);
});

test("a picture that is in view as a whole gets no map", () => {
  expect(mapWorth(400, { width: 150, height: 150 }, view)).toBe(false);
});

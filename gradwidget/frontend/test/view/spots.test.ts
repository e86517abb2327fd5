import { expect, it } from "vitest";
import { spotsFor } from "../../src/view/spots";

const view = { width: 700, height: 400 };
const nowhere = new Map();

it("a hint stands where it hides no box", () => {
  expect(spotsFor(["left", "up"], [], view, nowhere)).toEqual(
    new Map([
      ["left", [0, 1]],
      ["up", [0.5, 0]],
    ]),
  );
  const boxes = [
    { x: 10, y: 360, width: 100, height: 40 },
    { x: 300, y: 0, width: 100, height: 40 },
  ];
  const spots = spotsFor(["left", "up"], boxes, view, nowhere);
  expect(spots.get("left")).toEqual([0, 0]);
  expect(spots.get("up")).toEqual([0.3, 0]);
});

it("stays where it is as long as that will do, and is there even where all is full", () => {
  const before = spotsFor(["down"], [{ x: 300, y: 360, width: 100, height: 40 }], view, nowhere);
  expect(spotsFor(["down"], [], view, before)).toEqual(before);
  expect(spotsFor(["down"], [{ x: 0, y: 0, ...view }], view, nowhere).get("down")).toEqual([0.5, 1]);
});

it("never stands on the map, even where all is full", () => {
  const map = { x: 10, y: 294, width: 168, height: 96 };
  expect(spotsFor(["left"], [], view, nowhere, map).get("left")).toEqual([0, 0]);
  const full = [{ x: 0, y: 0, ...view }];
  expect(spotsFor(["left"], full, view, nowhere, map).get("left")).toEqual([0, 0]);
  const before = spotsFor(["left"], [], view, nowhere);
  expect(spotsFor(["left"], [], view, before, map)).not.toEqual(before);
});

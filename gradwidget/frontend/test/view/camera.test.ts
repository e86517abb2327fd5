import { expect, it } from "vitest";
import { FIT_MAX, firstSight, fitted, READABLE, revealing, seen, zoomedAt } from "../../src/view/camera";

const view = { width: 700, height: 400 };
const box = (x: number, y: number, width: number, height: number) => ({ x, y, width, height });

it("fits all of the picture, never larger than life and a quarter", () => {
  expect(fitted(box(0, 0, 50, 50), view).k).toBe(FIT_MAX);
  const sight = seen(fitted(box(0, 0, 5000, 100), view), view);
  expect(sight.x).toBeLessThan(0);
  expect(sight.x + sight.width).toBeGreaterThan(5000);
});

it("starts a large picture at its outputs, where it can be read", () => {
  const eye = firstSight(box(0, 0, 20000, 300), view, box(19900, 100, 100, 50), false);
  const sight = seen(eye, view);
  expect(eye.k).toBe(READABLE);
  expect(sight.x).toBeLessThan(19900);
  expect(sight.x + sight.width).toBeGreaterThan(20000);
});

it("zooms around the pointer", () => {
  const at = { x: 100, y: 50 };
  const eye = zoomedAt({ x: 10, y: 20, k: 1 }, 2, at);
  expect([(at.x - eye.x) / eye.k, (at.y - eye.y) / eye.k]).toEqual([90, 30]);
});

it("moves only when the box is out of view", () => {
  const eye = { x: 0, y: 0, k: 1 };
  expect(revealing(eye, box(100, 100, 100, 50), view)).toBe(eye);
  expect(revealing(eye, box(900, 100, 100, 50), view).x).toBe(700 - 20 - 1000);
});

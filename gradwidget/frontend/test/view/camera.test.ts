import { expect, it } from "vitest";
import type { PlacedNode } from "../../src/scene";
import { beyond } from "../../src/view/beyond";
import {
  clamped,
  FIT_MAX,
  firstSight,
  fitted,
  paged,
  READABLE,
  revealing,
  seen,
  zoomedAt,
} from "../../src/view/camera";

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

it("shows all of a picture that can be read whole", () => {
  const content = box(0, 0, 1000, 300);
  expect(firstSight(content, view, box(900, 100, 100, 50), false)).toEqual(fitted(content, view));
});

it("keeps a part of the picture in view, however far it is panned", () => {
  const content = box(0, 0, 1000, 300);
  expect(clamped({ x: 5000, y: -5000, k: 1 }, content, view)).toEqual({ x: 620, y: -220, k: 1 });
  expect(clamped({ x: -5000, y: 10, k: 1 }, content, view)).toEqual({ x: -920, y: 10, k: 1 });
  const eye = { x: 10, y: 10, k: 1 };
  expect(clamped(eye, content, view)).toBe(eye);
});

it("turns pages up to the end of the picture", () => {
  const content = box(0, 0, 1000, 300);
  expect(paged({ x: -300, y: 0, k: 1 }, -0.8, 0, content, view).x).toBe(20);
  expect(paged({ x: 0, y: 0, k: 1 }, 0.8, 0, content, view).x).toBe(700 - 20 - 1000);
  expect(paged({ x: 0, y: 0, k: 1 }, 0.8, 0, box(0, 0, 9000, 300), view).x).toBe(-560);
});

it("counts the boxes that are not wholly in view, each on one side", () => {
  const nodes = [-900, -50, 100, 660, 800].map((x) => box(x, 50, 100, 50) as PlacedNode);
  const eye = { x: 0, y: 0, k: 1 };
  expect(beyond(nodes, eye, view)).toEqual({ left: 2, right: 2, up: 0, down: 0, lost: false });
  expect(beyond(nodes, { ...eye, y: -90 }, view)).toMatchObject({ left: 2, right: 2, up: 1 });
  expect(beyond(nodes, { ...eye, y: -900 }, view)).toMatchObject({ lost: true });
});

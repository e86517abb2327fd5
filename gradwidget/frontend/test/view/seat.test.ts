import { expect, it } from "vitest";
import type { Placed, PlacedNode } from "../../src/scene";
import { filled, finding, seated, seen } from "../../src/view/camera";
import { seatOf } from "../../src/view/seat";

const view = { width: 700, height: 400 };
const box = (x: number, y: number, width = 100, height = 50) => ({ x, y, width, height });
const node = (id: string, x: number, y: number, role = "node") =>
  ({ id, role, key: Number(id), ...box(x, y) }) as PlacedNode;
const picture = (...nodes: PlacedNode[]) => ({ nodes, edges: [] }) as unknown as Placed;

it("what stays is the chosen box, else the nearest to the middle that the new picture has too", () => {
  const [left, middle, far] = [node("1", 0, 0), node("2", 300, 150), node("3", 5000, 0)];
  const before = picture(left, middle, far);
  const sight = seen({ x: 0, y: 0, k: 1 }, view);
  const everywhere = (one: PlacedNode) => box(one.x + 1000, one.y);
  expect(seatOf(before, sight, undefined, everywhere)?.was).toBe(middle);
  expect(seatOf(before, sight, left, everywhere)?.was).toBe(left);
  expect(seatOf(before, sight, far, everywhere)?.was).toBe(middle);
  expect(seatOf(before, sight, undefined, (one) => (one === middle ? null : everywhere(one)))?.was).toBe(
    left,
  );
  expect(seatOf(before, sight, undefined, () => null)).toBeNull();
});

it("a box that grew keeps the edge at which it is entered", () => {
  const eye = { x: 10, y: 20, k: 0.5 };
  const right = seated(eye, box(100, 100), box(40, 70, 800, 90), false);
  expect(right.x + 40 * 0.5).toBe(10 + 100 * 0.5);
  expect(right.y + (70 + 45) * 0.5).toBe(20 + (100 + 25) * 0.5);
  const down = seated(eye, box(100, 100), box(40, 70, 300, 900), true);
  expect(down.y + 70 * 0.5).toBe(20 + 100 * 0.5);
  expect(down.x + (40 + 150) * 0.5).toBe(10 + (100 + 50) * 0.5);
});

it("fills the view with the picture, and centres what is smaller", () => {
  const content = box(0, 0, 5000, 100);
  expect(filled({ x: 4000, y: 900, k: 1 }, content, view)).toEqual({ x: 20, y: 150, k: 1 });
  expect(filled({ x: -9000, y: 0, k: 1 }, content, view).x).toBe(700 - 20 - 5000);
  expect(filled({ x: -900, y: 0, k: 1 }, content, view).x).toBe(-900);
});

it("finds the nearest box where there is none in view", () => {
  const boxes = [box(0, 0), box(3000, 900)];
  const empty = { x: -2000, y: 0, k: 1 };
  const sight = seen(finding(empty, boxes, view), view);
  expect([sight.x + sight.width > 3100, sight.y + sight.height > 950]).toEqual([true, true]);
  const full = { x: 0, y: 0, k: 1 };
  expect(finding(full, boxes, view)).toBe(full);
});

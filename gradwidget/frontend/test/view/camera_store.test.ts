// @vitest-environment happy-dom
import { expect, it, vi } from "vitest";
import { seen } from "../../src/view/camera";
import { Camera } from "../../src/view/camera_store";

const view = { width: 700, height: 400 };
const box = (x: number, y: number, width: number, height: number) => ({ x, y, width, height });

const open = () => {
  const camera = new Camera(new AbortController().signal, () => true);
  camera.resize(view);
  camera.show(box(0, 0, 2000, 300), box(1900, 100, 100, 50), false, false);
  return camera;
};
const inView = (camera: Camera, x: number, width: number) => {
  const sight = seen(camera.eye, camera.view);
  return sight.x <= x && x + width <= sight.x + sight.width;
};

it("keeps the selected box in view when the room shrinks", () => {
  const camera = open();
  camera.subject = box(1850, 100, 100, 50);
  camera.pan(5, 0);
  camera.resize({ width: 300, height: 300 });
  expect(inView(camera, 1850, 100)).toBe(true);
});

it("leaves the user where they looked away from it", () => {
  const camera = open();
  camera.subject = box(100, 100, 100, 50);
  camera.pan(5, 0);
  const { x } = camera.eye;
  camera.resize({ width: 300, height: 300 });
  expect(camera.eye.x).toBe(x);
});

it("looks at the selected box when the graph is turned", () => {
  const camera = open();
  camera.subject = box(100, 2900, 100, 50);
  camera.show(box(0, 0, 300, 6000), box(0, 0, 100, 50), true, false);
  const sight = seen(camera.eye, camera.view);
  expect(sight.y).toBeLessThan(2900);
  expect(sight.y + sight.height).toBeGreaterThan(2950);
});

it("the map never leads to where nothing is", () => {
  const camera = new Camera(new AbortController().signal, () => true);
  camera.resize(view);
  const boxes = [box(0, 0, 100, 50), box(9000, 4000, 100, 50)];
  camera.show(box(0, 0, 9100, 4050), null, false, false, boxes);
  camera.zoom(1 / camera.eye.k);
  for (const point of [
    { x: 0, y: 4050 },
    { x: -900, y: -900 },
    { x: 4500, y: 2000 },
  ]) {
    camera.centre(point, true);
    const sight = seen(camera.eye, camera.view);
    expect(boxes.some(({ x, y }) => x >= sight.x && y >= sight.y && x + 100 <= sight.x + 700)).toBe(true);
  }
});

it("another picture is reached softly, from where its box stood", () => {
  const steps: FrameRequestCallback[] = [];
  vi.spyOn(globalThis, "requestAnimationFrame").mockImplementation((step) => steps.push(step));
  const camera = new Camera(new AbortController().signal, () => false);
  camera.resize(view);
  camera.show(box(0, 0, 2000, 300), box(1900, 100, 100, 50), false, false);
  const from = camera.aim;
  const [was, now] = [box(1500, 100, 100, 50), box(0, 0, 100, 50)];
  camera.show(box(0, 0, 600, 50), null, false, false, [now]);
  const home = camera.aim;
  camera.arrive(from, { was, now });
  expect(camera.eye.x).toBeCloseTo(from.x + 1500 * from.k);
  expect(camera.aim).toEqual(home);
  steps.at(-1)?.(performance.now() + 1000);
  expect(camera.eye).toEqual(home);
  vi.restoreAllMocks();
});

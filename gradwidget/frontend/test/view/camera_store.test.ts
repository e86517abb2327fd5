// @vitest-environment happy-dom
import { expect, it } from "vitest";
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

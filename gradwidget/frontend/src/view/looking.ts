/** How the camera follows what happens in a figure. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Placed } from "../scene";
import { outputBox, pictureBox } from "./bounds";
import type { Box } from "./camera";
import type { Camera } from "./camera_store";
import type { Net } from "./net";

export function useFrame(frame: { current: HTMLDivElement | null }, camera: Camera): void {
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => camera.resize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [camera, frame]);
}

/**
 * A refreshed graph keeps the camera where it is, a turned one is looked at anew. Whatever happens to the view,
 * the selected box stays in it.
 */
export function useShow(
  camera: Camera,
  placed: Placed | null,
  frame: { current: HTMLDivElement | null },
  selected: number | null,
  net: Net | null,
): void {
  const shown = useRef<Placed["direction"] | null>(null);
  useLayoutEffect(() => {
    camera.subject = (selected !== null && net?.byKey.get(selected)) || null;
  }, [camera, selected, net]);
  useLayoutEffect(() => {
    if (!placed || !frame.current) return;
    const down = placed.direction === "down";
    camera.show(pictureBox(placed), outputBox(placed), down, shown.current === placed.direction);
    shown.current = placed.direction;
  }, [camera, placed, frame]);
}

/** A new selection is brought into view once; after that the user may look elsewhere. */
export function useReveal(camera: Camera, selected: number | null, net: Net | null): void {
  const revealed = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (selected === revealed.current || !net) return;
    revealed.current = selected;
    const node = selected === null ? undefined : net.byKey.get(selected);
    if (node) camera.reveal(node);
  }, [selected, net, camera]);
}

/** Enough to see where the wires of a box lead. */
const PADDING = 60;

const padded = ({ x, y, width, height }: Box): Box => ({
  x: x - PADDING,
  y: y - PADDING / 2,
  width: width + 2 * PADDING,
  height: height + PADDING,
});

/** The node at work is brought into view at whatever zoom the user has chosen. */
export function useFollow(camera: Camera, worker: number | null, net: Net | null): void {
  useLayoutEffect(() => {
    const node = worker === null ? undefined : net?.byKey.get(worker);
    if (node) camera.follow(padded(node));
  }, [worker, net, camera]);
}

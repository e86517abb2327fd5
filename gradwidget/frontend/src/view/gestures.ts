import type { Point } from "../scene";
import type { Camera } from "./camera_store";

/** A press that moves less than this is a click. */
const CLICK_SLOP = 4;
const WHEEL_SPEED = 0.0022;
const LINE_PX = 16;

/** Drag to pan, two fingers to pinch, wheel to zoom. */
export function attachGestures(surface: SVGSVGElement, camera: Camera, signal: AbortSignal): void {
  const pointers = new Map<number, Point>();
  let start: Point | null = null;
  let dragged = false;

  const local = (event: MouseEvent): Point => {
    const rect = surface.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };

  const pinch = (id: number, to: Point) => {
    const from = pointers.get(id);
    const other = [...pointers].find(([key]) => key !== id)?.[1];
    if (!from || !other) return;
    const spread = (a: Point, b: Point) => Math.max(10, Math.hypot(a.x - b.x, a.y - b.y));
    camera.pan((to.x - from.x) / 2, (to.y - from.y) / 2);
    camera.zoom(spread(to, other) / spread(from, other), {
      x: (to.x + other.x) / 2,
      y: (to.y + other.y) / 2,
    });
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, local(event));
    if (pointers.size > 1) return;
    start = local(event);
    dragged = false;
  };

  const move = (event: PointerEvent) => {
    const from = pointers.get(event.pointerId);
    if (!from || !start) return;
    const to = local(event);
    if (!dragged) {
      if (pointers.size === 1 && Math.hypot(to.x - start.x, to.y - start.y) < CLICK_SLOP) return;
      dragged = true;
      surface.classList.add("gw-dragging");
      // Captured only now: a captured press would send its click to the surface instead of the node.
      surface.setPointerCapture(event.pointerId);
    }
    if (pointers.size > 1) pinch(event.pointerId, to);
    else camera.pan(to.x - from.x, to.y - from.y);
    pointers.set(event.pointerId, to);
  };

  const up = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    if (pointers.size === 0) surface.classList.remove("gw-dragging");
  };

  const click = (event: MouseEvent) => {
    if (dragged) event.stopImmediatePropagation();
    dragged = false;
  };

  /** A plain wheel belongs to the page, until the picture was clicked. */
  const wheel = (event: WheelEvent) => {
    const pinched = event.ctrlKey || event.metaKey;
    if (!pinched && !surface.matches(":focus-within")) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1);
    const limited = Math.max(-120, Math.min(120, pixels));
    camera.zoom(Math.exp(-limited * WHEEL_SPEED * (pinched ? 2 : 1)), local(event));
  };

  surface.addEventListener("pointerdown", down, { signal });
  surface.addEventListener("pointermove", move, { signal });
  surface.addEventListener("pointerup", up, { signal });
  surface.addEventListener("pointercancel", up, { signal });
  surface.addEventListener("click", click, { signal, capture: true });
  surface.addEventListener("wheel", wheel, { signal, passive: false });
}

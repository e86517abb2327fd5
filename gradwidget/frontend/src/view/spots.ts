/** Where a hint stands along its edge of the canvas: where it hides no box, and where it was, if that will do. */
import { type Box, meets, type Size } from "./camera";

export type Side = "left" | "right" | "up" | "down";
export const SIDES: Side[] = ["left", "right", "up", "down"];

/** From the left and from the top, as shares of the room. */
export type Spot = readonly [x: number, y: number];

const SPOTS: Record<Side, Spot[]> = {
  left: [1, 0, 0.5, 0.25, 0.75].map((y) => [0, y]),
  right: [1, 0, 0.5, 0.25, 0.75].map((y) => [1, y]),
  up: [0.5, 0.3, 0.7, 0.15, 0.85].map((x) => [x, 0]),
  down: [0.5, 0.3, 0.7, 0.15, 0.85].map((x) => [x, 1]),
};

/** What a hint takes, and how far it keeps from the edges. */
const HINT = { width: 96, height: 24 };
export const MARGIN = 9;

/** `map` covers what is under it: no hint stands there, whatever boxes it would hide elsewhere. */
export function spotsFor(
  sides: Side[],
  boxes: Box[],
  view: Size,
  before: Map<Side, Spot>,
  map: Box | null = null,
): Map<Side, Spot> {
  const taken = [...boxes];
  const found = new Map<Side, Spot>();
  for (const side of sides) {
    const old = before.get(side);
    const free = (spot: Spot) => !map || !meets(map, rectAt(spot, view));
    const all = (old ? [old, ...SPOTS[side]] : SPOTS[side]).filter(free);
    const spot = all.find((one) => !taken.some((box) => meets(box, rectAt(one, view)))) ?? all[0];
    if (!spot) continue;
    found.set(side, spot);
    taken.push(rectAt(spot, view));
  }
  return found;
}

function rectAt([x, y]: Spot, view: Size): Box {
  const room = { x: view.width - 2 * MARGIN - HINT.width, y: view.height - 2 * MARGIN - HINT.height };
  return { x: MARGIN + x * room.x, y: MARGIN + y * room.y, ...HINT };
}

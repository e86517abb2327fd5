/** What lies out of view, side by side. */
import type { PlacedNode } from "../scene";
import { type Box, type Eye, type Size, seen } from "./camera";

export interface Beyond {
  left: number;
  right: number;
  up: number;
  down: number;
  /** Not one box is in view. */
  lost: boolean;
}

export const NOTHING: Beyond = { left: 0, right: 0, up: 0, down: 0, lost: false };

/** A box may be cut by this much of the screen's pixels before it counts as out of view. */
const SLACK = 8;

/** Each box that is not wholly in view counts on one side. */
export function beyond(nodes: PlacedNode[], eye: Eye, view: Size): Beyond {
  if (view.width === 0 || nodes.length === 0) return NOTHING;
  const box = seen(eye, view);
  const slack = SLACK / eye.k;
  const [right, bottom] = [box.x + box.width, box.y + box.height];
  const found = { ...NOTHING, lost: true };
  for (const { x, y, width, height } of nodes) {
    const out = x >= right || x + width <= box.x || y >= bottom || y + height <= box.y;
    if (!out) found.lost = false;
    if (x < box.x - slack) found.left += 1;
    else if (x + width > right + slack) found.right += 1;
    else if (y < box.y - slack) found.up += 1;
    else if (y + height > bottom + slack) found.down += 1;
  }
  return found;
}

/** The boxes in view, in the canvas's own pixels. */
export function onScreen(nodes: PlacedNode[], { x, y, k }: Eye, view: Size): Box[] {
  return nodes.flatMap((node) => {
    const box = { x: node.x * k + x, y: node.y * k + y, width: node.width * k, height: node.height * k };
    const out = box.x > view.width || box.y > view.height || box.x + box.width < 0 || box.y + box.height < 0;
    return out ? [] : [box];
  });
}

export const sameBeyond = (a: Beyond, b: Beyond): boolean =>
  a.left === b.left && a.right === b.right && a.up === b.up && a.down === b.down && a.lost === b.lost;

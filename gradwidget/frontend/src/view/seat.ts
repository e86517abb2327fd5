/** Which box stays where it was on the screen while the picture around it changes. */
import type { Placed, PlacedNode } from "../scene";
import { type Box, meets } from "./camera";
import type { Seat } from "./camera_store";
import { isButton } from "./net";

/** Of the boxes in view that are in the new picture too: the chosen one, else the nearest to the middle. */
export function seatOf(
  before: Placed,
  sight: Box,
  chosen: PlacedNode | undefined,
  placeOf: (node: PlacedNode) => Box | null,
): Seat | null {
  const [x, y] = [sight.x + sight.width / 2, sight.y + sight.height / 2];
  const away = (node: PlacedNode) =>
    node === chosen ? -1 : Math.hypot(node.x + node.width / 2 - x, node.y + node.height / 2 - y);
  const inView = before.nodes.filter((node) => isButton(node) && meets(node, sight));
  for (const was of inView.sort((a, b) => away(a) - away(b))) {
    const now = placeOf(was);
    if (now) return { was, now };
  }
  return null;
}

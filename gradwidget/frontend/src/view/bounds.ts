import type { Placed } from "../scene";
import type { Box } from "./camera";
import { LABEL_HEIGHT } from "./measures";

/** All of the picture, with the room that labels take beyond the boxes. */
export function pictureBox(placed: Placed): Box {
  return (
    around([...placed.nodes, ...(placed.frames ?? []), ...wireBoxes(placed)]) ?? {
      x: 0,
      y: 0,
      width: placed.width,
      height: placed.height,
    }
  );
}

/** Wires go around the ends of rows, beyond all boxes. */
const wireBoxes = (placed: Placed): Box[] =>
  placed.edges.flatMap(({ points }) => points.map(({ x, y }) => ({ x, y, width: 0, height: 0 })));

/** Where the picture ends: the outputs and the boxes they leave from. */
export function outputBox(placed: Placed): Box | null {
  const ends = placed.nodes.filter((node) => node.role === "output");
  const from = placed.edges.find((edge) => edge.to === ends[0]?.id)?.from ?? "0";
  return around(ends.slice(0, 1).concat(placed.nodes.filter(({ id }) => id === from)));
}

function around(nodes: Box[]): Box | null {
  if (nodes.length === 0) return null;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of nodes) {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, y + height);
  }
  return { x: left, y: top - LABEL_HEIGHT / 2, width: right - left, height: bottom - top + LABEL_HEIGHT };
}

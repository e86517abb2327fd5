import type { Placed, PlacedNode } from "../../scene";
import type { Measure } from "../../scene/text";
import { pictureBox } from "../bounds";
import { Boxes } from "../boxes";
import type { Box } from "../camera";
import { FrameShapes } from "../frames";
import type { Look } from "../grad/looks";
import type { Label } from "../labels";
import { Labels, Wires } from "../wires";

export interface PictureProps {
  placed: Placed;
  labels: Label[];
  measure: Measure;
  look(key: number): Look;
  describe(node: PlacedNode, words: string): string;
}

const NO_HITS: ReadonlyMap<string, number> = new Map();
const MARGIN = 16;

/** All of the picture with room for tags and titles around it. */
export function paperOf({ placed, labels }: Pick<PictureProps, "placed" | "labels">): Box {
  const { x, y, width, height } = pictureBox(placed);
  const ends = labels.map(({ box }) => box);
  const right = ends.reduce((end, box) => Math.max(end, box.x + box.width), x + width);
  const bottom = ends.reduce((end, box) => Math.max(end, box.y + box.height), y + height);
  return {
    x: x - MARGIN,
    y: y - MARGIN,
    width: right - x + 2 * MARGIN,
    height: bottom - y + 2 * MARGIN,
  };
}

/** The figure as it stands, in view or not, with nothing selected. */
export function Picture({ placed, labels, measure, look, describe }: PictureProps) {
  const everywhere = { x: -Infinity, y: -Infinity, width: Infinity, height: Infinity };
  return (
    <>
      <g>
        <FrameShapes
          frames={placed.frames ?? []}
          box={everywhere}
          far={false}
          chosen={null}
          measure={measure}
        />
      </g>
      <g class="gw-wires">
        <Wires edges={placed.edges} direction={placed.direction} />
      </g>
      <g>
        <Boxes
          nodes={placed.nodes}
          selected={null}
          lit={null}
          active={undefined}
          holder={null}
          hits={NO_HITS}
          look={look}
          describe={describe}
          measure={measure}
          down={placed.direction === "down"}
        />
      </g>
      <g>
        <Labels labels={labels} direction={placed.direction} />
      </g>
    </>
  );
}

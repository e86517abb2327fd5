import type { PlacedFrame } from "../scene";
import type { Measure } from "../scene/text";
import { type Box, meets } from "./camera";
import { shortened, shortPath } from "./text";

interface Props {
  frames: PlacedFrame[];
  box: Box;
  far: boolean;
  chosen: number | null;
  measure: Measure;
}

/** Open groups: a frame with its title, and the button that folds it. */
export function FrameShapes({ frames, box, far, chosen, measure }: Props) {
  return (
    <>
      {frames
        .filter((frame) => meets(frame, box))
        .map((frame) => (
          <Frame key={frame.id} frame={frame} far={far} chosen={frame.group === chosen} measure={measure} />
        ))}
    </>
  );
}

function Frame({
  frame,
  far,
  chosen,
  measure,
}: Omit<Props, "frames" | "box" | "chosen"> & { frame: PlacedFrame; chosen: boolean }) {
  const { x, y, width, height, title, name } = frame;
  const room = width - 52;
  const first = shortened(title, room, (text) => measure(text, "title"));
  const second =
    title === first
      ? shortPath(name, room - measure(first, "title") - 7, (text) => measure(text, "code"))
      : "";
  const label = [title, name].filter(Boolean).join(" ");
  return (
    <g class={chosen ? "gw-frame gw-frame-chosen" : "gw-frame"} transform={`translate(${x} ${y})`}>
      <rect class="gw-frame-box" width={width} height={height} rx={10} />
      {!far && (
        <>
          <g class="gw-frame-title" data-gw-frame={frame.group}>
            <title>{frame.hint}</title>
            <rect class="gw-catch" x={30} y={4} width={Math.max(20, room)} height={22} />
            <text x={34} y={20}>
              <tspan class="gw-title">{first}</tspan>
              {second && (
                <tspan class="gw-name" dx={first ? 7 : 0}>
                  {second}
                </tspan>
              )}
            </text>
          </g>
          <g
            class="gw-fold"
            role="button"
            tabindex={-1}
            aria-label={`Fold ${label}`}
            data-gw-fold={frame.group}
            transform="translate(8 6)"
          >
            <title>{`Fold ${label}`}</title>
            <rect width={18} height={18} rx={5} />
            <path d="M5 9H13" />
          </g>
        </>
      )}
    </g>
  );
}

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Placed, PlacedNode } from "../scene";
import { pictureBox } from "./bounds";
import { seen } from "./camera";
import type { Camera } from "./camera_store";
import { farBoxes } from "./curve";
import { mapSize, mapWorth, PAD } from "./map_worth";

export const mapped = ({ nodes }: Placed): PlacedNode[] =>
  nodes.filter(({ role }) => role !== "output" && role !== "cut");

/** All of the picture, and which part of it is in view. For the eye only: the keys reach everything without it. */
export function Minimap({ placed, camera }: { placed: Placed; camera: Camera }) {
  const surface = useRef<SVGSVGElement>(null);
  const view = useRef<SVGRectElement>(null);
  const content = useMemo(() => pictureBox(placed), [placed]);
  const nodes = useMemo(() => mapped(placed), [placed]);
  const boxes = useMemo(() => farBoxes(nodes), [nodes]);
  const frames = useMemo(() => (placed.frames ?? []).filter(({ parent }) => parent < 0), [placed]);
  const { width, height, k } = useMemo(() => mapSize(content), [content]);
  const [needed, need] = useState(false);
  useLayoutEffect(() => {
    const look = () => {
      const box = seen(camera.eye, camera.view);
      need(camera.view.width > 0 && mapWorth(nodes.length, content, box));
      const frame = view.current;
      if (!frame) return;
      const [left, top] = [Math.max(box.x, content.x), Math.max(box.y, content.y)];
      frame.setAttribute("x", String(left));
      frame.setAttribute("y", String(top));
      frame.setAttribute(
        "width",
        String(Math.max(0, Math.min(box.x + box.width, content.x + content.width) - left)),
      );
      frame.setAttribute(
        "height",
        String(Math.max(0, Math.min(box.y + box.height, content.y + content.height) - top)),
      );
    };
    look();
    return camera.listen(look);
  }, [camera, nodes, content, needed]);
  if (!needed) return null;
  const go = (event: PointerEvent, soft: boolean) => {
    const rect = surface.current?.getBoundingClientRect();
    if (!rect) return;
    camera.centre(
      {
        x: content.x + (event.clientX - rect.left - PAD) / k,
        y: content.y + (event.clientY - rect.top - (height - content.height * k) / 2) / k,
      },
      soft,
    );
  };
  return (
    <svg
      ref={surface}
      class="gw-map"
      width={width}
      height={height}
      aria-hidden="true"
      data-gw-map=""
      onPointerDown={(event) => {
        surface.current?.setPointerCapture(event.pointerId);
        go(event, true);
      }}
      onPointerMove={(event) => event.buttons > 0 && go(event, false)}
    >
      <g
        transform={`translate(${PAD - content.x * k} ${(height - content.height * k) / 2 - content.y * k}) scale(${k})`}
      >
        {frames.map((frame) => (
          <rect
            key={frame.id}
            class="gw-map-frame"
            x={frame.x}
            y={frame.y}
            width={frame.width}
            height={frame.height}
          />
        ))}
        <path class="gw-map-boxes" d={boxes} />
        <rect ref={view} class="gw-map-view" />
      </g>
    </svg>
  );
}

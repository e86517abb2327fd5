import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Placed } from "../scene";
import { type Beyond, beyond, NOTHING, onScreen, sameBeyond } from "./beyond";
import { pictureBox } from "./bounds";
import { seen } from "./camera";
import type { Camera } from "./camera_store";
import { ChevronIcon, FitIcon } from "./icons";
import { mapPlace, mapWorth } from "./map_worth";
import { mapped } from "./minimap";
import { isButton } from "./net";
import { grouped, plural } from "./numbers";
import { MARGIN, SIDES, type Side, type Spot, spotsFor } from "./spots";

/** So much of a screen do we pan, so that what was at the edge stays in view. */
const PAGE = 0.8;
const STEPS: Record<Side, [across: number, down: number]> = {
  left: [-PAGE, 0],
  right: [PAGE, 0],
  up: [0, -PAGE],
  down: [0, PAGE],
};
const WHERE: Record<Side, string> = {
  left: "to the left",
  right: "to the right",
  up: "above",
  down: "below",
};

interface Told {
  found: Beyond;
  spots: Map<Side, Spot>;
}

const sameSpots = (a: Map<Side, Spot>, b: Map<Side, Spot>): boolean =>
  a.size === b.size && [...a].every(([side, spot]) => b.get(side)?.join() === spot.join());

/** At the edges of the canvas: how much more of the graph there is, and the way to it. */
export function Hints({ placed, camera }: { placed: Placed; camera: Camera }) {
  const [{ found, spots }, tell] = useState<Told>({ found: NOTHING, spots: new Map() });
  const boxes = useMemo(() => placed.nodes.filter(isButton), [placed]);
  const content = useMemo(() => pictureBox(placed), [placed]);
  const count = useMemo(() => mapped(placed).length, [placed]);
  useLayoutEffect(() => {
    const look = () =>
      tell((old) => {
        const { eye, view } = camera;
        const map = mapWorth(count, content, seen(eye, view)) ? mapPlace(content, view) : null;
        const next = beyond(boxes, eye, view);
        const sides = SIDES.filter((side) => next[side] > 0);
        const places = spotsFor(sides, onScreen(boxes, eye, view), view, old.spots, map);
        return sameBeyond(old.found, next) && sameSpots(old.spots, places)
          ? old
          : { found: next, spots: places };
      });
    look();
    return camera.listen(look);
  }, [boxes, count, content, camera]);

  if (found.lost)
    return (
      <p class="gw-lost" data-gw-lost="">
        The graph is out of view.
        <button type="button" class="gw-button" onClick={() => camera.fit()}>
          <FitIcon /> fit
        </button>
      </p>
    );
  return (
    <>
      {[...spots].map(([side, spot]) => (
        <Hint
          key={side}
          side={side}
          spot={spot}
          count={found[side]}
          onClick={() => camera.turnPage(...STEPS[side])}
        />
      ))}
    </>
  );
}

interface HintProps {
  side: Side;
  spot: Spot;
  count: number;
  onClick(): void;
}

function Hint({ side, spot: [x, y], count, onClick }: HintProps) {
  const words = `${plural(count, "node")} ${WHERE[side]}, out of view`;
  const first = side === "left" || side === "up";
  const at = (share: number) => `calc(${MARGIN}px + ${share} * (100% - ${2 * MARGIN}px))`;
  return (
    <button
      type="button"
      class={`gw-beyond gw-beyond-${side}`}
      style={{ left: at(x), top: at(y), translate: `${-100 * x}% ${-100 * y}%` }}
      title={`${words}: click to go there`}
      aria-label={words}
      data-gw-beyond={side}
      onClick={onClick}
    >
      {first && <ChevronIcon />}
      {grouped(count)} more
      {!first && <ChevronIcon />}
    </button>
  );
}

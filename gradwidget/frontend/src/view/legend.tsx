import type { Direction } from "../scene";
import type { Label } from "./labels";
import { SCISSORS } from "./nodes";

interface Props {
  labels: Label[];
  direction: Direction;
  /** Inputs that need no gradient are drawn. */
  cuts: boolean;
}

export function Legend({ labels, direction, cuts }: Props) {
  if (labels.length === 0 && !cuts) return null;
  const has = (tone: Label["tone"]) => labels.some((label) => label.tone === tone);
  return (
    <p class="gw-legend">
      {has("value") && <span class="gw-tone-value">value</span>}
      {has("gradient") && (
        <span class="gw-tone-gradient">
          <svg class="gw-triangle" width="7" height="9" viewBox="0 0 7 9" aria-hidden="true">
            <path d={direction === "right" ? "M0 4.5L6.5 1V8Z" : "M0 8H7L3.5 1.5Z"} />
          </svg>{" "}
          gradient
        </span>
      )}
      {cuts && (
        <span class="gw-mute gw-legend-cut">
          <svg class="gw-scissors" width="15" height="14" viewBox="0 0 15 14" aria-hidden="true">
            {SCISSORS}
          </svg>{" "}
          no gradient
        </span>
      )}
    </p>
  );
}

import type { Direction } from "../scene";
import type { Label } from "./labels";

export function Legend({ labels, direction }: { labels: Label[]; direction: Direction }) {
  if (labels.length === 0) return null;
  const gradients = labels.some((label) => label.tone === "gradient");
  return (
    <p class="gw-legend">
      <span class="gw-tone-value">value</span>
      {gradients && (
        <span class="gw-tone-gradient">
          <svg class="gw-triangle" width="7" height="9" viewBox="0 0 7 9" aria-hidden="true">
            <path d={direction === "right" ? "M0 4.5L6.5 1V8Z" : "M0 8H7L3.5 1.5Z"} />
          </svg>{" "}
          gradient
        </span>
      )}
    </p>
  );
}

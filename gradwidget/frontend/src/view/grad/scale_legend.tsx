import { LEVELS, power, type Scale } from "./scale";

const BOX = "M1 1H17V11H1Z";
const LINES = "M7 1L1 7M12 1L2 11M17 1L7 11M17 6L12 11";

/** What the fills mean, in a strip of its own so that it covers no box. */
export function ScaleLegend({ scale }: { scale: Scale | null }) {
  return (
    <p class="gw-scale-legend" data-gw-scale="">
      <span>
        gradient norm<span class="gw-word">, log scale</span>
      </span>
      {scale ? (
        <span class="gw-scale-bar">
          <span class="gw-num">{power(scale.low)}</span>
          <span class="gw-levels" aria-hidden="true">
            {Array.from({ length: LEVELS }, (_, level) => (
              <i key={level} class={`gw-heat-${level}`} />
            ))}
          </span>
          <span class="gw-spoken">to</span>
          <span class="gw-num">{power(scale.high)}</span>
        </span>
      ) : (
        <span class="gw-mute">no norm is known</span>
      )}
      <Key class="gw-key-bad" lines={LINES} name="NaN or infinity" />
      <Key class="gw-key-zero" lines="" name="zero" />
      <Key class="gw-key-none" lines="" name="none" />
    </p>
  );
}

function Key({ class: name, lines, name: text }: { class: string; lines: string; name: string }) {
  return (
    <span class={`gw-key ${name}`}>
      <svg width="18" height="12" viewBox="0 0 18 12" aria-hidden="true">
        <path class="gw-key-box" d={BOX} />
        <path class="gw-hatch" d={lines} />
      </svg>
      {text}
    </span>
  );
}

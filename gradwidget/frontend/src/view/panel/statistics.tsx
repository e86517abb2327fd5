import type { Num, TensorView } from "../../wire";
import { exact, grouped, isWhole, real, short } from "../numbers";

/** How a tensor's elements are spread. */
export interface Spread {
  finite: number; // how many of them are
  odd: boolean; // some are not
  equal: Num | null; // the one number that all finite elements are
}

export function spreadOf({ stats, numel }: TensorView): Spread {
  if (!stats) return { finite: numel, odd: false, equal: null };
  const finite = numel - stats.nan - stats.inf;
  const equal = finite > 0 && real(stats.min) === real(stats.max);
  return { finite, odd: finite < numel, equal: equal ? stats.min : null };
}

const MEASURES = ["mean", "std", "min", "max"] as const;
const COUNTS = ["nan", "inf", "zero"] as const;

export function Statistics({ view, spread }: { view: TensorView; spread: Spread }) {
  const { stats, numel } = view;
  if (!stats || numel === 0) return null;
  const { finite, odd, equal } = spread;
  const whole = isWhole(view.dtype);
  const counts = COUNTS.filter((name) => stats[name] > 0 && !(name === "zero" && equal !== null));
  return (
    <div class="gw-spread">
      {finite === 0 && <p>no finite element</p>}
      {equal !== null && (
        <p>
          {odd ? "all finite elements equal" : "all equal"}{" "}
          <span class="gw-num" title={exact(equal)}>
            {short(equal, whole)}
          </span>
        </p>
      )}
      {finite > 0 && equal === null && (
        <>
          {odd && <p class="gw-mute">of the finite elements</p>}
          <p class="gw-stats">
            {MEASURES.map((name) => (
              <span key={name} title={exact(stats[name])}>
                <span class="gw-mute">{name}</span>{" "}
                {short(stats[name], whole && (name === "min" || name === "max"))}
              </span>
            ))}
          </p>
        </>
      )}
      {counts.length > 0 && (
        <p class="gw-stats">
          {counts.map((name) => (
            <span key={name} class={name === "zero" ? "" : "gw-alarm"}>
              <span class="gw-mute">{name}</span> {grouped(stats[name])} of {grouped(numel)}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

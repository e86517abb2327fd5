import type { TensorView } from "../../wire";
import { exact, grouped, short } from "../numbers";

const WIDTH = 240;
const HEIGHT = 36;

interface Props {
  histogram: NonNullable<TensorView["histogram"]>;
  /** Of an integer type. */
  whole: boolean;
}

export function Histogram({ histogram, whole }: Props) {
  const { low, high, counts } = histogram;
  const tallest = Math.max(1, ...counts);
  const step = WIDTH / Math.max(1, counts.length);
  return (
    <figure class="gw-histogram">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Histogram of ${counts.length} bars from ${short(low, whole)} to ${short(high, whole)}`}
      >
        {counts.map((count, i) => {
          // A bar of one element in a million still shows.
          const height = count > 0 ? Math.max(1, (count / tallest) * HEIGHT) : 0;
          return (
            <rect
              key={i}
              x={i * step + 0.4}
              y={HEIGHT - height}
              width={Math.max(0.5, step - 0.8)}
              height={height}
            >
              <title>{grouped(count)}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        <span title={exact(low)}>{short(low, whole)}</span>
        <span title={exact(high)}>{short(high, whole)}</span>
      </figcaption>
    </figure>
  );
}

import type { Num } from "../../wire";
import { power } from "../grad/scale";
import { exact, plural, short } from "../numbers";
import { type Chart, chartOf } from "./chart";
import { Section } from "./parts";

const WIDTH = 240;
const HEIGHT = 56;

/** How the gradient's size went over the last iterations. */
export function History({ history, start }: { history: (Num | null)[]; start: number }) {
  if (history.length < 2) return null;
  const chart = chartOf(history, WIDTH, HEIGHT);
  const end = start + history.length - 1;
  const last = history[history.length - 1] ?? null;
  return (
    <Section
      title="gradient norm over iterations"
      aside={last === null ? "last: none" : `last ${short(last)}`}
    >
      <figure class="gw-history" data-gw-history={history.length}>
        <span class="gw-axis" aria-hidden="true">
          <span>{power(chart.high)}</span>
          <span>{power(chart.low)}</span>
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={inWords(history, start, chart)}
        >
          <path class="gw-history-bad" d={chart.bad.map((x) => `M${x} 0V${HEIGHT}`).join("")} />
          <path class="gw-history-zero" d={chart.zero.map((x) => `M${x} ${HEIGHT}v-7`).join("")} />
          <path class="gw-history-line" d={chart.lines} />
          <path class="gw-history-point" d={chart.points.map(({ x, y }) => `M${x} ${y}h0`).join("")} />
        </svg>
        <figcaption>
          <span>iteration {start}</span>
          <span title={last === null ? "" : exact(last)}>{end}</span>
        </figcaption>
      </figure>
      <p class="gw-history-notes gw-small">
        {chart.bad.length > 0 && <span class="gw-alarm">¦ NaN or infinite in {chart.bad.length}</span>}
        {chart.zero.length > 0 && <span class="gw-mute">ı zero in {chart.zero.length}</span>}
        {chart.gaps > 0 && <span class="gw-mute">none in {chart.gaps}</span>}
      </p>
    </Section>
  );
}

function inWords(history: (Num | null)[], start: number, { low, high, bad, zero, gaps }: Chart): string {
  const last = history[history.length - 1] ?? null;
  const facts = [
    `Gradient norm over iterations ${start} to ${start + history.length - 1}, between ${power(low)} and ${power(high)}`,
    last === null ? "none in the last" : `last ${short(last)}`,
    bad.length > 0 ? `NaN or infinite in ${plural(bad.length, "iteration")}` : "",
    zero.length > 0 ? `zero in ${plural(zero.length, "iteration")}` : "",
    gaps > 0 ? `none in ${plural(gaps, "iteration")}` : "",
  ];
  return facts.filter(Boolean).join("; ");
}

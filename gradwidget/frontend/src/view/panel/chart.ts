/** The norm over iterations as a chart: log scale, gaps where it isn't a positive number. */
import type { Num } from "../../wire";
import { real } from "../numbers";

export interface Chart {
  low: number; // powers of ten at the lower and the upper edge
  high: number;
  lines: string; // path
  points: { x: number; y: number }[]; // those with no neighbour to draw a line to
  bad: number[]; // x where it was NaN or infinite
  zero: number[]; // x where it was zero
  gaps: number; // iterations without a gradient
}

export function chartOf(history: (Num | null)[], width: number, height: number): Chart {
  const norms = history.map((norm) => (norm === null ? null : real(norm)));
  const drawn = norms.map((norm) =>
    norm !== null && norm > 0 && Number.isFinite(norm) ? Math.log10(norm) : null,
  );
  const known = drawn.filter((log) => log !== null);
  const low = known.length > 0 ? Math.floor(known.reduce((a, b) => Math.min(a, b))) : 0;
  const high = known.length > 0 ? Math.ceil(known.reduce((a, b) => Math.max(a, b))) : 1;
  const top = Math.max(high, low + 1);
  const x = (i: number) => round((i / Math.max(1, history.length - 1)) * width);
  const y = (log: number) => round((1 - (log - low) / (top - low)) * height);
  const where = (test: (norm: number) => boolean) =>
    norms.flatMap((norm, i) => (norm !== null && test(norm) ? [x(i)] : []));
  let lines = "";
  const points: Chart["points"] = [];
  drawn.forEach((log, i) => {
    if (log === null) return;
    const before = drawn[i - 1] ?? null;
    const after = drawn[i + 1] ?? null;
    if (before === null && after === null) points.push({ x: x(i), y: y(log) });
    else lines += `${before === null ? "M" : "L"}${x(i)} ${y(log)}`;
  });
  return {
    low,
    high: top,
    lines,
    points,
    bad: where((norm) => !Number.isFinite(norm)),
    zero: where((norm) => norm === 0),
    gaps: norms.filter((norm) => norm === null).length,
  };
}

const round = (value: number) => Math.round(value * 10) / 10;

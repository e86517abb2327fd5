/** A tensor's elements as colours: blue below zero, orange above, the paper's own colour at zero. */
import type { Num } from "../../wire";
import { real } from "../numbers";

export type Rgb = [number, number, number];

export interface Inks {
  paper: Rgb;
  below: Rgb;
  above: Rgb;
}

export const INKS: Record<"light" | "dark", Inks> = {
  light: { paper: [247, 248, 250], below: [33, 84, 178], above: [196, 66, 10] },
  dark: { paper: [32, 36, 42], below: [110, 168, 255], above: [255, 143, 97] },
};

const NAN: Rgb = [214, 51, 201];
const INF: Rgb = [120, 20, 140];

/** The largest finite size; colours are in proportion to it. */
export function reach(data: Num[]): number {
  let largest = 0;
  for (const number of data) {
    const size = Math.abs(real(number));
    if (Number.isFinite(size) && size > largest) largest = size;
  }
  return largest;
}

export function colourOf(number: Num, largest: number, inks: Inks): Rgb {
  const value = real(number);
  if (Number.isNaN(value)) return NAN;
  if (!Number.isFinite(value)) return INF;
  if (largest === 0) return inks.paper;
  const share = Math.abs(value) / largest;
  const ink = value < 0 ? inks.below : inks.above;
  return inks.paper.map((from, i) => Math.round(from + ((ink[i] ?? 0) - from) * share)) as Rgb;
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;
export const ODD_COLOURS = { nan: css(NAN), inf: css(INF) };

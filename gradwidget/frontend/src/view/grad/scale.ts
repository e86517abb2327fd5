/** Norms on a log scale, in a few levels from faint to strong. */
import type { Run } from "../replay/run";

export const LEVELS = 7;

/** Powers of ten that hold every finite norm of a pass between them. */
export interface Scale {
  low: number;
  high: number;
}

export function scaleOf(run: Run): Scale | null {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const key of new Set(run.pass.key)) {
    const norm = run.norm(key);
    if (norm === null || !(norm > 0) || norm === Number.POSITIVE_INFINITY) continue;
    low = Math.min(low, Math.floor(Math.log10(norm)));
    high = Math.max(high, Math.ceil(Math.log10(norm)));
  }
  if (low > high) return null;
  return { low, high: Math.max(high, low + 1) };
}

export function levelOf(norm: number, { low, high }: Scale): number {
  const share = (Math.log10(norm) - low) / (high - low);
  return Math.min(LEVELS - 1, Math.max(0, Math.floor(share * LEVELS)));
}

const RAISED: Record<string, string> = {
  "-": "⁻",
  "0": "⁰",
  "1": "¹",
  "2": "²",
  "3": "³",
  "4": "⁴",
  "5": "⁵",
  "6": "⁶",
  "7": "⁷",
  "8": "⁸",
  "9": "⁹",
};

export function power(exponent: number): string {
  return `10${[...String(exponent)].map((sign) => RAISED[sign] ?? sign).join("")}`;
}

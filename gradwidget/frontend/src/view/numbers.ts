import type { Num } from "../wire";

const TIDY_EXPONENT = /\.?0*e([+-])0*(\d)/;

/** Four significant digits; integers up to a million in full. */
export function short(number: Num): string {
  if (typeof number === "string") return shortText(number);
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
  const size = Math.abs(number);
  if (Number.isInteger(number) && size < 1e6) return String(number);
  if (size >= 1e5 || size < 1e-3) return number.toExponential(3).replace(TIDY_EXPONENT, trimmed);
  return String(Number(number.toPrecision(4)));
}

function trimmed(_match: string, sign: string, digit: string): string {
  return `e${sign === "-" ? "-" : ""}${digit}`;
}

/** Integers past 2^53 come as digits, what JSON can't say as a word. */
function shortText(text: string): string {
  return /^-?\d{7,}$/.test(text) ? short(Number(text)) : text;
}

export const exact = (number: Num): string => String(number);

/** For arithmetic: NaN where it isn't a number. */
export function real(number: Num): number {
  if (typeof number === "number") return number;
  if (number === "inf") return Number.POSITIVE_INFINITY;
  if (number === "-inf") return Number.NEGATIVE_INFINITY;
  return Number(number);
}

export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

export function clipped(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

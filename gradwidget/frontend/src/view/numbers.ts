import type { Num } from "../wire";

/** Four significant digits, as Python's `%.4g` writes them; whole numbers of an integer type in full. */
export function short(number: Num, whole = false): string {
  const value = real(number);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (whole) return String(number);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "", exponent = "0"] = rounded(value).split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 4) return String(Number(`${digits}e${power}`));
  const size = String(Math.abs(power)).padStart(2, "0");
  return `${String(Number(digits))}e${power < 0 ? "-" : "+"}${size}`;
}

/** Four digits; a tie goes to the even one, where JavaScript goes up. */
function rounded(value: number): string {
  const text = value.toExponential(3);
  const tie = /^(-?\d\.\d{2}[02468])50*e(.*)$/.exec(value.toExponential(40));
  return tie ? `${tie[1]}e${tie[2]}` : text;
}

export const isWhole = (dtype: string): boolean => /^u?int\d+$/.test(dtype);

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

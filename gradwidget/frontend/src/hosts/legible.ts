/** Texts of the user's own may hold characters that are not seen but turn or break what stands around them. */

/** Controls, marks that turn the direction, odd line ends; not what joins letters in some scripts. */
const HIDDEN = /(?![\n\t\u200c-\u200d\u0600-\u0605])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** As Python writes it. */
function escaped(sign: string): string {
  const code = (sign.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}

/** Such characters as escapes, wherever a text stands in `value`. Line breaks and tabs stay. */
export function legible<T>(value: T): T {
  return walk(value) as T;
}

function walk(value: unknown): unknown {
  if (typeof value === "string") return value.replace(HIDDEN, escaped);
  if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(walk);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, walk(part)]));
}

/** The same for a name, which has one line. */
export const legibleName = (name: string): string =>
  legible(name).replace(/[\n\t]/g, (sign) => (sign === "\n" ? "\\n" : "\\t"));

/** A name that is not shown as it is can't be told to the kernel. */
export const isTrueName = (shown: string): boolean => !/\\([nt]|u[0-9a-f]{4}|U[0-9a-f]{8})/.test(shown);

/** How wide text is, asked of the browser, and how it is shortened to fit its box. */
import type { Measure } from "../scene/text";

type Font = Parameters<Measure>[1];

const FONTS: Record<Font, [size: string, family: string, fallback: string]> = {
  title: ["600 13.5px", "--gw-font", "system-ui, sans-serif"],
  code: ["600 12.5px", "--gw-code", "ui-monospace, monospace"],
  small: ["11px", "--gw-font", "system-ui, sans-serif"],
};
/** Where nobody can be asked: a guess on the safe side. */
const GUESS: Record<Font, number> = { title: 8.6, code: 7.6, small: 6.6 };

export function makeMeasure(root: HTMLElement): Measure {
  const context = document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(root);
  const known = new Map<string, number>();
  const families = new Map<Font, string>();
  /** Asked once: each question may have the browser work out all styles anew. */
  const familyOf = (font: Font): string => {
    const [, family, fallback] = FONTS[font];
    // Nothing is known of an element outside of the document, where some hosts draw first.
    const found = families.get(font) ?? style.getPropertyValue(family);
    if (found) families.set(font, found);
    return found || fallback;
  };
  return (text, font) => {
    const id = `${font} ${text}`;
    const before = known.get(id);
    if (before !== undefined) return before;
    let width = [...text].length * GUESS[font];
    if (context) {
      context.font = `${FONTS[font][0]} ${familyOf(font)}`;
      width = context.measureText(text).width;
    }
    known.set(id, width);
    return width;
  };
}

export function shortened(text: string, room: number, width: (text: string) => number): string {
  if (width(text) <= room) return text;
  const characters = [...text];
  let [fits, tooLong] = [0, characters.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (width(`${characters.slice(0, middle).join("")}…`) <= room) fits = middle;
    else tooLong = middle;
  }
  return fits > 0 ? `${characters.slice(0, fits).join("")}…` : "";
}

/** A module's path, or those of the first and the last of a row: what they share, and their beginnings, go first. */
export function shortPath(text: string, room: number, width: (text: string) => number): string {
  const forms = [text, ...shorterPaths(text)];
  return forms.find((form) => width(form) <= room) ?? shortened(forms.at(-1) ?? "", room, width);
}

const BETWEEN = " … ";

function shorterPaths(text: string): string[] {
  const [first = "", last, ...more] = text.split(BETWEEN);
  if (more.length > 0) return [];
  const start = first.split(".");
  if (last === undefined) return start.slice(1).map((_, i) => `…${start.slice(i + 1).join(".")}`);
  const end = last.split(".");
  const shared = start.findIndex((part, i) => part !== end[i]);
  if (shared < 1) return [];
  const rest = end.slice(shared).join(".");
  const begun = start.slice(0, shared).map((_, i) => `…${start.slice(i + 1).join(".")}`);
  return [first, ...begun].map((form) => form + BETWEEN + rest);
}

import { render } from "preact";
import type { Box } from "../camera";
import { Picture, type PictureProps, paperOf } from "./picture";

export interface SvgFile {
  text: string;
  width: number;
  height: number;
}

const SHAPE = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray"];
const ENDS = ["stroke-linecap", "stroke-linejoin", "opacity", "paint-order"];
const TEXT = ["font-family", "font-size", "font-weight", "font-style", "text-anchor", "unicode-bidi"];
/** What stands in a file that says nothing. */
const INITIAL: Record<string, string> = {
  "fill-opacity": "1",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
  "stroke-linecap": "butt",
  "stroke-linejoin": "miter",
  opacity: "1",
  "paint-order": "normal",
  "font-style": "normal",
  "text-anchor": "start",
  "unicode-bidi": "normal",
};
/** What XML can't hold, escaped or not; names and source lines may. */
const NO_XML = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
/** For the mouse and the selection only. */
const UNSEEN = ".gw-catch, .gw-halo, .gw-fold, .gw-open-sign";

/** The picture as a file that needs no style sheet: what the page's rules say is written into each element. */
export function svgFile(root: HTMLElement, props: PictureProps): SvgFile {
  const paper = paperOf(props);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "gw-surface");
  svg.style.cssText = "position:absolute;width:0;height:0;visibility:visible";
  root.append(svg);
  try {
    render(<Picture {...props} />, svg);
    for (const element of svg.querySelectorAll(UNSEEN)) element.remove();
    const copy = svg.cloneNode(true) as SVGSVGElement;
    const written = [...copy.querySelectorAll("*")];
    [...svg.querySelectorAll("*")].forEach((element, i) => {
      const target = written[i];
      if (target) dress(target, getComputedStyle(element));
    });
    return { text: fileText(copy, paper, getComputedStyle(root)), width: paper.width, height: paper.height };
  } finally {
    render(null, svg);
    svg.remove();
  }
}

function dress(target: Element, style: CSSStyleDeclaration): void {
  const name = target.tagName;
  for (const { name: attribute } of [...target.attributes])
    if (/^(class|role|tabindex|aria-|data-)/.test(attribute)) target.removeAttribute(attribute);
  if (name === "title") return;
  if (style.display === "none" || style.visibility === "hidden") {
    target.remove();
    return;
  }
  const letters = name === "text" || name === "tspan";
  const wanted = name === "g" ? ["opacity"] : letters ? [...SHAPE, ...ENDS, ...TEXT] : [...SHAPE, ...ENDS];
  for (const property of wanted) {
    const value = style.getPropertyValue(property).trim();
    if (value && value !== INITIAL[property]) target.setAttribute(property, plain(value));
  }
}

/** `color(srgb 0.1 0.2 0.3 / 0.5)`, which few programs read, as `rgba(26, 51, 77, 0.5)`; no unit after sizes. */
export function plain(value: string): string {
  const mixed = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(value);
  if (!mixed) return value.replace(/\b([\d.]+)px\b/g, "$1");
  const [red, green, blue] = mixed.slice(1, 4).map((part) => Math.round(255 * Number(part)));
  return mixed[4] === undefined
    ? `rgb(${red}, ${green}, ${blue})`
    : `rgba(${red}, ${green}, ${blue}, ${mixed[4]})`;
}

function fileText(svg: SVGSVGElement, { x, y, width, height }: Box, style: CSSStyleDeclaration): string {
  svg.removeAttribute("style");
  svg.removeAttribute("class");
  const numbers = [x, y, width, height].map((number) => Math.round(number * 100) / 100);
  svg.setAttribute("viewBox", numbers.join(" "));
  svg.setAttribute("width", String(numbers[2]));
  svg.setAttribute("height", String(numbers[3]));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x, y, width, height }))
    paper.setAttribute(name, String(value));
  paper.setAttribute("fill", plain(style.backgroundColor || "white"));
  svg.prepend(paper);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg).replace(NO_XML, "\ufffd")}\n`;
}

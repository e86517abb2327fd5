/** A picture that is so much larger than what is in view gets a map. */
const LARGE = 1.6;
/** With fewer boxes than this a map says nothing that "fit" doesn't show better. */
const FEW = 40;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Whether a map of so many boxes helps where only `box` of `content` is in view. */
export function mapWorth(boxes: number, content: Size, box: Size): boolean {
  return boxes >= FEW && (content.width > box.width * LARGE || content.height > box.height * LARGE);
}

const MAP = { width: 168, height: 96, least: 28, pad: 6, margin: 10 };
export const PAD = MAP.pad;

/** How large the map of a picture is, and its scale. */
export function mapSize(content: Size): Size & { k: number } {
  const { pad } = MAP;
  const k = Math.min((MAP.width - 2 * pad) / content.width, (MAP.height - 2 * pad) / content.height);
  return { width: content.width * k + 2 * pad, height: Math.max(MAP.least, content.height * k + 2 * pad), k };
}

/** Where it lies over the view, as in the style sheet: in the corner at the bottom left. */
export function mapPlace(content: Size, view: Size): Size & { x: number; y: number } {
  const { width, height } = mapSize(content);
  return { x: MAP.margin, y: view.height - MAP.margin - height, width, height };
}

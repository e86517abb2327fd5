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

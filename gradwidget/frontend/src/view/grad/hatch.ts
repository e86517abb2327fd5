/** Diagonal lines over a box, as one path: a pattern would need an id, and ids clash between views. */
const GAP = 7;
const INSET = 2;

export function hatchPath(width: number, height: number): string {
  const right = width - INSET;
  const bottom = height - INSET;
  let path = "";
  for (let sum = 2 * INSET + GAP; sum < right + bottom; sum += GAP) {
    const x = Math.min(right, sum - INSET);
    const y = Math.min(bottom, sum - INSET);
    path += `M${x} ${sum - x}L${sum - y} ${y}`;
  }
  return path;
}

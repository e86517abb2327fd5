/** What may stand on a wire. A number is never cut: half of one is another number. */

/** The most detailed first: the text itself, then a vector with fewer and fewer of its elements. */
export function labelTexts(full: string): string[] {
  if (!full.startsWith("[") || !full.endsWith("]")) return [full];
  const elements = full.slice(1, -1).split(/,\s*/);
  const cut = elements
    .slice(1)
    .map((_, i) => `[${elements.slice(0, elements.length - 1 - i).join(", ")}, …]`);
  // Of nested ones only the elements of the first row would be told apart.
  return full.includes("[", 1) ? [full] : [full, ...cut];
}

/** Which line made which nodes. */
import type { CodePayload } from "../../wire";

export class CodeIndex {
  private readonly keys = new Map<number, number[]>();
  private readonly byLine = new Map<string, number>();

  constructor(private readonly code: CodePayload) {
    code.places.forEach(([file, line], place) => {
      this.byLine.set(`${file}:${line}`, place);
    });
    code.place.forEach((place, key) => {
      if (place < 0) return;
      const list = this.keys.get(place);
      if (list) list.push(key);
      else this.keys.set(place, [key]);
    });
  }

  /** The line that made a node, as an index into the payload's places; null unknown. */
  place(key: number | null): number | null {
    const place = key === null ? undefined : this.code.place[key];
    return place === undefined || place < 0 ? null : place;
  }

  /** The place that a line is, null where it made no node. */
  placeAt(file: number, line: number): number | null {
    return this.byLine.get(`${file}:${line}`) ?? null;
  }

  nodes(place: number): readonly number[] {
    return this.keys.get(place) ?? [];
  }
}

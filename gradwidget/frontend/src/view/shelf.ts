import type { Point } from "../scene";
import type { Box } from "./camera";

const CELL = 128;

const meets = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Boxes that are taken, to be asked what meets them. */
export class Shelf {
  private readonly cells = new Map<string, Box[]>();

  hits(box: Box): boolean {
    for (const cell of this.around(box))
      if (this.cells.get(cell)?.some((other) => meets(other, box))) return true;
    return false;
  }

  add(box: Box): void {
    for (const cell of this.around(box)) {
      const list = this.cells.get(cell);
      if (list) list.push(box);
      else this.cells.set(cell, [box]);
    }
  }

  /** Along a line of points. */
  addLine(points: Point[]): void {
    points.forEach((to, i) => {
      const from = points[i - 1];
      if (from)
        this.add({
          x: Math.min(from.x, to.x) - 1,
          y: Math.min(from.y, to.y) - 1,
          width: Math.abs(from.x - to.x) + 2,
          height: Math.abs(from.y - to.y) + 2,
        });
    });
  }

  private *around({ x, y, width, height }: Box): Generator<string> {
    for (let column = Math.floor(x / CELL); column <= Math.floor((x + width) / CELL); column += 1) {
      for (let row = Math.floor(y / CELL); row <= Math.floor((y + height) / CELL); row += 1)
        yield `${column},${row}`;
    }
  }
}

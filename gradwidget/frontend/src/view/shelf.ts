import type { Point } from "../scene";
import { type Box, meets } from "./camera";

const CELL = 128;
/** More cells than this are not looked through: something will be there. */
const MANY = 64;

/** Boxes that are taken, to be asked what meets them. */
export class Shelf {
  private readonly cells = new Map<string, Box[]>();

  hits(box: Box): boolean {
    for (const cell of this.around(box))
      if (this.cells.get(cell)?.some((other) => meets(other, box))) return true;
    return false;
  }

  /** False where nothing is in the cells between these points. */
  near(points: Point[]): boolean {
    const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
    const [x, y] = [Math.min(...xs) - 1, Math.min(...ys) - 1];
    const box = { x, y, width: Math.max(...xs) + 1 - x, height: Math.max(...ys) + 1 - y };
    if ((box.width / CELL + 1) * (box.height / CELL + 1) > MANY) return true;
    for (const cell of this.around(box)) if (this.cells.has(cell)) return true;
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

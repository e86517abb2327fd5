/** Which boxes and wires lie in a part of the picture. */
import type { Placed, PlacedEdge, PlacedNode, Point } from "../scene";
import type { Box, Eye, Size } from "./camera";
import { seen } from "./camera";

const CELL = 1000;
/** Below this zoom text can't be read and boxes are drawn without it. */
export const FAR = 0.35;

/** A range of cells, a little larger than what is in view; moves only when the view crosses a cell. */
export interface Range {
  cell: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
  far: boolean;
}

/** A picture of so few boxes is drawn in full down to this zoom: a folded model is still recognised by its shapes. */
export const FEW = 150;
export const FAR_OF_FEW = 0.2;

export function rangeOf(eye: Eye, view: Size, boxes = Number.POSITIVE_INFINITY): Range {
  const cell = (CELL / 2) * 2 ** Math.max(0, Math.ceil(Math.log2(1 / eye.k)));
  const box = seen(eye, view);
  return {
    cell,
    left: Math.floor(box.x / cell) - 1,
    top: Math.floor(box.y / cell) - 1,
    right: Math.floor((box.x + box.width) / cell) + 1,
    bottom: Math.floor((box.y + box.height) / cell) + 1,
    far: eye.k < (boxes <= FEW ? FAR_OF_FEW : FAR),
  };
}

export const sameRange = (a: Range, b: Range): boolean =>
  a.cell === b.cell &&
  a.left === b.left &&
  a.top === b.top &&
  a.right === b.right &&
  a.bottom === b.bottom &&
  a.far === b.far;

export function boxOf({ cell, left, top, right, bottom }: Range): Box {
  return {
    x: left * cell,
    y: top * cell,
    width: (right - left + 1) * cell,
    height: (bottom - top + 1) * cell,
  };
}

export class Tiles {
  private readonly nodeCells = new Map<string, number[]>();
  private readonly edgeCells = new Map<string, number[]>();

  constructor(private readonly placed: Placed) {
    placed.nodes.forEach((node, i) => {
      add(this.nodeCells, node, i);
    });
    placed.edges.forEach((edge, i) => {
      for (let p = 1; p < edge.points.length; p += 1) {
        const from = edge.points[p - 1];
        const to = edge.points[p];
        if (from && to) add(this.edgeCells, spanned(from, to), i);
      }
    });
  }

  nodes(box: Box): PlacedNode[] {
    return pick(this.nodeCells, this.placed.nodes, box);
  }

  edges(box: Box): PlacedEdge[] {
    return pick(this.edgeCells, this.placed.edges, box);
  }

  nodeAt(point: Point): PlacedNode | null {
    const inside = (n: PlacedNode) =>
      point.x >= n.x && point.x <= n.x + n.width && point.y >= n.y && point.y <= n.y + n.height;
    return this.nodes({ ...point, width: 0, height: 0 }).find(inside) ?? null;
  }
}

const spanned = (a: Point, b: Point): Box => ({
  x: Math.min(a.x, b.x),
  y: Math.min(a.y, b.y),
  width: Math.abs(a.x - b.x),
  height: Math.abs(a.y - b.y),
});

function* cellsOf(box: Box): Generator<string> {
  for (let x = Math.floor(box.x / CELL); x <= Math.floor((box.x + box.width) / CELL); x += 1) {
    for (let y = Math.floor(box.y / CELL); y <= Math.floor((box.y + box.height) / CELL); y += 1)
      yield `${x},${y}`;
  }
}

function add(cells: Map<string, number[]>, box: Box, index: number): void {
  for (const cell of cellsOf(box)) {
    const list = cells.get(cell);
    if (!list) cells.set(cell, [index]);
    else if (list[list.length - 1] !== index) list.push(index);
  }
}

function pick<T>(cells: Map<string, number[]>, all: T[], box: Box): T[] {
  const count = (Math.floor(box.width / CELL) + 1) * (Math.floor(box.height / CELL) + 1);
  const found = new Set<number>();
  if (count > cells.size) {
    for (const [cell, list] of cells) if (touches(cell, box)) for (const index of list) found.add(index);
  } else {
    for (const cell of cellsOf(box)) for (const index of cells.get(cell) ?? []) found.add(index);
  }
  return [...found].sort((a, b) => a - b).flatMap((index) => all[index] ?? []);
}

function touches(cell: string, box: Box): boolean {
  const [x = 0, y = 0] = cell.split(",").map((part) => Number(part) * CELL);
  return x + CELL >= box.x && x <= box.x + box.width && y + CELL >= box.y && y <= box.y + box.height;
}

/**
 * What would be far longer than a screen is broken into rows, read like lines of text: where no box is cut and few
 * wires cross. These go around the end of their row, back between the rows, and into the next one.
 */
import type { Point } from "../scene";
import { at, type Net } from "./net";
import type { Part } from "./part";

/** More wires than this do not go from row to row. */
const TRACKS = 5;
const TRACK = 9;
/** Between a turn and what is beside it. */
const TURN = 14;
const ARRIVE = 22;
/** Between a row and the wires that go back under it. */
const CLEAR = 14;
/** What all rows together come to, as their length to their breadth. */
const SHAPE = 1.7;
/** A row may be longer than an even share by this. */
const SLACK = 1.15;
const MOST = 24;
/** With more wires than this nobody looks for the best rows. */
const MANY = 1000;

interface Cut {
  x: number;
  ys: number[]; // of the wires that cross, sorted
}

interface Row {
  from: number;
  to: number;
  top: number;
  bottom: number;
  /** From where it stood to where it stands. */
  dx: number;
  dy: number;
}

export function inRows(part: Part, net: Net, longest: number): Part {
  if (part.length <= longest * 1.25 || part.routes.length > MANY) return part;
  const all = cutsOf(part, net);
  const most = Math.min(MOST, Math.ceil(part.length / longest));
  let [cuts, rows]: [Cut[], Row[]] = [[], []];
  let least = misshapen(part.length, part.breadth);
  for (let count = 2; count <= most; count += 1) {
    const some = flowed(all, part.length, part.length / count);
    const shape = placed(rowsOf(part, net, some), some);
    const last = at(shape, shape.length - 1);
    const off = misshapen(endOf(shape, some), last.bottom + last.dy);
    if (off < least) [least, cuts, rows] = [off, some, shape];
  }
  if (cuts.length === 0) return part;
  const turns = cuts.map((cut, i) => turnsOf(cut, at(rows, i), at(rows, i + 1)));
  const rowOf = (x: number) => {
    const found = rows.findIndex((row) => x < row.to);
    return found < 0 ? rows.length - 1 : found;
  };
  const end = Math.max(
    ...rows.map((row, i) => row.to + row.dx + (i < cuts.length ? roomOf(at(cuts, i)) : 0)),
  );
  const moved = ({ x, y }: Point): Point => {
    const { dx, dy } = at(rows, rowOf(x));
    return { x: x + dx, y: y + dy };
  };
  const routes = part.routes.map((route) => {
    const points: Point[] = [];
    route.forEach((to, i) => {
      const from = route[i - 1];
      if (from) {
        const [a, b] = [rowOf(from.x), rowOf(to.x)];
        for (let r = a; r < b; r += 1) points.push(...(at(turns, r).get(from.y) ?? []));
        for (let r = a; r > b; r -= 1) points.push(...[...(at(turns, r - 1).get(from.y) ?? [])].reverse());
      }
      points.push(moved(to));
    });
    return points;
  });
  const boxes = part.boxes.map(moved);
  const last = at(rows, rows.length - 1);
  const level = at(at(cuts, 0).ys, 0) + at(rows, 0).dy;
  const length = leave(routes, boxes, net, end, level);
  return { boxes, routes, length, breadth: last.bottom + last.dy };
}

/**
 * What leaves a container goes up beside its rows and out where the first of them ended, so that the containers of a
 * chain stand side by side. Gives how long it is then.
 */
function leave(routes: Point[][], boxes: Point[], net: Net, end: number, level: number): number {
  const exits = [...(net.exits ?? [])].sort((a, b) => at(boxes, a).y - at(boxes, b).y);
  if (exits.length === 0) return end;
  const border = end + 2 * TURN + TRACK * exits.length;
  exits.forEach((exit, t) => {
    const [x, y] = [end + TURN + TRACK * t, level + TRACK * t];
    const half = at(net.breadth, exit) / 2;
    net.wires.forEach(({ to }, i) => {
      const route = at(routes, i);
      const from = route.at(-1);
      if (to !== exit || !from) return;
      route.push({ x, y: from.y }, { x, y }, { x: border, y });
    });
    boxes[exit] = { x: border, y: y - half };
  });
  return border;
}

const misshapen = (length: number, breadth: number) => Math.abs(Math.log(length / breadth / SHAPE));

/** How far the rows reach, with the turns behind them. */
const endOf = (rows: Row[], cuts: Cut[]) =>
  Math.max(...rows.map((row, i) => row.to + row.dx + (i < cuts.length ? roomOf(at(cuts, i)) : 0)));

const roomOf = (cut: Cut) => TURN + TRACK * cut.ys.length;

/** Every place where the part can be cut: before a layer, where all wires that cross run straight. */
function cutsOf(part: Part, net: Net): Cut[] {
  const spans = part.boxes
    .flatMap(({ x }, v) => (at(net.length, v) > 0 ? [[x, x + at(net.length, v)] as const] : []))
    .sort((a, b) => a[0] - b[0]);
  const found: Cut[] = [];
  let covered = spans[0]?.[1] ?? 0;
  for (const [start, stop] of spans) {
    const x = start - 8;
    if (x > covered + 8) {
      const ys = crossing(part, x);
      if (ys && ys.length <= TRACKS) found.push({ x, ys });
    }
    covered = Math.max(covered, stop);
  }
  return found;
}

function crossing(part: Part, x: number): number[] | null {
  const ys = new Set<number>();
  for (const route of part.routes)
    for (let i = 1; i < route.length; i += 1) {
      const [from, to] = [at(route, i - 1), at(route, i)];
      if (from.x < x === to.x < x) continue;
      if (from.y !== to.y) return null;
      ys.add(from.y);
    }
  return [...ys].sort((a, b) => a - b);
}

/** As text flows: each row as full as it can be, where a single box is longer it has a row of its own. */
function flowed(cuts: Cut[], length: number, row: number): Cut[] {
  const chosen: Cut[] = [];
  let start = 0;
  for (let i = 0; i < cuts.length; i += 1) {
    const [cut, next] = [at(cuts, i), cuts[i + 1]?.x ?? length];
    if (next - start <= row * SLACK) continue;
    chosen.push(cut);
    start = cut.x;
  }
  return chosen;
}

function rowsOf(part: Part, net: Net, cuts: Cut[]): Row[] {
  const edges = [Number.NEGATIVE_INFINITY, ...cuts.map(({ x }) => x), Number.POSITIVE_INFINITY];
  return edges.slice(1).map((to, i) => {
    const from = at(edges, i);
    let [top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const cover = (low: number, high: number) => {
      top = Math.min(top, low);
      bottom = Math.max(bottom, high);
    };
    part.boxes.forEach(({ x, y }, v) => {
      if (x >= from && x < to) cover(y, y + at(net.breadth, v));
    });
    for (const route of part.routes)
      for (let p = 1; p < route.length; p += 1) {
        const [a, b] = [at(route, p - 1), at(route, p)];
        if (Math.max(a.x, b.x) >= from && Math.min(a.x, b.x) < to)
          cover(Math.min(a.y, b.y), Math.max(a.y, b.y));
      }
    return { from: Math.max(0, from), to: Math.min(part.length, to), top, bottom, dx: 0, dy: 0 };
  });
}

function placed(rows: Row[], cuts: Cut[]): Row[] {
  let y = 0;
  return rows.map((row, i) => {
    const before = i > 0 ? at(cuts, i - 1) : null;
    if (before) y += 2 * CLEAR + TRACK * before.ys.length;
    const dx = before ? roomOf(before) + ARRIVE - 8 - row.from : 0;
    const found = { ...row, dx, dy: y - row.top };
    y += row.bottom - row.top;
    return found;
  });
}

/** For each wire that crosses, by where it does, the way from row to row: no two of these ways cross. */
function turnsOf(cut: Cut, row: Row, next: Row): Map<number, Point[]> {
  return new Map(
    cut.ys.map((y, t) => {
      const track = TRACK * (cut.ys.length - 1 - t);
      const right = cut.x + row.dx + TURN + track;
      const between = row.bottom + row.dy + CLEAR + track;
      const left = TURN + track;
      return [
        y,
        [
          { x: right, y: y + row.dy },
          { x: right, y: between },
          { x: left, y: between },
          { x: left, y: y + next.dy },
        ],
      ];
    }),
  );
}

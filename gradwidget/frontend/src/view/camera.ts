/** Where the view stands over the picture: screen = world * k + (x, y). */
export interface Eye {
  x: number;
  y: number;
  k: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Size {
  width: number;
  height: number;
}

/** Where the view stands, over a picture of which size. */
export interface Sight {
  eye: Eye;
  width: number;
  height: number;
}

/** Small enough for a chain of three thousand boxes. */
export const MIN_ZOOM = 0.001;
export const MAX_ZOOM = 4;
export const FIT_MAX = 1.25;
/** A picture that would be smaller than this starts at a zoom that can be read. */
export const FIT_MIN = 0.5;
export const READABLE = 0.85;
const MARGIN = 20;

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

export function fitted(content: Box, view: Size): Eye {
  const room = {
    width: Math.max(40, view.width - 2 * MARGIN),
    height: Math.max(40, view.height - 2 * MARGIN),
  };
  const k = clamp(
    Math.min(room.width / Math.max(1, content.width), room.height / Math.max(1, content.height)),
    MIN_ZOOM,
    FIT_MAX,
  );
  return centred(content, view, k);
}

export function centred(content: Box, view: Size, k: number): Eye {
  return {
    k,
    x: view.width / 2 - (content.x + content.width / 2) * k,
    y: view.height / 2 - (content.y + content.height / 2) * k,
  };
}

/** First sight: all of it where that can be read, else the end where the outputs are. */
export function firstSight(content: Box, view: Size, output: Box | null, down: boolean): Eye {
  const whole = fitted(content, view);
  if (whole.k >= FIT_MIN || !output) return whole;
  const eye = centred(output, view, READABLE);
  if (down) eye.y = view.height - MARGIN * 2 - (output.y + output.height) * READABLE;
  else eye.x = view.width - MARGIN * 2 - (output.x + output.width) * READABLE;
  return eye;
}

/** The beginning of a box that has no room. */
export function started(box: Box, view: Size, k: number, down: boolean): Eye {
  const eye = centred(box, view, k);
  if (down || box.height * k > view.height) eye.y = MARGIN - box.y * k;
  if (!down || box.width * k > view.width) eye.x = MARGIN - box.x * k;
  return eye;
}

export function zoomedAt(eye: Eye, factor: number, at: { x: number; y: number }): Eye {
  const k = clamp(eye.k * factor, MIN_ZOOM, MAX_ZOOM);
  const by = k / eye.k;
  return { k, x: at.x - (at.x - eye.x) * by, y: at.y - (at.y - eye.y) * by };
}

/** The smallest move that brings a box into view at a zoom that can be read. */
export function revealing(eye: Eye, box: Box, view: Size): Eye {
  return eye.k < 0.35 ? centred(box, view, READABLE) : following(eye, box, view);
}

/** The same at whatever zoom it is; the same eye when the box is in view already. */
export function following(eye: Eye, box: Box, view: Size): Eye {
  const { k } = eye;
  const shift = (start: number, length: number, room: number) => {
    if (start < MARGIN) return MARGIN - start;
    if (start + length > room - MARGIN) return Math.max(MARGIN - start, room - MARGIN - start - length);
    return 0;
  };
  const dx = shift(box.x * k + eye.x, box.width * k, view.width);
  const dy = shift(box.y * k + eye.y, box.height * k, view.height);
  return dx === 0 && dy === 0 ? eye : { k, x: eye.x + dx, y: eye.y + dy };
}

/** So many screens further, but not past the end of the picture. */
export function paged(eye: Eye, across: number, down: number, content: Box, view: Size): Eye {
  const turn = (at: number, screens: number, start: number, length: number, room: number) => {
    const to = at - screens * room;
    if (screens > 0) return Math.max(to, Math.min(at, room - MARGIN - start - length));
    return Math.min(to, Math.max(at, MARGIN - start));
  };
  const { k } = eye;
  return {
    k,
    x: across === 0 ? eye.x : turn(eye.x, across, content.x * k, content.width * k, view.width),
    y: down === 0 ? eye.y : turn(eye.y, down, content.y * k, content.height * k, view.height),
  };
}

/** So much of the picture always stays in view. */
const KEPT = 80;

export function clamped(eye: Eye, content: Box, view: Size): Eye {
  const within = (at: number, start: number, length: number, room: number) => {
    const kept = Math.min(KEPT, length, room);
    return clamp(at, kept - start - length, room - kept - start);
  };
  const { k } = eye;
  const x = within(eye.x, content.x * k, content.width * k, view.width);
  const y = within(eye.y, content.y * k, content.height * k, view.height);
  return x === eye.x && y === eye.y ? eye : { k, x, y };
}

/** The picture fills the view, as far as it can: no more than a margin beside it where there is more of it. */
export function filled(eye: Eye, content: Box, view: Size): Eye {
  const within = (at: number, start: number, length: number, room: number) =>
    length + 2 * MARGIN <= room
      ? room / 2 - start - length / 2
      : clamp(at, room - MARGIN - start - length, MARGIN - start);
  const { k } = eye;
  return {
    k,
    x: within(eye.x, content.x * k, content.width * k, view.width),
    y: within(eye.y, content.y * k, content.height * k, view.height),
  };
}

/** What stood at one place of the picture and now stands at another stays where it is on the screen. */
export function seated(eye: Eye, was: Box, now: Box, down: boolean): Eye {
  const edge = (from: number, to: number) => (from - to) * eye.k;
  const dx = down ? edge(was.x + was.width / 2, now.x + now.width / 2) : edge(was.x, now.x);
  const dy = down ? edge(was.y, now.y) : edge(was.y + was.height / 2, now.y + now.height / 2);
  return { k: eye.k, x: eye.x + dx, y: eye.y + dy };
}

export const meets = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** The same eye where a box is in view, else the nearest one comes into it. */
export function finding(eye: Eye, boxes: readonly Box[], view: Size): Eye {
  const sight = seen(eye, view);
  if (boxes.length === 0 || boxes.some((box) => meets(box, sight))) return eye;
  const [x, y] = [sight.x + sight.width / 2, sight.y + sight.height / 2];
  const away = (box: Box) => Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
  return following(
    eye,
    boxes.reduce((a, b) => (away(b) < away(a) ? b : a)),
    view,
  );
}

export function seen(eye: Eye, view: Size): Box {
  return { x: -eye.x / eye.k, y: -eye.y / eye.k, width: view.width / eye.k, height: view.height / eye.k };
}

export function between(a: Eye, b: Eye, t: number): Eye {
  const ease = 1 - (1 - t) ** 3;
  const mix = (from: number, to: number) => from + (to - from) * ease;
  return { x: mix(a.x, b.x), y: mix(a.y, b.y), k: mix(a.k, b.k) };
}

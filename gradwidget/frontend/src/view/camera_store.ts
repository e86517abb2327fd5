import {
  type Box,
  between,
  clamped,
  type Eye,
  filled,
  finding,
  firstSight,
  fitted,
  following,
  paged,
  revealing,
  type Size,
  seated,
  started,
  zoomedAt,
} from "./camera";

const GLIDE_MS = 220;
/** An opened group is shown whole where its text can still be read. */
const WHOLE = 0.42;
/** ... else its beginning is, not larger than this. */
const BEGUN = 0.75;

/** One box, where it was in the picture before and where it is now. */
export interface Seat {
  was: Box;
  now: Box;
}

/** The camera of one view: told apart from Preact's state so that a pan draws nothing anew. */
export class Camera {
  eye: Eye = { x: 0, y: 0, k: 1 };
  view: Size = { width: 0, height: 0 };
  /** What is kept in view whatever becomes of the view: the selected box. */
  subject: Box | null = null;
  /** Moved by the user: from then on a new size keeps the place. */
  private touched = false;
  private content: Box = { x: 0, y: 0, width: 1, height: 1 };
  private output: Box | null = null;
  private boxes: readonly Box[] = [];
  private down = false;
  private frame = 0;
  /** Where a glide leads; null at rest. */
  private target: Eye | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(
    signal: AbortSignal,
    private readonly still: () => boolean,
  ) {
    signal.addEventListener("abort", () => cancelAnimationFrame(this.frame), { once: true });
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Where the view stands, or where it is on its way to. */
  get aim(): Eye {
    return this.target ?? this.eye;
  }

  show(content: Box, output: Box | null, down: boolean, keep: boolean, boxes: readonly Box[] = []): void {
    this.content = content;
    this.output = output;
    this.down = down;
    this.boxes = boxes;
    if (!keep) this.touched = false;
    if (this.touched) this.put(this.found(clamped(this.eye, content, this.view)));
    else this.home();
  }

  /**
   * After another picture of the same graph was shown, softly: from what the eye saw of the old one to `to`, else to
   * first sight, or, where the user had moved the view, with that box where it was.
   */
  arrive(from: Eye, seat: Seat | null, to: Eye | null = null): void {
    if (this.view.width === 0) return;
    const start = seat ? seated(from, seat.was, seat.now, this.down) : from;
    const stay = this.touched || to !== null;
    const end = stay ? this.found(clamped(to ?? start, this.content, this.view)) : this.eye;
    this.eye = start;
    this.glide(end);
    this.touched = stay;
  }

  resize(view: Size): void {
    const { aim } = this;
    const { subject } = this;
    const kept = subject && following(aim, subject, this.view) === aim ? subject : null;
    this.view = view;
    if (!this.touched) this.home();
    else if (this.target) this.glide(kept ? following(aim, kept, view) : aim);
    else this.put(kept ? following(aim, kept, view) : aim);
  }

  pan(dx: number, dy: number): void {
    this.put({ ...this.eye, x: this.eye.x + dx, y: this.eye.y + dy });
  }

  /** By so many screens. */
  turnPage(across: number, down: number): void {
    this.glide(paged(this.aim, across, down, this.content, this.view));
  }

  zoom(factor: number, at = { x: this.view.width / 2, y: this.view.height / 2 }): void {
    this.put(zoomedAt(this.eye, factor, at));
  }

  fit(): void {
    this.glide(fitted(this.content, this.view));
    this.touched = false;
  }

  reveal(box: Box): void {
    const eye = revealing(this.eye, box, this.view);
    if (eye !== this.eye) this.glide(eye);
  }

  /** Without a change of zoom, for a box that moves on by itself. */
  follow(box: Box): void {
    const eye = following(this.eye, box, this.view);
    if (eye !== this.eye) this.glide(eye);
  }

  /** From now on the picture's changes leave the view where it is. */
  touch(): void {
    this.touched = true;
  }

  /** What was folded or unfolded stays on the screen, then comes into view whole; or `inner` in it does. */
  keep({ was, now }: Seat, inner: Box | null = null): void {
    const moved = seated(this.aim, was, now, this.down);
    this.put(moved);
    const whole = fitted(now, this.view);
    if (inner) this.reveal(inner);
    else if (whole.k >= moved.k) this.reveal(now);
    else if (whole.k >= WHOLE) this.glide(whole);
    else this.glide(started(now, this.view, Math.min(moved.k, BEGUN), this.down));
  }

  /** A point of the picture into the middle of the view, or as near to it as leaves the view full. */
  centre(point: { x: number; y: number }, soft: boolean): void {
    const { k } = this.eye;
    const eye = { k, x: this.view.width / 2 - point.x * k, y: this.view.height / 2 - point.y * k };
    const end = this.found(filled(eye, this.content, this.view));
    if (soft) this.glide(end);
    else this.put(end);
  }

  private found(eye: Eye): Eye {
    return finding(eye, this.boxes, this.view);
  }

  private home(): void {
    if (this.view.width === 0) return;
    this.rest();
    const eye = firstSight(this.content, this.view, this.output, this.down);
    this.eye = this.subject ? revealing(eye, this.subject, this.view) : eye;
    this.announce();
  }

  private put(eye: Eye): void {
    this.rest();
    this.touched = true;
    this.eye = clamped(eye, this.content, this.view);
    this.announce();
  }

  private rest(): void {
    cancelAnimationFrame(this.frame);
    this.target = null;
  }

  private glide(to: Eye): void {
    if (this.still()) {
      this.put(to);
      return;
    }
    this.rest();
    this.touched = true;
    const target = clamped(to, this.content, this.view);
    this.target = target;
    const from = this.eye;
    const start = performance.now();
    const step = (now: number) => {
      const t = Math.min(1, Math.max(0, (now - start) / GLIDE_MS));
      this.eye = t < 1 ? between(from, target, t) : target;
      if (t < 1) this.frame = requestAnimationFrame(step);
      else this.target = null;
      this.announce();
    };
    this.frame = requestAnimationFrame(step);
  }

  private announce(): void {
    for (const listener of this.listeners) listener();
  }
}

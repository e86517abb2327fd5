/** Passes values on, the first at once and the last one in the end, with a pause between any two. */
export class Throttle<T> {
  /** What is still to be passed on. */
  waiting: { value: T } | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    signal: AbortSignal,
    private readonly pause: number,
    private readonly pass: (value: T) => void,
  ) {
    signal.addEventListener(
      "abort",
      () => {
        if (this.timer !== null) clearTimeout(this.timer);
        this.waiting = null;
      },
      { once: true },
    );
  }

  put(value: T): void {
    this.waiting = { value };
    if (this.timer === null) this.flush();
  }

  /** Somebody else has spoken since. */
  forget(): void {
    this.waiting = null;
  }

  private flush(): void {
    this.timer = null;
    if (!this.waiting) return;
    const { value } = this.waiting;
    this.waiting = null;
    this.timer = setTimeout(() => this.flush(), this.pause);
    this.pass(value);
  }
}

/** One pass, to be asked key by key and step by step. */
import type { Num, Pass } from "../../wire";
import { real } from "../numbers";

export interface Quantity {
  text: string; // "" where it is too big to show, "none" where none arrived
  norm: Num | null;
}

export interface Arrival extends Quantity {
  output: number;
}

export class Run {
  readonly steps: number;
  private readonly place = new Map<number, number>();
  private readonly rows = new Map<number, Arrival[]>();
  private readonly handed = new Map<string, Quantity>();

  constructor(readonly pass: Pass) {
    this.steps = pass.order.length;
    pass.order.forEach((key, index) => {
      if (!this.place.has(key)) this.place.set(key, index);
    });
    pass.key.forEach((key, row) => {
      const list = this.rows.get(key) ?? [];
      this.rows.set(key, list);
      list.push({
        output: pass.output[row] ?? 0,
        text: pass.text[row] ?? "",
        norm: pass.norm[row] ?? null,
      });
    });
    pass.handed_step.forEach((step, row) => {
      const slot = pass.handed_input[row] ?? 0;
      this.handed.set(`${step}.${slot}`, {
        text: pass.handed_text[row] ?? "",
        norm: pass.handed_norm[row] ?? null,
      });
    });
  }

  /** The node at work in the k-th step, counted from 1. */
  worker(k: number): number | null {
    return this.pass.order[k - 1] ?? null;
  }

  ran(key: number): boolean {
    return this.place.has(key) || this.rows.has(key);
  }

  /** After how many steps its gradient is there; what autograd.grad() returns is there at the end. */
  arrival(key: number): number {
    const index = this.place.get(key);
    if (index !== undefined) return index + 1;
    return this.rows.has(key) ? this.steps : Number.POSITIVE_INFINITY;
  }

  arrivals(key: number): Arrival[] {
    return this.rows.get(key) ?? [];
  }

  /** What the k-th step handed on through a slot; null where that isn't known. */
  handedOn(k: number, input: number): Quantity | null {
    return this.handed.get(`${k - 1}.${input}`) ?? null;
  }

  /** What hooks of the user's made of what arrived at a node: "×100", "changed"; "" nothing. */
  hooked(key: number): string {
    return this.pass.hooked_change[this.pass.hooked_key.indexOf(key)] ?? "";
  }

  /** Of all that arrived at a node together; null unknown or none. */
  norm(key: number): number | null {
    const known = this.arrivals(key).flatMap(({ norm }) => (norm === null ? [] : [real(norm)]));
    return known.length > 0 ? Math.hypot(...known.map(nanFirst)) : null;
  }
}

/** Math.hypot calls NaN beside infinity infinite; whoever looks for NaN must not miss it. */
const nanFirst = (norm: number, _: number, all: number[]): number =>
  all.some(Number.isNaN) ? Number.NaN : norm;

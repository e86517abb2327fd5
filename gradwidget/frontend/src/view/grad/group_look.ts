/** How a folded group looks: as what is in it does, taken together. */
import { groupKey } from "../../scene";
import type { GroupTree } from "../../scene/tree";
import type { GraphPayload } from "../../wire";
import { short } from "../numbers";
import type { Run } from "../replay/run";
import type { Look, Showing } from "./looks";
import { levelOf } from "./scale";

interface Sum {
  ran: boolean;
  /** Of the gradients of the leaves in it, else of what arrives where its values leave; null unknown. */
  norm: number | null;
  of: "leaves" | "outputs";
  /** After how many steps all of that is there. */
  arrival: number;
  bad: { at: number; nan: boolean }[];
  /** When gradients arrived that hooks of the user's had changed. */
  hooked: number[];
}

const NOTHING: Look = { heat: "", bad: "", tag: "", atWork: false, idle: false, second: false, words: "" };

export class GroupLooks {
  private run: Run | null = null;
  private sums = new Map<number, Sum>();
  private readonly leaving: Map<number, number[]> = new Map();

  constructor(
    private readonly graph: GraphPayload,
    private readonly tree: GroupTree,
  ) {}

  look(key: number, showing: Showing | null): Look {
    if (!showing) return NOTHING;
    const group = groupKey(key);
    const { run, position, colour, scale } = showing;
    const sum = this.sum(group, run);
    if (run.steps > 0 && !sum.ran)
      return {
        ...NOTHING,
        heat: colour === "grad" ? "none" : "",
        idle: true,
        words: "did not run in this pass",
      };
    const worker = position.ended ? null : run.worker(position.at);
    const atWork = worker !== null && this.tree.chain(this.tree.of(worker)).includes(group);
    const words = atWork ? [`at work in step ${position.at}, inside`] : [];
    const found: Look = { ...NOTHING, atWork };
    const there = sum.arrival <= position.at && sum.norm !== null;
    if (colour === "grad") found.heat = "none";
    if (there && sum.norm !== null) {
      const what = sum.of === "leaves" ? "gradient norm of its leaves" : "norm of the gradient that arrives";
      words.push(`${what} ${short(sum.norm)}`);
      if (colour === "grad")
        found.heat = !Number.isFinite(sum.norm)
          ? "bad"
          : sum.norm === 0
            ? "zero"
            : scale
              ? String(levelOf(sum.norm, scale))
              : "none";
    }
    const bad = sum.bad.filter(({ at }) => at <= position.at);
    const first = run.pass.bad;
    if (first && position.at > first.step && this.tree.chain(this.tree.of(first.key)).includes(group)) {
      found.bad = "first";
      found.tag = first.kind === "NaN" ? "NaN" : "inf";
      words.push(first.text);
    } else if (bad.length > 0) {
      found.bad = "also";
      found.tag = bad.some(({ nan }) => nan) ? "NaN" : "inf";
      words.push(`${bad.length} of its nodes have gradients with ${found.tag}`);
    } else {
      const hooked = sum.hooked.filter((at) => at <= position.at).length;
      if (hooked > 0) {
        found.tag = "hook";
        words.push(
          `${hooked === 1 ? "a hook" : "hooks"} of yours changed ${hooked === 1 ? "a gradient" : `${hooked} gradients`} in it`,
        );
      }
    }
    return { ...found, words: words.join("\n") };
  }

  norm(group: number, run: Run): Pick<Sum, "norm" | "of"> {
    return this.sum(group, run);
  }

  private sum(group: number, run: Run): Sum {
    if (this.run !== run) {
      this.run = run;
      this.sums = new Map();
    }
    const old = this.sums.get(group);
    if (old) return old;
    const members = [...this.tree.members(group)];
    const leaves = members.filter((key) => this.graph.kinds[this.graph.op[key] ?? -1] === "leaf");
    let known = leaves.filter((key) => run.norm(key) !== null);
    const of = known.length > 0 ? "leaves" : "outputs";
    if (known.length === 0) known = this.exits(group).filter((key) => run.norm(key) !== null);
    const norms = known.map((key) => run.norm(key) ?? 0);
    const hooked = run.pass.hooked_key.filter((key) => this.tree.chain(this.tree.of(key)).includes(group));
    const sum: Sum = {
      ran: members.some((key) => run.ran(key)),
      norm:
        norms.length === 0
          ? null
          : norms.some(Number.isNaN)
            ? Number.NaN
            : Math.hypot(...norms.slice(0, 50_000)),
      of,
      arrival: known.reduce((last, key) => Math.max(last, run.arrival(key)), 0),
      bad: members.flatMap((key) => {
        const norm = run.norm(key);
        return norm === null || Number.isFinite(norm)
          ? []
          : [{ at: run.arrival(key), nan: Number.isNaN(norm) }];
      }),
      hooked: hooked.map((key) => run.arrival(key)),
    };
    this.sums.set(group, sum);
    return sum;
  }

  /** The nodes of a group whose values go out of it. */
  private exits(group: number): number[] {
    const old = this.leaving.get(group);
    if (old) return old;
    const inside = new Set(this.tree.members(group));
    const found = new Set<number>();
    this.graph.target.forEach((producer, i) => {
      if (inside.has(producer) && !inside.has(this.graph.source[i] ?? -1)) found.add(producer);
    });
    for (const [key] of this.graph.outputs) if (inside.has(key)) found.add(key);
    this.leaving.set(group, [...found]);
    return [...found];
  }
}

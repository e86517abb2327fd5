/** The cells that changed a graph, and the one whose end is on view. */
import { useMemo, useState } from "preact/hooks";
import type { CellState, LivePayload, Num, Pass } from "../../wire";
import { portOf, type Texts } from "../labels";
import { short } from "../numbers";

/** How the leaves stood after a cell, as texts for the wires. */
export interface CellView {
  index: number;
  title: string; // "cell 5: step"
  pass: number;
  values: Texts;
  grads: Texts;
}

export interface Cells {
  views: CellView[];
  /** null: as it stands now. */
  state: CellView | null;
  /** The last pass by then. */
  pass: Pass | undefined;
  /** The cell whose end the wires show: the chosen one; the last one unless a pass has begun since, or is replayed. */
  at(pass: Pass | null, ended: boolean): CellView | null;
  choose(index: number | null): void;
}

export function useCells(live: LivePayload | null): Cells {
  const [wanted, setWanted] = useState<{ cell: number; index: number } | null>(null);
  const states = live?.cells;
  const views = useMemo(() => viewsOf(states ?? []), [states]);
  // Another graph has other cells: what was chosen of the old one is forgotten.
  const known = wanted && states?.[wanted.index]?.cell === wanted.cell ? (views[wanted.index] ?? null) : null;
  return {
    views,
    state: known,
    pass: live?.passes.find(({ number }) => number === known?.pass),
    at: (pass, ended) => {
      const last = views.at(-1) ?? null;
      const view = known ?? (last?.pass === (pass?.number ?? 0) ? last : null);
      return ended ? view : null;
    },
    choose: (index) =>
      setWanted(
        index === null || index === views.length - 1 ? null : { cell: states?.[index]?.cell ?? 0, index },
      ),
  };
}

export function viewsOf(states: CellState[]): CellView[] {
  const values: Texts = new Map();
  const grads: Texts = new Map();
  return states.map((state, index) => {
    put(values, state.value_key, state.value_text, state.value_norm);
    put(grads, state.grad_key, state.grad_text, state.grad_norm);
    return {
      index,
      title: titleOf(state),
      pass: state.pass,
      values: new Map(values),
      grads: new Map(grads),
    };
  });
}

export const titleOf = ({ cell, what }: CellState): string =>
  `${cell > 0 ? `cell ${cell}` : "a cell"}: ${what.join(", ")}`;

function put(into: Texts, keys: number[], texts: string[], norms: (Num | null)[]): void {
  keys.forEach((key, i) => {
    const norm = norms[i] ?? null;
    const text = texts[i] || (norm === null ? "" : `‖·‖ ${short(norm)}`);
    into.set(portOf(key, 0), text);
  });
}

/** Texts on the wires, with those of the leaves as they stood after a cell. */
export function cellTexts(now: Texts, then: Texts | undefined): Texts {
  if (!then) return now;
  const found = new Map(now);
  for (const [port, text] of then) {
    const norm = text.startsWith("‖");
    if (text && !norm) found.set(port, text);
    else found.delete(port);
  }
  return found;
}

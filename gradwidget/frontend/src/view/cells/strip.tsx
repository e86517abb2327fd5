import type { Cells } from "./use_cells";

/** One button for each cell that changed something: back to how values and gradients stood then. */
export function CellStrip({ cells }: { cells: Cells }) {
  const { views, state, choose } = cells;
  if (views.length < 2) return null;
  const current = state?.index ?? views.length - 1;
  return (
    <section class="gw-cells" aria-label="Cells" data-gw-cells={views.length} data-gw-cell-at={current}>
      <span class="gw-mute" title="Values, and .grad of the leaves, as they stood after a cell">
        after
      </span>
      <span class="gw-cell-list">
        {views.map((view, i) => (
          <button
            key={view.index}
            type="button"
            class={i === current ? "gw-lit" : ""}
            aria-pressed={i === current}
            title={
              i === views.length - 1
                ? "As it stands now"
                : `Values, and .grad of the leaves, as they stood after ${view.title}`
            }
            data-gw-cell={i}
            onClick={() => choose(i)}
          >
            {view.title}
          </button>
        ))}
      </span>
    </section>
  );
}

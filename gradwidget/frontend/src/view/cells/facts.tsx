import { portOf } from "../labels";
import { Row, Section } from "../panel/parts";
import type { CellView } from "./use_cells";

/** How the selected leaf stood after the cell on view. */
export function CellFacts({ cell, selected }: { cell: CellView; selected: number }) {
  const port = portOf(selected, 0);
  const value = cell.values.get(port);
  const grad = cell.grads.get(port);
  if (value === undefined && grad === undefined) return null;
  return (
    <Section title={`after ${cell.title}`}>
      <div data-gw-cell-facts="">
        <Row label="value">
          <span class="gw-num gw-tone-value">{value || "not kept"}</span>
        </Row>
        <Row label={<code>.grad</code>}>
          <span class="gw-num gw-tone-gradient">{grad || "not kept"}</span>
        </Row>
      </div>
    </Section>
  );
}

import { useEffect, useRef } from "preact/hooks";
import type { Adjoint, TracePayload, TraceRow } from "../../wire";
import { Maths } from "../maths";
import { CopyButton } from "./copy";
import type { Traced } from "./use_trace";

interface Props {
  traced: Traced;
  selected: number | null;
  /** The node under the pointer, here or in the graph. */
  lit: number | null;
  /** The node at work in the step on view. */
  worker: number | null;
  /** Whether a node has run by the step on view. */
  ran(key: number): boolean;
  onSelect(key: number): void;
  onLight(key: number | null): void;
}

/** The evaluation trace: forward primal and reverse adjoint side by side, a row a step. */
export function TraceTable(props: Props) {
  const { trace, trouble } = props.traced;
  if (trouble)
    return (
      <p class="gw-trouble" role="alert">
        <strong>{trouble.what}</strong> {trouble.remedy}
      </p>
    );
  if (!trace) return <p class="gw-wait">Asking the kernel for the trace…</p>;
  if (trace.note) return <p class="gw-wait">{trace.note}</p>;
  return <Table {...props} trace={trace} />;
}

function Table({ trace, selected, lit, worker, ran, onSelect, onLight }: Props & { trace: TracePayload }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const shown = worker ?? selected;
  useEffect(() => {
    if (shown !== null)
      body.current?.querySelector(`[data-gw-trace-key="${shown}"]`)?.scrollIntoView?.({ block: "nearest" });
  }, [shown]);
  const cells = (row: TraceRow, i: number) => {
    const classes = ["gw-trace-row"];
    if (row.key === worker) classes.push("gw-now");
    if (row.key === selected) classes.push("gw-chosen");
    if (row.key === lit) classes.push("gw-lit-row");
    return (
      <tr
        key={i}
        class={classes.join(" ")}
        tabindex={0}
        aria-selected={row.key === selected}
        data-gw-trace-key={row.key}
        onClick={() => onSelect(row.key)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          onSelect(row.key);
        }}
        onPointerEnter={() => onLight(row.key)}
        onPointerLeave={() => onLight(null)}
      >
        <td data-gw-primal="">
          <Maths of={row.statement} />
        </td>
        <td data-gw-adjoint="">
          {ran(row.key) && row.adjoints.map((one, k) => <Statement key={k} of={one} />)}
        </td>
      </tr>
    );
  };
  return (
    <>
      {trace.markdown && (
        <div class="gw-trace-copy">
          <CopyButton name="Markdown" text={trace.markdown} />
          <CopyButton name="LaTeX" text={trace.latex} />
          <CopyButton name="CSV" text={trace.csv} />
        </div>
      )}
      <table class="gw-trace" data-gw-trace="">
        <thead>
          <tr>
            <th scope="col">forward primal ↓</th>
            <th scope="col">reverse adjoint ↑</th>
          </tr>
        </thead>
        <tbody ref={body}>{trace.rows.map(cells)}</tbody>
        <tfoot>{trace.outputs.map(cells)}</tfoot>
      </table>
    </>
  );
}

const Statement = ({ of }: { of: Adjoint }) => <Maths of={of.line} />;

import type { TensorView } from "../../wire";
import { exact, isWhole, short } from "../numbers";
import { HeatMap } from "./heat";
import { Histogram } from "./histogram";
import { Figures } from "./parts";
import { Statistics, spreadOf } from "./statistics";

/** Up to this many rows and columns a tensor is a table of numbers, beyond it a heat map. */
const TABLE = 8;

const isScalar = (view: TensorView) => view.numel === 1 && view.shape.length === 0;

function isTable({ values }: TensorView): boolean {
  return !!values && values.whole && values.rows <= TABLE && values.columns <= TABLE;
}

/** Short enough for the right-hand end of a row. */
export function TensorFigures({ view, tone }: { view: TensorView; tone: string }) {
  const only = view.values?.data[0];
  if (isScalar(view))
    return (
      <Figures text={view.text} exact={view.exact || (only === undefined ? "" : exact(only))} tone={tone} />
    );
  return (
    <>
      <span class="gw-mute gw-form">{view.form}</span>{" "}
      {!isTable(view) && <Figures text={view.text} exact={view.exact} tone={tone} />}
    </>
  );
}

/** All in one, for the lines of a list. */
export function TensorBrief({ view }: { view: TensorView }) {
  return (
    <span class="gw-two-lines" title={view.form}>
      <Figures text={view.text || view.form} exact={view.exact} tone="gradient" />
    </span>
  );
}

/** The elements and how they are spread; nothing more for a scalar. */
export function TensorBody({ view }: { view: TensorView }) {
  const table = isTable(view);
  const spread = spreadOf(view);
  const stats = !isScalar(view) && (!table || spread.odd);
  const note = stats || !aboutStatistics(view.note) ? view.note : "";
  if (isScalar(view)) return note ? <p class="gw-mute gw-small">{note}</p> : null;
  return (
    <div class="gw-tensor">
      {table && <Table view={view} />}
      {!table && view.values && spread.finite > 0 && (spread.odd || spread.equal === null) && (
        <HeatMap corner={view.values} shape={view.shape} whole={isWhole(view.dtype)} />
      )}
      {!table && view.histogram && spread.finite > 0 && spread.equal === null && (
        <Histogram histogram={view.histogram} whole={isWhole(view.dtype)} />
      )}
      {stats && <Statistics view={view} spread={spread} />}
      {note && <p class="gw-mute gw-small">{note}</p>}
    </div>
  );
}

/** "Complex: statistics of the magnitude." means nothing where there are none. */
const aboutStatistics = (note: string): boolean => /statistics/.test(note);

function Table({ view }: { view: TensorView }) {
  const corner = view.values;
  const whole = isWhole(view.dtype);
  if (!corner || corner.rows * corner.columns === 0) return <p class="gw-mute gw-small">no elements</p>;
  return (
    <div class="gw-scroll">
      {corner.index && <p class="gw-mute gw-small gw-num">{corner.index}</p>}
      <table class="gw-table">
        <tbody>
          {Array.from({ length: corner.rows }, (_, row) => (
            <tr key={row}>
              {Array.from({ length: corner.columns }, (_, column) => {
                const at = row * corner.columns + column;
                const number = corner.data[at] ?? "";
                const text = corner.text?.[at];
                return (
                  <td key={column} title={text ?? exact(number)}>
                    {text ?? short(number, whole)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

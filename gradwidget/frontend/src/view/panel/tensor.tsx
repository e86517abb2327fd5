import type { TensorView } from "../../wire";
import { exact, grouped, short } from "../numbers";
import { HeatMap } from "./heat";
import { Histogram } from "./histogram";
import { Figures } from "./parts";

/** Up to this many rows and columns a tensor is a table of numbers, beyond it a heat map. */
const TABLE = 8;

const isScalar = (view: TensorView) => view.numel === 1 && view.shape.length === 0;

function isTable({ values }: TensorView): boolean {
  return !!values && values.whole && values.rows <= TABLE && values.columns <= TABLE;
}

/** Short enough for the right-hand end of a row. */
export function TensorFigures({ view, tone }: { view: TensorView; tone: string }) {
  const only = view.values?.data[0];
  if (isScalar(view) && only !== undefined && !view.values?.text) {
    return <Figures text={short(only)} exact={view.exact || exact(only)} tone={tone} />;
  }
  return (
    <>
      {!isScalar(view) && <span class="gw-mute gw-form">{view.form}</span>}{" "}
      {(isScalar(view) || !isTable(view)) && <Figures text={view.text} exact={view.exact} tone={tone} />}
    </>
  );
}

/** The elements and how they are spread; nothing more for a scalar. */
export function TensorBody({ view }: { view: TensorView }) {
  if (isScalar(view)) return view.note ? <p class="gw-mute gw-small">{view.note}</p> : null;
  const table = isTable(view);
  return (
    <div class="gw-tensor">
      {table ? <Table view={view} /> : view.values && <HeatMap corner={view.values} shape={view.shape} />}
      {view.histogram && !table && <Histogram histogram={view.histogram} />}
      {view.stats && (!table || hasOdd(view)) && <StatsLine view={view} />}
      {view.note && <p class="gw-mute gw-small">{view.note}</p>}
    </div>
  );
}

const hasOdd = ({ stats }: TensorView) => !!stats && stats.nan + stats.inf > 0;

function Table({ view }: { view: TensorView }) {
  const corner = view.values;
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
                    {text ?? short(number)}
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

function StatsLine({ view }: { view: TensorView }) {
  const { stats, numel } = view;
  if (!stats) return null;
  const counts: [string, number][] = [
    ["nan", stats.nan],
    ["inf", stats.inf],
    ["zero", stats.zero],
  ];
  return (
    <p class="gw-stats">
      {(["mean", "std", "min", "max"] as const).map((name) => (
        <span key={name} title={exact(stats[name])}>
          <span class="gw-mute">{name}</span> {short(stats[name])}
        </span>
      ))}
      {counts.map(
        ([name, count]) =>
          count > 0 && (
            <span key={name} class={name === "zero" ? "" : "gw-alarm"}>
              <span class="gw-mute">{name}</span> {grouped(count)} of {grouped(numel)}
            </span>
          ),
      )}
    </p>
  );
}

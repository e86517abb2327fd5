import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TensorCorner } from "../../wire";
import { exact, real, short } from "../numbers";
import { useTheme } from "../theme_context";
import { colourOf, css, INKS, ODD_COLOURS, reach } from "./colours";

/** One-row tensors would be a hairline. */
const MIN_HEIGHT = 22;
const MAX_HEIGHT = 150;

interface Props {
  corner: TensorCorner;
  shape: number[];
  /** Of an integer type. */
  whole: boolean;
}

export function HeatMap({ corner, shape, whole }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [over, setOver] = useState<number | null>(null);
  const theme = useTheme();
  const largest = reach(corner.data);
  const { rows, columns } = corner;

  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || rows * columns === 0) return;
    const image = context.createImageData(columns, rows);
    for (let i = 0; i < rows * columns; i += 1) {
      image.data.set([...colourOf(corner.data[i] ?? "nan", largest, INKS[theme]), 255], i * 4);
    }
    context.putImageData(image, 0, 0);
  }, [corner, rows, columns, largest, theme]);

  if (rows * columns === 0) return <p class="gw-mute gw-small">no elements</p>;
  const point = (event: PointerEvent) => {
    const rect = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const column = Math.min(
      columns - 1,
      Math.max(0, Math.floor(((event.clientX - rect.left) / rect.width) * columns)),
    );
    const row = Math.min(
      rows - 1,
      Math.max(0, Math.floor(((event.clientY - rect.top) / rect.height) * rows)),
    );
    setOver(row * columns + column);
  };
  const height = Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, (300 / columns) * rows));
  return (
    <figure class="gw-heat">
      <canvas
        ref={canvas}
        width={columns}
        height={rows}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`Heat map of ${rows} rows and ${columns} columns`}
        onPointerMove={point}
        onPointerLeave={() => setOver(null)}
      />
      <figcaption>
        {over === null ? (
          <Caption corner={corner} shape={shape} whole={whole} largest={largest} />
        ) : (
          cell(corner, over)
        )}
      </figcaption>
    </figure>
  );
}

function cell(corner: TensorCorner, at: number): string {
  const row = Math.floor(at / corner.columns);
  const column = at % corner.columns;
  const number = corner.data[at] ?? "";
  return `[${row}, ${column}] = ${corner.text?.[at] ?? exact(number)}`;
}

function Caption({ corner, shape, whole, largest }: Props & { largest: number }) {
  const odd = (test: (n: number) => boolean) => corner.data.some((number) => test(real(number)));
  const { below, paper, above } = INKS[useTheme()];
  return (
    <>
      <span class="gw-scale">
        {short(0 - largest, whole)}
        <i style={{ background: `linear-gradient(90deg, ${css(below)}, ${css(paper)}, ${css(above)})` }} />
        {short(largest, whole)}
      </span>
      {odd(Number.isNaN) && <Swatch colour={ODD_COLOURS.nan} name="nan" />}
      {odd((n) => Math.abs(n) === Infinity) && <Swatch colour={ODD_COLOURS.inf} name="inf" />}
      <span>{partOf(corner, shape)}</span>
    </>
  );
}

function Swatch({ colour, name }: { colour: string; name: string }) {
  return (
    <span class="gw-scale">
      <i class="gw-swatch" style={{ background: colour }} />
      {name}
    </span>
  );
}

function partOf(corner: TensorCorner, shape: number[]): string {
  const size = `${corner.rows}×${corner.columns}`;
  if (corner.index) return `${size} of ${corner.index}`;
  return corner.whole ? "" : `first ${size} of ${shape.join("×")}`;
}

/** Edges that can be dragged, or moved with the arrow keys. */
interface EdgeProps {
  class: string;
  label: string;
  horizontal: boolean;
  value: number;
  min: number;
  max: number;
  sign: 1 | -1;
  onResize(value: number): void;
}

const KEY_STEP = 24;

function Edge({ class: name, label, horizontal, value, min, max, sign, onResize }: EdgeProps) {
  const put = (next: number) => onResize(Math.round(Math.min(max, Math.max(min, next))));
  const down = (event: PointerEvent) => {
    const handle = event.currentTarget as HTMLElement;
    const at = (e: PointerEvent) => (horizontal ? e.clientY : e.clientX);
    const start = at(event);
    const life = new AbortController();
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const { signal } = life;
    handle.addEventListener("pointermove", (e) => put(value + sign * (at(e) - start)), { signal });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      handle.addEventListener(end, () => life.abort(), { signal });
    }
  };
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = horizontal
      ? { ArrowUp: -1, ArrowDown: 1 }
      : { ArrowLeft: -1, ArrowRight: 1 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    put(value + sign * step * KEY_STEP);
  };
  return (
    <div
      class={name}
      role="separator"
      tabindex={0}
      aria-label={label}
      aria-orientation={horizontal ? "horizontal" : "vertical"}
      aria-valuenow={value}
      aria-valuemin={min}
      aria-valuemax={max}
      onPointerDown={down}
      onKeyDown={press}
    />
  );
}

export function PanelEdge({ width, onResize }: { width: number; onResize(width: number): void }) {
  return (
    <Edge
      class="gw-panel-edge"
      label="Width of the panel"
      horizontal={false}
      value={width}
      min={240}
      max={620}
      sign={-1}
      onResize={onResize}
    />
  );
}

export function BottomEdge({ height, onResize }: { height: number; onResize(height: number): void }) {
  return (
    <Edge
      class="gw-bottom-edge"
      label="Height of the figure"
      horizontal={true}
      value={height}
      min={240}
      max={2000}
      sign={1}
      onResize={onResize}
    />
  );
}

import { useEffect, useReducer } from "preact/hooks";
import type { Direction } from "../scene";
import type { GraphPayload, LivePayload, Pass } from "../wire";
import type { Camera } from "./camera_store";
import { DownIcon, FitIcon, MinusIcon, PlusIcon, RightIcon } from "./icons";
import type { Label } from "./labels";
import { Legend } from "./legend";
import { plural } from "./numbers";

interface Props {
  graph: GraphPayload;
  live: LivePayload | null;
  pass: Pass | null;
  labels: Label[];
  camera: Camera;
  direction: Direction;
  onPass(number: number | null): void;
  onTurn(direction: Direction): void;
}

const STEP = 1.25;

export function Header({ graph, live, pass, labels, camera, direction, onPass, onTurn }: Props) {
  const other: Direction = direction === "right" ? "down" : "right";
  return (
    <header class="gw-header">
      <strong class="gw-heading" dir="auto" title={graph.title}>
        {graph.title}
      </strong>
      <span class="gw-mute gw-count">{countOf(graph)}</span>
      {live && <Watching live={live} />}
      <Legend labels={labels} direction={direction} />
      <span class="gw-space" />
      <PassChooser live={live} pass={pass} onPass={onPass} />
      <span class="gw-group">
        <button type="button" aria-label="Zoom out" title="Zoom out" onClick={() => camera.zoom(1 / STEP)}>
          <MinusIcon />
        </button>
        <Zoom camera={camera} />
        <button type="button" aria-label="Zoom in" title="Zoom in" onClick={() => camera.zoom(STEP)}>
          <PlusIcon />
        </button>
      </span>
      <button
        type="button"
        class="gw-button"
        aria-label="Fit"
        title="Show all of the graph"
        onClick={() => camera.fit()}
      >
        <FitIcon /> <span class="gw-word">fit</span>
      </button>
      <button
        type="button"
        class="gw-button"
        aria-label={`The graph runs ${direction}; turn it to run ${other}`}
        title={`Turn the graph to run ${other}`}
        onClick={() => onTurn(other)}
      >
        {direction === "right" ? <RightIcon /> : <DownIcon />} <span class="gw-word">{direction}</span>
      </button>
    </header>
  );
}

function countOf(graph: GraphPayload): string {
  const leaves = graph.op.filter((op) => graph.kinds[op] === "leaf").length;
  return `${plural(graph.nodes, "node")} · ${plural(leaves, "leaf", "leaves")}`;
}

function Watching({ live }: { live: LivePayload }) {
  const title = live.watching
    ? "The next backward pass will be recorded."
    : "Backward passes are not being recorded.";
  return (
    <span class={live.watching ? "gw-status gw-on" : "gw-status"} title={title}>
      <i class="gw-dot" />
      {live.watching ? "watching" : "not watching"}
    </span>
  );
}

function PassChooser({ live, pass, onPass }: Pick<Props, "live" | "pass" | "onPass">) {
  const passes = live?.passes ?? [];
  const last = passes[passes.length - 1];
  if (!last || passes.length < 2) return null;
  const choose = (event: Event) => {
    const number = Number((event.currentTarget as HTMLSelectElement).value);
    // The latest pass is followed, so that the next one shows itself.
    onPass(number === last.number ? null : number);
  };
  return (
    <select class="gw-select" aria-label="Backward pass" value={pass?.number} onChange={choose}>
      {passes.map(({ number, label }) => (
        <option key={number} value={number}>
          {`pass ${number}: ${label}`}
        </option>
      ))}
    </select>
  );
}

const percent = (zoom: number) => (zoom < 0.01 ? "<1%" : `${Math.round(zoom * 100)}%`);

function Zoom({ camera }: { camera: Camera }) {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => camera.listen(() => redraw()), [camera]);
  return <span class="gw-zoom">{percent(camera.eye.k)}</span>;
}

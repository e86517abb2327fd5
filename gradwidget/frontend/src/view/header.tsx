import type { ComponentChildren } from "preact";
import { useEffect, useReducer } from "preact/hooks";
import type { Direction } from "../scene";
import type { GraphPayload, LivePayload } from "../wire";
import type { Camera } from "./camera_store";
import type { Colour } from "./grad/looks";
import { DownIcon, FitIcon, MinusIcon, PlusIcon, RightIcon } from "./icons";
import type { Label } from "./labels";
import { Legend } from "./legend";
import { plural } from "./numbers";
import { type Tab, Tabs } from "./tabs";

interface Props {
  graph: GraphPayload;
  live: LivePayload | null;
  /** Why nobody answers; "" where there is a kernel that does. */
  silence: string;
  labels: Label[];
  cuts: boolean;
  camera: Camera;
  direction: Direction;
  colour: Colour;
  /** There is a pass whose gradients have sizes. */
  sized: boolean;
  search: ComponentChildren;
  probe: ComponentChildren;
  tab: Tab;
  onTab(tab: Tab): void;
  quiz: ComponentChildren;
  /** Larger type, for the back row. */
  save: ComponentChildren;
  large: boolean;
  onLarge(large: boolean): void;
  onColour(colour: Colour): void;
  onTurn(direction: Direction): void;
}

const STEP = 1.25;
const SILENT = "Nothing new will be seen here. Nodes answer from what was sent along.";

export function Header({
  graph,
  live,
  silence,
  labels,
  cuts,
  camera,
  direction,
  colour,
  sized,
  search,
  probe,
  tab,
  onTab,
  quiz,
  save,
  large,
  onLarge,
  onColour,
  onTurn,
}: Props) {
  const other: Direction = direction === "right" ? "down" : "right";
  return (
    <header class="gw-header">
      <span class="gw-about">
        <strong class="gw-heading" dir="auto" title={graph.title}>
          {graph.title}
        </strong>
        {live && <Watching watching={live.watching} silence={silence} />}
        <span class="gw-mute gw-count">{countOf(graph)}</span>
        {tab === "graph" && <Legend labels={labels} direction={direction} cuts={cuts} />}
      </span>
      <span class="gw-tools">
        {search}
        {probe}
        <Tabs tab={tab} onTab={onTab} />
        {tab === "graph" && (
          <>
            {quiz}
            {sized && <ColourSwitch colour={colour} onColour={onColour} />}
            <span class="gw-group">
              <button
                type="button"
                aria-label="Zoom out"
                title="Zoom out"
                onClick={() => camera.zoom(1 / STEP)}
              >
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
              class={large ? "gw-button gw-lit" : "gw-button"}
              aria-label="Aa: larger type"
              aria-pressed={large}
              title="Larger type, for the back row"
              data-gw-large=""
              onClick={() => onLarge(!large)}
            >
              Aa
            </button>
            {save}
            <button
              type="button"
              class="gw-button"
              aria-label={`The graph runs ${direction}; turn it to run ${other}`}
              title={`Turn the graph to run ${other}`}
              onClick={() => onTurn(other)}
            >
              {direction === "right" ? <RightIcon /> : <DownIcon />} <span class="gw-word">{direction}</span>
            </button>
          </>
        )}
      </span>
    </header>
  );
}

function countOf(graph: GraphPayload): string {
  const leaves = graph.op.filter((op) => graph.kinds[op] === "leaf").length;
  return `${plural(graph.nodes, "node")} · ${plural(leaves, "leaf", "leaves")}`;
}

function Watching({ watching, silence }: { watching: boolean; silence: string }) {
  if (silence)
    return (
      <span class="gw-status gw-silent" role="status" title={SILENT} data-gw-silence="">
        <i class="gw-dot" />
        {silence}
      </span>
    );
  const title = watching
    ? "The next backward pass will be recorded."
    : "Backward passes are not being recorded.";
  return (
    <span class={watching ? "gw-status gw-on" : "gw-status"} role="img" aria-label={title} title={title}>
      <i class="gw-dot" />
      <span class="gw-status-word">{watching ? "watching" : "not watching"}</span>
    </span>
  );
}

function ColourSwitch({ colour, onColour }: Pick<Props, "colour" | "onColour">) {
  const choices: [Colour, string, string][] = [
    ["kind", "kind", "Colour by the kind of node"],
    ["grad", "|grad|", "Colour by the size of the gradient"],
  ];
  return (
    <span class="gw-labelled">
      <span class="gw-mute gw-word">colour</span>
      <span class="gw-group gw-switch">
        {choices.map(([name, text, title]) => (
          <button
            key={name}
            type="button"
            class={name === colour ? "gw-lit" : ""}
            aria-label={`${text}: ${title}`}
            aria-pressed={name === colour}
            title={title}
            data-gw-colour={name}
            onClick={() => onColour(name)}
          >
            {text}
          </button>
        ))}
      </span>
    </span>
  );
}

const percent = (zoom: number) => (zoom < 0.01 ? "<1%" : `${Math.round(zoom * 100)}%`);

function Zoom({ camera }: { camera: Camera }) {
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => camera.listen(() => redraw()), [camera]);
  return <span class="gw-zoom">{percent(camera.eye.k)}</span>;
}

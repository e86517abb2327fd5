import type { ComponentChildren } from "preact";
import type { GraphIndex } from "../graph_index";
import { EndIcon, PauseIcon, PlayIcon, StartIcon, StepBackIcon, StepIcon } from "../icons";
import type { Working } from "./sentence";
import { Slider } from "./slider";
import { StepLine } from "./step_line";
import type { Replay } from "./use_replay";

interface Props {
  replay: Replay;
  index: GraphIndex;
  /** How a number came about that a step hands on. */
  working: Working;
  onSelect(key: number): void;
  /** Which pass this is, and what else there is to do with passes. */
  chooser: ComponentChildren;
  extra: ComponentChildren;
}

const SPEEDS = [0.5, 1, 2, 4];

export function Player({ replay, index, working, onSelect, chooser, extra }: Props) {
  const { position, run } = replay;
  return (
    <section
      class="gw-player"
      aria-label="Replay of the backward pass"
      data-gw-player=""
      data-gw-step={position.at}
      data-gw-steps={run.steps}
      data-gw-ended={position.ended ? "1" : "0"}
    >
      <div class="gw-controls">
        {chooser}
        <Buttons replay={replay} />
        <Slider replay={replay} />
        <select
          class="gw-select gw-speed"
          aria-label="Speed"
          title="Speed of playing"
          value={replay.speed}
          onChange={(event) => replay.setSpeed(Number((event.currentTarget as HTMLSelectElement).value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>{`${speed}×`}</option>
          ))}
        </select>
        {extra}
      </div>
      <StepLine replay={replay} index={index} working={working} onSelect={onSelect} />
    </section>
  );
}

function Buttons({ replay }: { replay: Replay }) {
  const { position, run, playing, move, toggle } = replay;
  const nothing = run.steps === 0;
  return (
    <span class="gw-group gw-transport">
      <Control name="To the start" disabled={nothing || position.at === 0} onClick={() => move("start")}>
        <StartIcon />
      </Control>
      <Control name="Step back [" disabled={nothing || position.at === 0} onClick={() => move("back")}>
        <StepBackIcon />
      </Control>
      <Control name={playing ? "Pause" : "Play"} disabled={nothing} onClick={toggle} lit={playing}>
        {playing ? <PauseIcon /> : <PlayIcon />}
      </Control>
      <Control
        name="Step forward ]"
        disabled={nothing || position.at === run.steps}
        onClick={() => move("forward")}
      >
        <StepIcon />
      </Control>
      <Control
        name="To the end: the pass as it ended"
        disabled={nothing || position.ended}
        onClick={() => move("end")}
      >
        <EndIcon />
      </Control>
    </span>
  );
}

interface ControlProps {
  name: string;
  disabled: boolean;
  lit?: boolean;
  onClick(): void;
  children: ComponentChildren;
}

/** Never truly disabled: a button that loses the focus under a finger stops the keys. */
function Control({ name, disabled, lit = false, onClick, children }: ControlProps) {
  return (
    <button
      type="button"
      class={lit ? "gw-lit" : ""}
      aria-label={name}
      aria-disabled={disabled}
      title={name}
      onClick={() => !disabled && onClick()}
    >
      {children}
    </button>
  );
}

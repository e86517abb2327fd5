import { headline } from "./sentence";
import type { Replay } from "./use_replay";

/** Beyond this the ticks would be a grey bar. */
const MOST_TICKS = 60;

export function Slider({ replay }: { replay: Replay }) {
  const { run, position } = replay;
  const { steps } = run;
  const share = steps > 0 ? position.at / steps : 0;
  const slide = (event: Event) => replay.stepTo(Number((event.currentTarget as HTMLInputElement).value));
  return (
    <div class="gw-slider" style={{ "--gw-share": share }}>
      {steps <= MOST_TICKS && (
        <span class="gw-ticks" aria-hidden="true">
          {Array.from({ length: steps + 1 }, (_, k) => (
            <i key={k} class={k <= position.at ? "gw-passed" : ""} />
          ))}
        </span>
      )}
      <input
        type="range"
        aria-label="Step of the pass"
        aria-valuetext={headline(run, position)}
        min={0}
        max={steps}
        step={1}
        value={position.at}
        disabled={steps === 0}
        onInput={slide}
        onKeyDown={keepKeys}
      />
    </div>
  );
}

/** The slider's own keys are not the notebook's. */
function keepKeys(event: KeyboardEvent): void {
  if (/^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation();
}

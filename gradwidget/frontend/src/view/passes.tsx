import type { LivePayload, Pass } from "../wire";
import { passOf } from "./state";

interface Props {
  live: LivePayload | null;
  pass: Pass;
  onPass(number: number): void;
}

/** How the panel leads to passes. */
export interface PassLinks {
  known: number[];
  current: number | null;
  choose(number: number): void;
}

export function passText({ number, label, inside, state }: Pass): string {
  const nested = inside > 0 ? `, inside pass ${inside}` : "";
  const failed = state === "failed" ? ", failed" : "";
  const sign = state === "failed" ? "✗ " : inside > 0 ? "↳ " : "";
  return `${sign}pass ${number}: ${label}${nested}${failed}`;
}

/** What to ask for so that a pass is shown: nothing for the one that is followed anyway, as the next one will be. */
export const wantedFor = (number: number, live: LivePayload | null): number | null =>
  number === passOf(live, null)?.number ? null : number;

export function PassChooser({ live, pass, onPass }: Props) {
  const passes = live?.passes ?? [];
  const text = passText(pass);
  const title = pass.note ? `${text}\n${pass.note}` : text;
  if (passes.length < 2)
    return (
      <span class="gw-pass gw-mute" title={title} dir="auto" data-gw-pass={pass.number}>
        {text}
      </span>
    );
  return (
    <select
      class="gw-select gw-pass"
      aria-label="Backward pass"
      title={title}
      value={pass.number}
      onChange={(event) => onPass(Number((event.currentTarget as HTMLSelectElement).value))}
      data-gw-pass={pass.number}
    >
      {passes.map((one) => (
        <option key={one.number} value={one.number}>
          {passText(one)}
        </option>
      ))}
    </select>
  );
}

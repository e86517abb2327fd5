import type { LivePayload, Pass } from "../wire";

interface Props {
  live: LivePayload | null;
  pass: Pass;
  onPass(number: number | null): void;
}

export function passText({ number, label, inside, state, note }: Pass): string {
  const nested = inside > 0 ? `, inside pass ${inside}` : "";
  const failed = state === "failed" ? `, failed${note ? `: ${note}` : ""}` : "";
  const sign = state === "failed" ? "✗ " : inside > 0 ? "↳ " : "";
  return `${sign}pass ${number}: ${label}${nested}${failed}`;
}

/** The latest pass is followed, so that the next one shows itself. */
export function PassChooser({ live, pass, onPass }: Props) {
  const passes = live?.passes ?? [];
  const text = passText(pass);
  if (passes.length < 2)
    return (
      <span class="gw-pass gw-mute" title={text} dir="auto" data-gw-pass={pass.number}>
        {text}
      </span>
    );
  const choose = (event: Event) => {
    const number = Number((event.currentTarget as HTMLSelectElement).value);
    onPass(number === passes[passes.length - 1]?.number ? null : number);
  };
  return (
    <select
      class="gw-select gw-pass"
      aria-label="Backward pass"
      title={text}
      value={pass.number}
      onChange={choose}
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

import type { Detail, Hook, HookStep } from "../../wire";
import { plural } from "../numbers";
import { Name, Words } from "./long";
import { Chip, Note, Row, Section } from "./parts";
import { TensorBrief } from "./tensor";

/** The user's own hooks, and what they did to the gradient on its way through. */
export function Hooks({ detail }: { detail: Detail }) {
  const { hooks, hook_steps, hooks_note } = detail;
  if (hooks.length === 0 && !hooks_note) return null;
  const aside = hooks.length > 1 ? { aside: plural(hooks.length, "hook") } : {};
  return (
    <Section title="your hooks" {...aside}>
      {hooks.length > 0 && (
        <ol class="gw-hooks">
          {hooks.map((hook, i) => (
            <HookRow key={i} hook={hook} />
          ))}
        </ol>
      )}
      {hook_steps.length > 0 && (
        <ol class="gw-ladder" aria-label="What the hooks did to the gradient">
          {hook_steps.map((step, i) => (
            <Rung key={i} step={step} />
          ))}
        </ol>
      )}
      <Note>{hooks_note}</Note>
    </Section>
  );
}

function HookRow({ hook }: { hook: Hook }) {
  return (
    <li>
      <Name text={hook.name} /> <span class="gw-mute">{hook.kind}</span>
      {hook.where && (
        <span class="gw-mute gw-where gw-clip" dir="auto" title={hook.where}>
          {hook.where}
        </span>
      )}
    </li>
  );
}

function Rung({ step }: { step: HookStep }) {
  const still = step.change === "unchanged";
  return (
    <li class={step.change && !still ? "gw-rung gw-changed" : "gw-rung"} data-gw-hook-step={step.what}>
      <Row
        label={
          <>
            <Words text={step.what} />{" "}
            {step.change && (still ? <span>· {step.change}</span> : <Chip text={step.change} />)}
          </>
        }
      >
        {step.tensor ? (
          <TensorBrief view={step.tensor} />
        ) : (
          <span class="gw-mute">{step.note ? "" : "none"}</span>
        )}
      </Row>
      <Note>{step.note}</Note>
    </li>
  );
}

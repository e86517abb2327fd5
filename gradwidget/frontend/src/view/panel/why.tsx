import type { Why } from "../../wire";
import { Section } from "./parts";

/** Why the gradient is what it is: cause, what to do about it, and the facts that it rests on. */
export function WhyBox({ why }: { why: Why | null }) {
  if (!why) return null;
  return (
    <Section title="why">
      <div class="gw-why" data-gw-why={why.kind}>
        <p class="gw-why-cause" dir="auto">
          <Marked text={why.cause} />
        </p>
        {why.remedy && (
          <p class="gw-why-remedy" dir="auto">
            <Marked text={why.remedy} />
          </p>
        )}
        {why.evidence.length > 0 && (
          <ul class="gw-why-evidence" aria-label="Evidence">
            {why.evidence.map((fact, i) => (
              <li key={i} dir="auto">
                <Marked text={fact} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </Section>
  );
}

/** What stands between backticks is code. */
function Marked({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

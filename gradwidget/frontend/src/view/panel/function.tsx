import type { FunctionInfo } from "../../wire";
import { Row, Section } from "./parts";

/** What a torch.autograd.Function of the user's says of itself. */
export function FunctionFacts({ facts }: { facts: FunctionInfo | null }) {
  if (!facts) return null;
  return (
    <Section title="Function" {...(facts.where && { aside: facts.where })}>
      <div data-gw-function={facts.name}>
        <Row label="class">
          <code dir="auto">{facts.name}</code>
        </Row>
        <Row label="missing gradients arrive as">{facts.materialize ? "zeros" : "None"}</Row>
        {facts.needs.map(([name, needed], i) => (
          <Row
            key={i}
            label={
              <>
                argument <code dir="auto">{name}</code>
              </>
            }
          >
            {needed ? "asks for a gradient" : <span class="gw-mute">asks for none</span>}
          </Row>
        ))}
      </div>
    </Section>
  );
}

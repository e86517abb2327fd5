import type { FunctionInfo } from "../../wire";
import { Name } from "./long";
import { Row, Section } from "./parts";

/** What a torch.autograd.Function of the user's says of itself. */
export function FunctionFacts({ facts }: { facts: FunctionInfo | null }) {
  if (!facts) return null;
  return (
    <Section title="Function" aside={facts.where}>
      <div data-gw-function={facts.name}>
        <Row label="class">
          <Name text={facts.name} />
        </Row>
        <Row label="missing gradients arrive as">{facts.materialize ? "zeros" : "None"}</Row>
        {facts.needs.map(([name, needed], i) => (
          <Row
            key={i}
            label={
              <>
                argument <Name text={name} />
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

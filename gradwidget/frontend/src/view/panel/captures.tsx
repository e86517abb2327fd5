import type { Capture, Detail } from "../../wire";
import { plural } from "../numbers";
import { Note, Row, Section } from "./parts";
import { TensorFigures } from "./tensor";

export function Captures({ detail }: { detail: Detail }) {
  const { captures, captures_note } = detail;
  if (captures.length === 0 && !captures_note) return null;
  const aside = captures.length > 0 ? { aside: plural(captures.length, "pass", "passes") } : {};
  return (
    <Section title="hook captures" {...aside}>
      {captures.map((capture) => (
        <CaptureRow key={capture.pass} capture={capture} />
      ))}
      <Note>{captures_note}</Note>
    </Section>
  );
}

function CaptureRow({ capture }: { capture: Capture }) {
  const several = capture.gradients.length > 1;
  return (
    <div data-gw-capture={capture.pass}>
      <Row
        label={
          <span title={capture.label}>
            pass {capture.pass}
            {capture.step > 0 && (
              <span class="gw-mute">
                {" "}
                · step {capture.step} of {capture.steps}
              </span>
            )}
          </span>
        }
      >
        <span class="gw-mute">arrived</span>{" "}
        {capture.gradients.map((view, i) => (
          <span key={i} class="gw-arrival">
            {several && <span class="gw-mute">{i}: </span>}
            {view ? <TensorFigures view={view} tone="gradient" /> : <span class="gw-num">none</span>}
          </span>
        ))}
      </Row>
      <Note>{capture.note}</Note>
    </div>
  );
}

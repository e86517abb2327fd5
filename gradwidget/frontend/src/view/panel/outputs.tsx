import type { Detail, DetailOutput, Pass, TensorView } from "../../wire";
import { Chip, Note, Row, Section } from "./parts";
import { TensorBody, TensorFigures } from "./tensor";

/** A gradient that the player has not come to yet. */
export interface Coming {
  pass: number;
  step: number; // at which it arrives
  steps: number; // of so many
}

export function comingOf(pass: Pass, key: number, taken: number): Coming | null {
  const step = pass.order.indexOf(key) + 1;
  return step > taken ? { pass: pass.number, step, steps: pass.order.length } : null;
}

interface Props {
  detail: Detail;
  pass: Pass | null;
  coming: Coming | null;
}

/** Value, gradient and .grad of what the node produced. */
export function Outputs({ detail, pass, coming }: Props) {
  return (
    <>
      {detail.outputs.map((output) => (
        <Section key={output.output} {...(detail.outputs.length > 1 ? { title: titleOf(output) } : {})}>
          <Quantity label="value" tone="value" view={output.value} note={output.value_note} chip="" />
          {coming ? (
            <Quantity
              label="gradient"
              tone="gradient"
              view={null}
              note={`Not yet: it arrives at step ${coming.step} of ${coming.steps}.`}
              chip={`pass ${coming.pass}`}
            />
          ) : (
            <Gradient detail={detail} output={output} pass={pass} />
          )}
          {(output.grad || output.grad_note) && (
            <Quantity label=".grad" tone="gradient" view={output.grad} note={output.grad_note} chip="" />
          )}
        </Section>
      ))}
    </>
  );
}

function titleOf(output: DetailOutput): string {
  const name = output.names[0];
  return name ? `output ${output.output}: ${name}` : `output ${output.output}`;
}

/** The gradient of the pass that the header shows; of the last one that came here when it shows the latest. */
function Gradient({ detail, output, pass }: { detail: Detail; output: DetailOutput; pass: Pass | null }) {
  if (!pass) {
    const chip = output.gradient_pass > 0 ? `pass ${output.gradient_pass}` : "";
    return (
      <Quantity
        label="gradient"
        tone="gradient"
        view={output.gradient}
        note={output.gradient_note}
        chip={chip}
      />
    );
  }
  const capture = detail.captures.find((one) => one.pass === pass.number);
  const view = capture?.gradients[output.output] ?? null;
  const missing = capture ? "No gradient arrived in this pass." : "This node did not run in this pass.";
  return (
    <Quantity
      label="gradient"
      tone="gradient"
      view={view}
      note={capture?.note || (view ? "" : missing)}
      chip={`pass ${pass.number}`}
    />
  );
}

interface QuantityProps {
  label: string;
  tone: "value" | "gradient";
  view: TensorView | null;
  note: string;
  chip: string;
}

function Quantity({ label, tone, view, note, chip }: QuantityProps) {
  const code = label.startsWith(".");
  return (
    <div data-gw-quantity={label}>
      <Row
        label={
          <>
            {code ? <code>{label}</code> : label} {chip && <Chip text={chip} />}
          </>
        }
      >
        {view ? (
          <TensorFigures view={view} tone={tone} />
        ) : (
          <span class="gw-mute">{note ? "" : "unknown"}</span>
        )}
      </Row>
      {view && <TensorBody view={view} />}
      <Note>{note}</Note>
    </div>
  );
}

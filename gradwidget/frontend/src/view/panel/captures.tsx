import { useState } from "preact/hooks";
import type { Capture, Detail } from "../../wire";
import { grouped, plural } from "../numbers";
import type { PassLinks } from "../passes";
import { Note, Row, Section } from "./parts";
import { TensorBrief } from "./tensor";

/** The newest are shown, the others on request. */
const SHOWN = 5;

export function Captures({ detail, links }: { detail: Detail; links: PassLinks }) {
  const [all, setAll] = useState(false);
  const { captures, captures_note } = detail;
  if (captures.length === 0 && !captures_note) return null;
  const aside = captures.length > 0 ? { aside: plural(captures.length, "pass", "passes") } : {};
  const newest = captures.toReversed();
  const hidden = all ? 0 : Math.max(0, newest.length - SHOWN);
  return (
    <Section title="hook captures" {...aside}>
      {newest.slice(0, newest.length - hidden).map((capture) => (
        <CaptureRow key={capture.pass} capture={capture} links={links} />
      ))}
      {hidden > 0 && (
        <button type="button" class="gw-text-button" data-gw-captures-more="" onClick={() => setAll(true)}>
          {grouped(hidden)} more
        </button>
      )}
      <Note>{captures_note}</Note>
    </Section>
  );
}

function CaptureRow({ capture, links }: { capture: Capture; links: PassLinks }) {
  const several = capture.gradients.length > 1;
  return (
    <div data-gw-capture={capture.pass}>
      <Row
        label={
          <>
            <PassName capture={capture} links={links} />
            {capture.step > 0 && (
              <span class="gw-mute">
                {" "}
                · step {grouped(capture.step)} of {grouped(capture.steps)}
              </span>
            )}
          </>
        }
      >
        <span class="gw-mute">arrived</span>{" "}
        {capture.gradients.map((view, i) => (
          <span key={i} class="gw-arrival">
            {several && <span class="gw-mute">{i}: </span>}
            {view ? <TensorBrief view={view} /> : <span class="gw-num">none</span>}
          </span>
        ))}
      </Row>
      <Note>{capture.note}</Note>
    </div>
  );
}

/** Leads to its pass, while that is still on the page. */
function PassName({ capture: { pass, label }, links }: { capture: Capture; links: PassLinks }) {
  const name = `pass ${pass}`;
  if (!links.known.includes(pass)) return <span title={label}>{name}</span>;
  if (pass === links.current)
    return (
      <strong title={`${label}: the pass on view`} aria-current="true">
        {name}
      </strong>
    );
  return (
    <button
      type="button"
      class="gw-text-button"
      title={`${label}: click to look at it`}
      data-gw-pass-link={pass}
      onClick={() => links.choose(pass)}
    >
      {name}
    </button>
  );
}

import { useEffect, useState } from "preact/hooks";
import type { Trouble } from "../../host";
import type { Detail, GraphPayload, Pass } from "../../wire";
import type { GraphIndex } from "../graph_index";
import { clipped } from "../numbers";
import type { Answer } from "../state";
import { Captures } from "./captures";
import { FunctionFacts } from "./function";
import { History } from "./history";
import { Hooks } from "./hooks";
import { Links } from "./links";
import { Outputs } from "./outputs";
import { Section } from "./parts";
import { SavedVariables } from "./saved";
import type { Unpack } from "./unpack";

interface Props {
  graph: GraphPayload;
  index: GraphIndex;
  answer: Answer;
  /** null where nobody can be asked. */
  onUnpack: Unpack | null;
  selected: number | null;
  pass: Pass | null;
  latest: boolean;
  onSelect(key: number): void;
}

export function Panel({ graph, index, answer, onUnpack, selected, pass, latest, onSelect }: Props) {
  if (selected === null) {
    return (
      <aside class="gw-panel" aria-label="Inspector" data-gw-panel="">
        <Empty hasPasses={pass !== null} />
      </aside>
    );
  }
  const { detail, trouble, asking } = answer;
  return (
    <aside
      class="gw-panel"
      aria-label="Inspector"
      aria-busy={asking}
      data-gw-panel=""
      data-gw-panel-key={selected}
      data-gw-panel-state={detail ? "ready" : trouble ? "failed" : "loading"}
    >
      <div class="gw-panel-body" key={selected}>
        {detail ? (
          <Heading detail={detail} second={index.isSecond(selected)} />
        ) : (
          <BriefHeading graph={graph} selected={selected} />
        )}
        {detail && (
          <Body detail={detail} pass={latest ? null : pass} onUnpack={onUnpack} onSelect={onSelect} />
        )}
        {!detail && !trouble && <Patience />}
        {trouble && <TroubleBox trouble={trouble} stale={detail !== null} />}
      </div>
    </aside>
  );
}

function Empty({ hasPasses }: { hasPasses: boolean }) {
  return (
    <div class="gw-panel-body gw-empty">
      <h3>Nothing selected</h3>
      <p>
        Click a node to see its value, its gradient, what it saved for the backward pass and what its hooks
        saw.
      </p>
      {!hasPasses && (
        <p>
          Gradients appear here and on the wires once you call <code>backward()</code>.
        </p>
      )}
      <dl class="gw-keys">
        <dt>
          <kbd>drag</kbd>
        </dt>
        <dd>move the picture</dd>
        <dt>
          <kbd>Ctrl</kbd> <kbd>wheel</kbd>
        </dt>
        <dd>zoom; the wheel alone does once the picture was clicked</dd>
        <dt>
          <kbd>Tab</kbd> <kbd>←</kbd> <kbd>→</kbd>
        </dt>
        <dd>walk along the wires</dd>
        <dt>
          <kbd>Enter</kbd> <kbd>Esc</kbd>
        </dt>
        <dd>select, clear</dd>
        {hasPasses && (
          <>
            <dt>
              <kbd>[</kbd> <kbd>]</kbd>
            </dt>
            <dd>step through the backward pass</dd>
          </>
        )}
      </dl>
    </div>
  );
}

function BriefHeading({ graph, selected }: { graph: GraphPayload; selected: number }) {
  const op = graph.op[selected] ?? -1;
  const name = graph.names.find(([key]) => key === selected)?.[2][0] ?? "";
  return (
    <Title
      label={graph.labels[op] ?? "Node"}
      names={name ? [name] : []}
      under={graph.ops[op] ?? ""}
      subtitle=""
    />
  );
}

function Heading({ detail, second }: { detail: Detail; second: boolean }) {
  return (
    <>
      <Title label={detail.label} names={detail.names} under={detail.op} subtitle={detail.subtitle} />
      {second && <p class="gw-mute">second order: made by a backward pass</p>}
      {detail.module && (
        <p class="gw-module">
          in <code dir="auto">{detail.module}</code>
        </p>
      )}
      {detail.source && (
        <code class="gw-source" dir="auto">
          {detail.source}
        </code>
      )}
      {detail.problem && <p class="gw-problem">{detail.problem}</p>}
    </>
  );
}

/** A name is shown whole, unless it is longer than any name should be. */
const LONG_NAME = 80;

interface TitleProps {
  label: string;
  names: string[];
  subtitle: string;
  under: string;
}

function Title({ label, names, subtitle, under }: TitleProps) {
  const [name = "", ...others] = names.filter((text) => text !== label);
  return (
    <>
      <h3>
        {label}{" "}
        {name && (
          <code dir="auto" title={name}>
            {clipped(name, LONG_NAME)}
          </code>
        )}
      </h3>
      <p class="gw-mute gw-subtitle">
        {subtitle}
        {subtitle && under && " · "}
        {under && <code>{under}</code>}
      </p>
      {others.length > 0 && (
        <p class="gw-mute gw-subtitle">
          also named{" "}
          {others.map((other, i) => (
            <span key={other}>
              {i > 0 && ", "}
              <code dir="auto" title={other}>
                {clipped(other, LONG_NAME)}
              </code>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

interface BodyProps {
  detail: Detail;
  pass: Pass | null;
  onUnpack: Unpack | null;
  onSelect(key: number): void;
}

function Body({ detail, pass, onUnpack, onSelect }: BodyProps) {
  return (
    <>
      <Outputs detail={detail} pass={pass} />
      {detail.why && (
        <p class="gw-why" data-gw-why="">
          {detail.why}
        </p>
      )}
      <History history={detail.history} start={detail.history_start} />
      <Hooks detail={detail} />
      <FunctionFacts facts={detail.function} />
      <SavedVariables detail={detail} onUnpack={onUnpack} />
      <Captures detail={detail} />
      <Links detail={detail} onSelect={onSelect} />
    </>
  );
}

/** Said only when the answer takes long enough to be noticed. */
function Patience() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class={late ? "gw-mute gw-patience" : "gw-mute gw-patience gw-soon"}>
      Asking the kernel for this node…
    </p>
  );
}

function TroubleBox({ trouble, stale }: { trouble: Trouble; stale: boolean }) {
  return (
    <Section>
      <div class="gw-trouble" role="alert">
        <strong>{trouble.what}</strong> {trouble.remedy}
        {stale && <p>Shown above: what was last known of this node.</p>}
      </div>
    </Section>
  );
}

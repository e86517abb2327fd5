import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Trouble } from "../../host";
import type { Detail, GraphPayload, Pass } from "../../wire";
import type { GraphIndex } from "../graph_index";
import type { PassLinks } from "../passes";
import type { Answer } from "../state";
import { Captures } from "./captures";
import { Empty } from "./empty";
import { FormulaSection } from "./formula";
import { FunctionFacts } from "./function";
import { BriefHeading, Heading } from "./heading";
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
  /** The next backward pass will be seen. */
  watching: boolean;
  links: PassLinks;
  /** Before all that is known of the node. */
  above: ComponentChildren;
  onSelect(key: number): void;
}

export function Panel(props: Props) {
  const { graph, index, answer, onUnpack, selected, pass, latest, links, onSelect } = props;
  if (selected === null) {
    return (
      <aside class="gw-panel" aria-label="Inspector" data-gw-panel="">
        <Empty hasPasses={pass !== null} watching={props.watching} />
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
      {props.above}
      <div class="gw-panel-body" key={selected}>
        {detail ? (
          <Heading detail={detail} second={index.isSecond(selected)} />
        ) : (
          <BriefHeading graph={graph} selected={selected} />
        )}
        {detail && (
          <Body
            detail={detail}
            index={index}
            pass={latest ? null : pass}
            links={links}
            onUnpack={onUnpack}
            onSelect={onSelect}
          />
        )}
        {!detail && !trouble && <Patience />}
        {trouble && <TroubleBox trouble={trouble} stale={detail !== null} />}
      </div>
    </aside>
  );
}

interface BodyProps {
  detail: Detail;
  index: GraphIndex;
  pass: Pass | null;
  links: PassLinks;
  onUnpack: Unpack | null;
  onSelect(key: number): void;
}

function Body({ detail, index, pass, links, onUnpack, onSelect }: BodyProps) {
  return (
    <>
      <Outputs detail={detail} pass={pass} />
      {detail.why && (
        <p class="gw-why" data-gw-why="">
          {detail.why}
        </p>
      )}
      <FormulaSection formula={detail.formula} />
      <History history={detail.history} start={detail.history_start} />
      <Hooks detail={detail} />
      <FunctionFacts facts={detail.function} />
      <SavedVariables detail={detail} onUnpack={onUnpack} />
      <Captures detail={detail} links={links} />
      <Links detail={detail} index={index} onSelect={onSelect} />
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

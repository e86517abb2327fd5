import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Trouble } from "../../host";
import type { Detail, GraphPayload, Pass } from "../../wire";
import { CellFacts } from "../cells/facts";
import type { CellView } from "../cells/use_cells";
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
import { type Coming, comingOf, Outputs } from "./outputs";
import { Section } from "./parts";
import { SavedVariables } from "./saved";
import type { Unpack } from "./unpack";
import { WhyBox } from "./why";

interface Props {
  graph: GraphPayload;
  index: GraphIndex;
  answer: Answer;
  /** null where nobody can be asked. */
  onUnpack: Unpack | null;
  selected: number | null;
  /** The cell whose end is on view; null: now. */
  cell: CellView | null;
  pass: Pass | null;
  /** How many of its steps the player has taken; null for the pass as it ended. */
  taken: number | null;
  latest: boolean;
  /** The next backward pass will be seen. */
  watching: boolean;
  links: PassLinks;
  /** Shown at the end. */
  actions: ComponentChildren;
  /** Before all that is known of the node. */
  above: ComponentChildren;
  onSelect(key: number): void;
}

export function Panel(props: Props) {
  const { graph, index, answer, onUnpack, selected, pass, taken, latest, links, onSelect } = props;
  if (selected === null) {
    return (
      <aside class="gw-panel" aria-label="Inspector" data-gw-panel="">
        <Empty hasPasses={pass !== null} watching={props.watching} folds={graph.groups.id.length > 0} />
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
        {props.cell && <CellFacts cell={props.cell} selected={selected} />}
        {detail && (
          <Body
            detail={detail}
            index={index}
            pass={latest ? null : pass}
            coming={pass && taken !== null ? comingOf(pass, selected, taken) : null}
            links={links}
            onUnpack={onUnpack}
            onSelect={onSelect}
          />
        )}
        {!detail && !trouble && <Patience />}
        {trouble && <TroubleBox trouble={trouble} stale={detail !== null} />}
        {props.actions}
      </div>
    </aside>
  );
}

interface BodyProps {
  detail: Detail;
  index: GraphIndex;
  pass: Pass | null;
  coming: Coming | null;
  links: PassLinks;
  onUnpack: Unpack | null;
  onSelect(key: number): void;
}

function Body({ detail, index, pass, coming, links, onUnpack, onSelect }: BodyProps) {
  return (
    <>
      <Outputs detail={detail} pass={pass} coming={coming} />
      <WhyBox why={detail.why} />
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

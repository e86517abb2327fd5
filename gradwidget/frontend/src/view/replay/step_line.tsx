import type { GraphIndex } from "../graph_index";
import { clipped } from "../numbers";
import { headline, type Part, sentence, spoken, type Working } from "./sentence";
import type { Replay } from "./use_replay";

interface Props {
  replay: Replay;
  index: GraphIndex;
  working: Working;
  onSelect(key: number): void;
}

const LONG_NAME = 32;

export function StepLine({ replay, index, working, onSelect }: Props) {
  const { run, position } = replay;
  const parts = sentence(run, position, index, working);
  const head = headline(run, position);
  const all = spoken(parts);
  return (
    <>
      <p class="gw-step-line" title={all} data-gw-step-line="">
        <strong>{head}</strong>
        <span class="gw-said">
          {parts.map((part, i) => (
            <PartText key={i} part={part} onSelect={onSelect} />
          ))}
        </span>
      </p>
      <p class="gw-spoken" aria-live="polite">
        {position.ended ? "" : `${head}: ${all}`}
      </p>
    </>
  );
}

function PartText({ part, onSelect }: { part: Part; onSelect(key: number): void }) {
  if ("text" in part) return <span>{part.text}</span>;
  if ("number" in part) return <span class="gw-num gw-tone-gradient">{part.number}</span>;
  const { key, label, name } = part;
  return (
    <button type="button" class="gw-mention" data-gw-mention={key} onClick={() => onSelect(key)}>
      {label}
      {label && name && " "}
      {name && <code dir="auto">{clipped(name, LONG_NAME)}</code>}
    </button>
  );
}

import type { Detail } from "../../wire";
import type { GraphIndex } from "../graph_index";
import { Section } from "./parts";

interface Props {
  detail: Detail;
  index: GraphIndex;
  onSelect(key: number): void;
}

/** The neighbours, to walk the graph without the picture. */
export function Links({ detail, index, onSelect }: Props) {
  if (detail.inputs.length === 0 && detail.consumers.length === 0) return null;
  return (
    <Section>
      <LinkRow label="inputs" links={detail.inputs} index={index} onSelect={onSelect} />
      <LinkRow label="used by" links={detail.consumers} index={index} onSelect={onSelect} />
    </Section>
  );
}

interface RowProps extends Omit<Props, "detail"> {
  label: string;
  links: [number, string][];
}

function LinkRow({ label, links, index, onSelect }: RowProps) {
  if (links.length === 0) return null;
  return (
    <div class="gw-links">
      <span class="gw-mute">{label}</span>
      <span class="gw-link-list">
        {links.map(([key, text], i) =>
          key < 0 ? (
            <span key={i} class="gw-link gw-link-cut gw-clip" dir="auto" title={`${text}: needs no gradient`}>
              {text || "constant"}
            </span>
          ) : (
            <Link key={i} target={key} text={nameOf(key, text, index)} onSelect={onSelect} />
          ),
        )}
      </span>
    </div>
  );
}

/** The name of the very output, where the kernel knows one; else a number tells one "Mul" from the next. */
function nameOf(key: number, text: string, index: GraphIndex): string {
  return index.naming(key).name && text ? text : index.called(key);
}

function Link({ target, text, onSelect }: { target: number; text: string; onSelect(key: number): void }) {
  return (
    <button
      type="button"
      class="gw-link gw-clip"
      dir="auto"
      title={text}
      data-gw-link={target}
      onClick={() => onSelect(target)}
    >
      {text}
    </button>
  );
}

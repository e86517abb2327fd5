import type { Detail } from "../../wire";
import { clipped } from "../numbers";
import { Section } from "./parts";

interface Props {
  detail: Detail;
  onSelect(key: number): void;
}

const LONG = 36;

/** The neighbours, to walk the graph without the picture. */
export function Links({ detail, onSelect }: Props) {
  if (detail.inputs.length === 0 && detail.consumers.length === 0) return null;
  return (
    <Section>
      <LinkRow label="inputs" links={detail.inputs} onSelect={onSelect} />
      <LinkRow label="used by" links={detail.consumers} onSelect={onSelect} />
    </Section>
  );
}

function LinkRow({
  label,
  links,
  onSelect,
}: {
  label: string;
  links: [number, string][];
  onSelect(key: number): void;
}) {
  if (links.length === 0) return null;
  return (
    <div class="gw-links">
      <span class="gw-mute">{label}</span>
      <span>
        {links.map(([key, text], i) =>
          key < 0 ? (
            <span key={i} class="gw-link gw-link-cut" dir="auto" title="needs no gradient">
              {clipped(text, LONG) || "constant"}
            </span>
          ) : (
            <button
              key={i}
              type="button"
              class="gw-link"
              dir="auto"
              title={text}
              data-gw-link={key}
              onClick={() => onSelect(key)}
            >
              {clipped(text, LONG) || `node ${key}`}
            </button>
          ),
        )}
      </span>
    </div>
  );
}

import type { Direction, PlacedEdge } from "../scene";
import { headPath, startHeadPath, wirePath } from "./curve";
import type { Label } from "./labels";
import { LABEL_HEIGHT, TRIANGLE } from "./measures";

interface WiresProps {
  edges: PlacedEdge[];
  direction: Direction;
}

export const isDashed = (edge: PlacedEdge): boolean =>
  /^(cut|more):/.test(edge.from) || edge.to.startsWith("more:");

export function Wires({ edges, direction }: WiresProps) {
  return (
    <>
      {edges.map((edge) => (
        <path
          key={edge.id}
          class={isDashed(edge) ? "gw-wire gw-dashed" : "gw-wire"}
          d={wirePath(edge.points, direction)}
        />
      ))}
      <path class="gw-head" d={edges.map((edge) => headPath(edge.points, direction)).join("")} />
    </>
  );
}

/** Wires that hand gradients on now: against the direction of the values, to the box they start from. */
export function HandingWires({ edges, direction }: WiresProps) {
  return (
    <g class="gw-wires gw-handing">
      {edges.map((edge) => (
        <path
          key={edge.id}
          class="gw-wire"
          d={wirePath(edge.points, direction)}
          data-gw-handing={`${edge.from}/${edge.to}`}
        />
      ))}
      <path class="gw-head" d={edges.map((edge) => startHeadPath(edge.points, direction)).join("")} />
    </g>
  );
}

const BASELINE = LABEL_HEIGHT - 3.5;

export function Labels({ labels, direction }: { labels: Label[]; direction: Direction }) {
  return (
    <>
      {labels.map((label) => (
        <LabelText key={`${label.from}/${label.output}/${label.tone}`} label={label} direction={direction} />
      ))}
    </>
  );
}

function LabelText({ label, direction }: { label: Label; direction: Direction }) {
  const { box, tone, text, full, key } = label;
  const gradient = tone === "gradient";
  const mark = gradient ? { "data-gw-gradient": key } : { "data-gw-value": key };
  return (
    <g
      class={`gw-label gw-tone-${tone}`}
      transform={`translate(${box.x} ${box.y})`}
      data-gw-output={label.output}
      {...mark}
    >
      <title>{`${gradient ? "gradient" : "value"} ${full}`}</title>
      {gradient && (
        <path class="gw-triangle" d={direction === "right" ? "M0 7.5L6.5 4V11Z" : "M0 11H7L3.5 4.5Z"} />
      )}
      <text x={gradient ? TRIANGLE : 0} y={BASELINE}>
        {text}
      </text>
    </g>
  );
}

import type { Detail, GraphPayload } from "../../wire";
import { clipped } from "../numbers";

export function BriefHeading({ graph, selected }: { graph: GraphPayload; selected: number }) {
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

export function Heading({ detail, second }: { detail: Detail; second: boolean }) {
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

import type { Detail, GraphPayload } from "../../wire";
import { Name } from "./long";

export function BriefHeading({ graph, selected }: { graph: GraphPayload; selected: number }) {
  const op = graph.op[selected] ?? -1;
  const name = graph.names.find(([key]) => key === selected)?.[2][0] ?? "";
  return (
    <Title
      node={selected}
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
      <Title
        node={detail.key}
        label={detail.label}
        names={detail.names}
        under={detail.op}
        subtitle={detail.subtitle}
      />
      {second && <p class="gw-mute">second order: made by a backward pass</p>}
      {detail.module && (
        <p class="gw-module" data-gw-module="" title={detail.module_types.join(" › ")}>
          in <Name text={detail.module} />
          {detail.module_types.length > 0 && ` · ${detail.module_types.at(-1)}`}
        </p>
      )}
      {detail.source && (
        <div class="gw-source" data-gw-source="">
          <span class="gw-mute">{detail.source}</span>
          {detail.code && <code dir="auto">{detail.code}</code>}
        </div>
      )}
      {detail.made_note && (
        <p class="gw-mute gw-small" data-gw-made-note="">
          {detail.made_note}
        </p>
      )}
      {detail.problem && <p class="gw-problem">{detail.problem}</p>}
    </>
  );
}

interface TitleProps {
  node: number;
  label: string;
  names: string[];
  subtitle: string;
  under: string;
}

function Title({ node, label, names, subtitle, under }: TitleProps) {
  const [name = "", ...others] = names.filter((text) => text !== label);
  return (
    <>
      <h3>{name ? <Named label={label} name={name} /> : `${label}, node ${node}`}</h3>
      <p class="gw-mute gw-subtitle">
        {subtitle}
        {subtitle && under && " · "}
        {under && <code>{under}</code>}
      </p>
      {others.length > 0 && (
        <p class="gw-mute gw-two-lines" title={others.join("\n")}>
          also named{" "}
          {others.map((other, i) => (
            <span key={other}>
              {i > 0 && ", "}
              <code dir="auto">{other}</code>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

function Named({ label, name }: { label: string; name: string }) {
  return (
    <span class="gw-two-lines" title={name}>
      {label} <code dir="auto">{name}</code>
    </span>
  );
}

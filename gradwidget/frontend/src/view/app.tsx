import type { Host } from "../host";
import { Figure } from "./figure";
import { useHost } from "./state";

interface Props {
  host: Host;
  signal: AbortSignal;
  root: HTMLElement;
  mark(name: string, value: string): void;
}

export function App({ host, signal, root, mark }: Props) {
  useHost(host);
  if (host.graph) return <Figure host={host} graph={host.graph} signal={signal} root={root} mark={mark} />;
  if (host.problem) {
    return (
      <p class="gw-wait" role="alert">
        {host.problem}
      </p>
    );
  }
  return <p class="gw-wait">Reading the graph…</p>;
}

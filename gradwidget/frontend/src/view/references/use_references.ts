import { useEffect, useState } from "preact/hooks";
import { asTrouble, type Host, type Trouble } from "../../host";
import type { ReferencesPayload } from "../../wire";

export interface Named {
  found: ReferencesPayload | null;
  trouble: Trouble | null;
}

/** The named tensors while somebody looks: what was sent along at once, then the kernel's word. */
export function useReferences(host: Host, open: boolean): Named {
  const [named, setNamed] = useState<Named>({ found: null, trouble: null });
  useEffect(() => {
    if (!open) return;
    const life = new AbortController();
    let count = 0;
    const ask = () => {
      count += 1;
      const mine = count;
      const settle = (next: Named) => {
        if (!life.signal.aborted && mine === count) setNamed(next);
      };
      settle({ found: host.references, trouble: null });
      host.askReferences().then(
        (found) => settle({ found, trouble: null }),
        (error) => settle({ found: host.references, trouble: host.references ? null : asTrouble(error) }),
      );
    };
    host.subscribe(life.signal, (topic) => {
      if (topic === "live" || topic === "graph" || topic === "references" || topic === "kernel") ask();
    });
    ask();
    return () => life.abort();
  }, [host, open]);
  return named;
}

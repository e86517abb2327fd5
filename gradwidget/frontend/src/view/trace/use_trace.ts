import { useEffect, useState } from "preact/hooks";
import { asTrouble, type Host, type Trouble } from "../../host";
import type { TracePayload } from "../../wire";

export interface Traced {
  trace: TracePayload | null;
  trouble: Trouble | null;
}

/** The trace: what was sent along at once, else the kernel's word; asked for while its tab is open. */
export function useTrace(host: Host, open: boolean): Traced {
  const [traced, setTraced] = useState<Traced>({ trace: null, trouble: null });
  useEffect(() => {
    if (!open) return;
    const life = new AbortController();
    let count = 0;
    const ask = () => {
      count += 1;
      const mine = count;
      const settle = (next: Traced) => {
        if (!life.signal.aborted && mine === count) setTraced(next);
      };
      host.trace().then(
        (trace) => settle({ trace, trouble: null }),
        (error) => settle({ trace: null, trouble: asTrouble(error) }),
      );
    };
    host.subscribe(life.signal, (topic) => {
      if (topic === "trace" || topic === "live" || topic === "graph") ask();
    });
    ask();
    return () => life.abort();
  }, [host, open]);
  return traced;
}

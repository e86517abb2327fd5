import { useState } from "preact/hooks";
import { asTrouble, type Host, type Trouble } from "../host";
import type { Probe } from "../wire";
import { Ask } from "./ask";
import { CloseIcon, ProbeIcon } from "./icons";

const WHAT = "Run a backward pass now and show its gradients. Every .grad stays as it is.";

export type ProbeState = "idle" | "asking" | "running" | { trouble: Trouble };

export interface ProbeControl {
  offered: Probe | null;
  state: ProbeState;
  press(): void;
  run(): void;
  dismiss(): void;
}

export function useProbe(host: Host): ProbeControl {
  const [state, setState] = useState<ProbeState>("idle");
  const probe = host.live?.probe;
  const run = () => {
    setState("running");
    host.probe().then(
      () => setState("idle"),
      (error) => setState({ trouble: asTrouble(error) }),
    );
  };
  return {
    offered: probe?.possible && !host.silence ? probe : null,
    state,
    run,
    // A note tells what else would run: that is asked first.
    press: () => (probe?.note ? setState("asking") : run()),
    dismiss: () => setState("idle"),
  };
}

/** Beside the passes there is little room for its name. */
export function ProbeButton({ control, beside }: { control: ProbeControl; beside: boolean }) {
  const { offered, state, press } = control;
  if (!offered && state !== "running") return null;
  const running = state === "running";
  return (
    <button
      type="button"
      class="gw-button"
      title={[WHAT, offered?.note].filter(Boolean).join("\n")}
      aria-label={running ? "The probe is running" : "Probe"}
      aria-disabled={running}
      aria-busy={running}
      data-gw-probe={running ? "running" : "ready"}
      onClick={() => !running && press()}
    >
      <ProbeIcon /> <span class={beside && !running ? "gw-word" : ""}>{running ? "running…" : "probe"}</span>
    </button>
  );
}

export function ProbeStrip({ control }: { control: ProbeControl }) {
  const { state, offered, run, dismiss } = control;
  if (state === "asking" && offered)
    return (
      <div class="gw-strip" data-gw-probe-ask="">
        <Ask yes="run it" onYes={run} onNo={dismiss}>
          Probe runs a backward pass and leaves every <code>.grad</code> as it is. {offered.note} Run it?
        </Ask>
      </div>
    );
  if (typeof state === "string") return null;
  return (
    <div class="gw-strip gw-strip-warn" role="alert" data-gw-probe-trouble="">
      <span>
        <strong>{state.trouble.what}</strong> {state.trouble.remedy}
      </span>
      <button type="button" class="gw-close" aria-label="Close this note" onClick={dismiss}>
        <CloseIcon />
      </button>
    </div>
  );
}

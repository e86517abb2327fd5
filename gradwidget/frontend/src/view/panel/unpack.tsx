import { useState } from "preact/hooks";
import { asTrouble, type Trouble } from "../../host";
import type { Saved } from "../../wire";
import { Ask } from "../ask";

export type Unpack = (name: string) => Promise<void>;

type State = "idle" | "asking" | "running" | { trouble: Trouble };

/** Unpacking runs the user's own code: what it runs is said first. */
export function UnpackButton({ saved, onUnpack }: { saved: Saved; onUnpack: Unpack }) {
  const [state, setState] = useState<State>("idle");
  const run = () => {
    setState("running");
    onUnpack(saved.name).then(
      () => setState("idle"),
      (error) => setState({ trouble: asTrouble(error) }),
    );
  };
  if (state === "asking")
    return (
      <Ask yes="run it" onYes={run} onNo={() => setState("idle")}>
        {saved.note || "Unpacking runs the hook that packed this tensor."} Run it?
      </Ask>
    );
  const running = state === "running";
  return (
    <>
      <p class="gw-unpack">
        <button
          type="button"
          class="gw-small-button"
          aria-disabled={running}
          data-gw-unpack={saved.name}
          onClick={() => !running && setState("asking")}
        >
          {running ? "unpacking…" : "unpack"}
        </button>
      </p>
      {typeof state !== "string" && (
        <p class="gw-trouble" role="alert">
          <strong>{state.trouble.what}</strong> {state.trouble.remedy}
        </p>
      )}
    </>
  );
}

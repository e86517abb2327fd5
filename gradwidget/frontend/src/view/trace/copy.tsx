import { useEffect, useRef, useState } from "preact/hooks";

const SHOWN_MS = 1200;

/** Copies a text; where the browser refuses, it shows the text to be copied by hand. */
export function CopyButton({ name, text }: { name: string; text: string }) {
  const [state, setState] = useState<"" | "copied" | "refused">("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState("copied");
      timer.current = setTimeout(() => setState(""), SHOWN_MS);
    } catch {
      setState("refused");
    }
  };
  return (
    <>
      <button
        type="button"
        class="gw-button"
        title={`Copy the trace as ${name}`}
        data-gw-copy={name}
        onClick={copy}
      >
        {state === "copied" ? "copied" : name}
      </button>
      {state === "refused" && (
        <textarea class="gw-by-hand" readOnly rows={6} aria-label={`The trace as ${name}`} value={text} />
      )}
    </>
  );
}

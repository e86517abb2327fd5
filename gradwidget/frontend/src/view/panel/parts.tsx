import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Section({
  title,
  aside,
  children,
}: {
  title?: string;
  aside?: string;
  children: ComponentChildren;
}) {
  return (
    <section class="gw-section">
      {title && (
        <div class="gw-row">
          <h4 class="gw-clip" dir="auto" title={title}>
            {title}
          </h4>
          {aside && (
            <span class="gw-mute gw-clip" dir="auto" title={aside}>
              {aside}
            </span>
          )}
        </div>
      )}
      {children}
    </section>
  );
}

interface RowProps {
  label: ComponentChildren;
  /** One above the other, not side by side. */
  stacked?: boolean;
  children: ComponentChildren;
}

export function Row({ label, stacked = false, children }: RowProps) {
  return (
    <div class={stacked ? "gw-row gw-stacked" : "gw-row"}>
      <span class="gw-label-cell">{label}</span>
      <span class="gw-value-cell">{children}</span>
    </div>
  );
}

export function Chip({ text, tone = "" }: { text: string; tone?: string }) {
  return (
    <span class={`gw-chip gw-clip ${tone && `gw-chip-${tone}`}`} dir="auto" title={text}>
      {text}
    </span>
  );
}

export function Note({ children }: { children: ComponentChildren }) {
  return children ? <p class="gw-mute gw-small">{children}</p> : null;
}

const COPIED_MS = 1200;

/** A number to read; the exact one on hover, copied by a click. */
export function Figures({ text, exact, tone = "" }: { text: string; exact: string; tone?: string }) {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const classes = `gw-num ${tone && `gw-tone-${tone}`}`;
  if (!exact || !navigator.clipboard) {
    return (
      <span class={classes} title={exact} dir="auto">
        {text}
      </span>
    );
  }
  const copy = () => {
    navigator.clipboard.writeText(exact).then(
      () => {
        setCopied(true);
        timer.current = setTimeout(() => setCopied(false), COPIED_MS);
      },
      // Refused, as inside some frames: the number stays on hover, to be copied by hand.
      () => setCopied(false),
    );
  };
  return (
    <button type="button" class={classes} title={`${exact}\nclick to copy`} onClick={copy}>
      {copied ? "copied" : text}
    </button>
  );
}

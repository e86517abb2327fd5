import type { ComponentChildren } from "preact";

interface Props {
  children: ComponentChildren;
  yes: string;
  onYes(): void;
  onNo(): void;
}

/** Says what would run, and waits for a word. */
export function Ask({ children, yes, onYes, onNo }: Props) {
  return (
    <div class="gw-ask" role="group" aria-label="Please confirm">
      <span>{children}</span>
      <span class="gw-answers">
        <button type="button" class="gw-small-button gw-yes" data-gw-yes="" onClick={onYes}>
          {yes}
        </button>
        <button type="button" class="gw-small-button" data-gw-no="" onClick={onNo}>
          cancel
        </button>
      </span>
    </div>
  );
}

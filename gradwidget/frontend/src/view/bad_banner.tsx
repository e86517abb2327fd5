import type { Bad } from "../wire";

export function BadBanner({ bad, onJump }: { bad: Bad; onJump(key: number): void }) {
  return (
    <div class="gw-strip gw-strip-bad" role="status" data-gw-bad="banner">
      <span>
        <strong class="gw-bad-word">{bad.kind}</strong> {bad.text}
      </span>
      <button
        type="button"
        class="gw-small-button"
        data-gw-bad-jump={bad.key}
        onClick={() => onJump(bad.key)}
      >
        jump to it
      </button>
    </div>
  );
}

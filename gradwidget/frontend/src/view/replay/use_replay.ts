import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Host } from "../../host";
import type { Pass } from "../../wire";
import { type Move, moved, moveOf, type Position, positionOf, tempo } from "./position";
import { Run } from "./run";

export interface Replay {
  run: Run;
  position: Position;
  worker: number | null;
  playing: boolean;
  speed: number;
  move(move: Move): void;
  stepTo(step: number | null): void;
  toggle(): void;
  setSpeed(speed: number): void;
}

/** The step is shared with Python; that it plays, and how fast, is this view's own. */
export function useReplay(host: Host, pass: Pass | null): Replay | null {
  const run = useMemo(() => pass && new Run(pass), [pass]);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const steps = run?.steps ?? 0;
  const { at, ended } = positionOf(host.step, steps);
  const number = pass?.number ?? 0;

  useEffect(() => () => setPlaying(false), [number]);
  // At once, not after the next paint: a hidden page does not paint.
  useLayoutEffect(() => {
    if (!playing) return;
    const { pause, stride } = tempo(steps, speed);
    const timer = setInterval(() => {
      const now = positionOf(host.step, steps);
      if (!now.ended) host.stepTo(Math.min(steps, now.at + stride));
      if (now.at + stride >= steps) setPlaying(false);
    }, pause);
    return () => clearInterval(timer);
  }, [host, playing, speed, steps]);

  return useMemo(() => {
    if (!run) return null;
    const position = { at, ended };
    const stepTo = (step: number | null) => {
      setPlaying(false);
      host.stepTo(step);
    };
    return {
      run,
      position,
      worker: ended ? null : run.worker(at),
      playing,
      speed,
      stepTo,
      // From where it is now: a second key may come before the first one is drawn.
      move: (move) => stepTo(moved(positionOf(host.step, run.steps), run.steps, move)),
      toggle: () => {
        if (!playing && at >= run.steps) host.stepTo(0);
        setPlaying(!playing);
      },
      setSpeed,
    };
  }, [host, run, at, ended, playing, speed]);
}

/** `[` and `]` step wherever in the widget the focus is. */
export function useStepKeys(root: HTMLElement, replay: Replay | null): void {
  const press = useCallback(
    (event: KeyboardEvent) => {
      const move = moveOf(event);
      if (!move || !replay) return;
      event.preventDefault();
      event.stopPropagation();
      replay.move(move);
    },
    [replay],
  );
  useEffect(() => {
    root.addEventListener("keydown", press);
    return () => root.removeEventListener("keydown", press);
  }, [root, press]);
}

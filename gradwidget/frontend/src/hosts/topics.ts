import type { Topic } from "../host";

/** Listeners that live as long as their signal. */
export class Topics {
  private readonly listeners = new Set<(topic: Topic) => void>();

  subscribe(signal: AbortSignal, listener: (topic: Topic) => void): void {
    if (signal.aborted) return;
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener), { once: true });
  }

  publish(topic: Topic): void {
    for (const listener of [...this.listeners]) listener(topic);
  }
}

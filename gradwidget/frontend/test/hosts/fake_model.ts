import { gzipSync } from "node:zlib";
import type { AnyModel } from "../../src/hosts/model";

type Listener = (...args: unknown[]) => void;

export const packed = (value: unknown) =>
  new DataView(new Uint8Array(gzipSync(JSON.stringify(value))).buffer);

/** A model as anywidget hands it out, and its kernel's end. */
export class FakeModel implements AnyModel {
  readonly sent: { id: string; params: { key: number } }[] = [];
  saved = 0;
  widget_manager: unknown;
  readonly listeners = new Map<string, Set<Listener>>();

  constructor(private readonly state: Record<string, unknown>) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    this.emit(`change:${name}`, this);
  }

  save_changes(): void {
    this.saved += 1;
  }

  send(content: unknown): void {
    this.sent.push(content as { id: string; params: { key: number } });
  }

  on(event: string, listener: Listener): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(listener));
  }

  off(event: string, listener: Listener): void {
    this.listeners.get(event)?.delete(listener);
  }

  emit(event: string, ...args: unknown[]): void {
    for (const listener of this.listeners.get(event) ?? []) listener(...args);
  }

  count(): number {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

import { Trouble } from "../host";
import type { Call, Detail, Reply } from "../wire";

export interface Wire {
  send(message: unknown): void;
  listen(signal: AbortSignal, listener: (message: unknown) => void): void;
}

const isReply = (message: unknown): message is Reply =>
  typeof message === "object" && message !== null && (message as Reply).kind === "reply";

interface Waiting {
  resolve(detail: Detail): void;
  reject(trouble: Trouble): void;
  timer: ReturnType<typeof setTimeout>;
}

export const TIMEOUT_MS = 20_000;

/** Calls to the kernel. Replies reach every page of a model, so ids start with a name of our own. */
export class Rpc {
  private readonly waiting = new Map<string, Waiting>();
  private readonly prefix = Math.random().toString(36).slice(2, 10);
  private count = 0;

  constructor(
    private readonly wire: Wire,
    signal: AbortSignal,
  ) {
    wire.listen(signal, (message) => this.answer(message));
    signal.addEventListener("abort", () => this.drop(), { once: true });
  }

  details(key: number): Promise<Detail> {
    this.count += 1;
    const call: Call = {
      kind: "call",
      id: `${this.prefix}.${this.count}`,
      method: "details",
      params: { key },
    };
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(call.id);
        reject(
          new Trouble(
            "The kernel is busy or gone.",
            "It answers once the running cell is done; then click again.",
          ),
        );
      }, TIMEOUT_MS);
      this.waiting.set(call.id, { resolve, reject, timer });
      this.wire.send(call);
    });
  }

  private answer(message: unknown): void {
    if (!isReply(message)) return;
    const waiting = this.waiting.get(message.id);
    if (!waiting) return;
    this.waiting.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.result) waiting.resolve(message.result);
    else if (message.error) waiting.reject(new Trouble(message.error.cause, message.error.remedy));
    else
      waiting.reject(
        new Trouble("The kernel sent an empty answer.", "Restart the kernel and run the cell again."),
      );
  }

  private drop(): void {
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new Trouble("The widget was closed.", ""));
    }
    this.waiting.clear();
  }
}

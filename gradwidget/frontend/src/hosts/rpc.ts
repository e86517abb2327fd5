import { Trouble } from "../host";
import type { Call, Detail, ReferencesPayload, Reply, TracePayload } from "../wire";
import { legible } from "./legible";

export interface Wire {
  send(message: unknown): void;
  listen(signal: AbortSignal, listener: (message: unknown) => void): void;
}

const isReply = (message: unknown): message is Reply =>
  typeof message === "object" && message !== null && (message as Reply).kind === "reply";

type Answered = Detail | ReferencesPayload | TracePayload | null;

interface Waiting {
  resolve(result: Answered): void;
  reject(trouble: Trouble): void;
  timer: ReturnType<typeof setTimeout>;
}

export const TIMEOUT_MS = 20_000;
/** For calls that run the user's own code. */
export const LONG_TIMEOUT_MS = 600_000;

const BUSY = new Trouble(
  "The kernel is busy or gone.",
  "It answers once the running cell is done; then click again.",
);

const GONE = new Trouble("The kernel can't be reached.", "Run the cell again once there is one.");

type Asked = Call extends infer One ? (One extends Call ? Pick<One, "method" | "params"> : never) : never;

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
    signal.addEventListener("abort", () => this.fail(new Trouble("The widget was closed.", "")), {
      once: true,
    });
  }

  async details(key: number): Promise<Detail> {
    return filled(await this.ask<Detail>({ method: "details", params: { key } }, TIMEOUT_MS));
  }

  async unpack(key: number, name: string): Promise<Detail> {
    return filled(await this.ask<Detail>({ method: "unpack", params: { key, name } }, LONG_TIMEOUT_MS));
  }

  async trace(): Promise<TracePayload> {
    return filled(await this.ask<TracePayload>({ method: "trace", params: {} }, TIMEOUT_MS));
  }

  async probe(): Promise<void> {
    await this.ask({ method: "probe", params: {} }, LONG_TIMEOUT_MS);
  }

  async references(): Promise<ReferencesPayload> {
    return filled(await this.ask<ReferencesPayload>({ method: "references", params: {} }, TIMEOUT_MS));
  }

  private ask<T extends Answered>(asked: Asked, limit: number): Promise<T | null> {
    this.count += 1;
    const call: Call = { kind: "call", id: `${this.prefix}.${this.count}`, ...asked };
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(call.id);
        reject(BUSY);
      }, limit);
      this.waiting.set(call.id, { resolve: (result) => resolve(result as T | null), reject, timer });
      try {
        this.wire.send(call);
      } catch {
        this.fail(GONE);
      }
    });
  }

  private answer(message: unknown): void {
    if (!isReply(message)) return;
    const waiting = this.waiting.get(message.id);
    if (!waiting) return;
    this.waiting.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.error)
      waiting.reject(new Trouble(legible(message.error.cause), legible(message.error.remedy)));
    else waiting.resolve(message.result ?? null);
  }

  /** Nobody will answer any more. */
  fail(trouble: Trouble): void {
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(trouble);
    }
    this.waiting.clear();
  }
}

function filled<T>(result: T | null): T {
  if (result) return result;
  throw new Trouble("The kernel sent an empty answer.", "Restart the kernel and run the cell again.");
}

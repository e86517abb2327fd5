/** Whether the kernel that made a model still stands. What is asked for here differs from host to host: all of it may lack. */
interface Signal<Value> {
  connect(slot: (sender: unknown, value: Value) => void): void;
  disconnect(slot: (sender: unknown, value: Value) => void): void;
}

interface Connection {
  status?: string;
  isDisposed?: boolean;
  statusChanged?: Signal<string>;
  disposed?: Signal<void>;
}

export interface Manager {
  kernel?: Connection | null;
}

const ENDED = ["restarting", "autorestarting", "terminating", "dead"];

/** Calls `gone` once when the kernel ends, is exchanged, or begins anew: whatever was made in it is lost then. */
export function watchKernel(manager: Manager | undefined, signal: AbortSignal, gone: () => void): void {
  const kernel = manager?.kernel;
  if (!kernel || signal.aborted) return;
  const end = () => {
    leave();
    gone();
  };
  const hear = (_: unknown, status: string) => {
    if (ENDED.includes(status)) end();
  };
  const leave = () => {
    kernel.statusChanged?.disconnect(hear);
    kernel.disposed?.disconnect(end);
  };
  kernel.statusChanged?.connect(hear);
  kernel.disposed?.connect(end);
  signal.addEventListener("abort", leave, { once: true });
}

/** What a model, or a model of the same kernel, says of its own line; null where it says nothing. */
export function commLive(source: unknown): boolean | null {
  if (typeof source !== "object" || source === null) return null;
  const model = source as { comm_live?: unknown; comm?: unknown };
  if (typeof model.comm_live === "boolean") return model.comm_live;
  if ("comm" in model) return Boolean(model.comm);
  return null;
}

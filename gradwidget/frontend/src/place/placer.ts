import makePlace from "closed:./engine.ts";
import type { Direction, Placed, Scene } from "../scene";
import { work } from "./work";

const place = makePlace();

/** Below this many nodes a worker takes longer to start than the layout takes. */
const SMALL = 200;

interface Answer {
  id: number;
  placed?: Placed;
  error?: string;
}

interface Job {
  scene: Scene;
  direction: Direction;
  resolve(placed: Placed): void;
  reject(error: Error): void;
}

/** Lays out scenes, big ones in a worker; on the main thread where a page forbids blob workers. */
export class Placer {
  private worker: Worker | null = null;
  private forbidden = false;
  private readonly jobs = new Map<number, Job>();
  private count = 0;

  constructor(signal: AbortSignal) {
    signal.addEventListener("abort", () => this.stop(), { once: true });
  }

  place(scene: Scene, direction: Direction): Placed | Promise<Placed> {
    if (scene.nodes.length < SMALL) return place(scene, direction);
    const worker = this.start();
    if (!worker) return place(scene, direction);
    this.count += 1;
    const id = this.count;
    return new Promise((resolve, reject) => {
      this.jobs.set(id, { scene, direction, resolve, reject });
      worker.postMessage({ id, scene, direction });
    });
  }

  private start(): Worker | null {
    if (this.worker || this.forbidden) return this.worker;
    const url = URL.createObjectURL(new Blob([`(${work})((${makePlace})())`], { type: "text/javascript" }));
    try {
      const worker = new Worker(url);
      worker.onmessage = (event: MessageEvent<Answer>) => this.finish(event.data);
      // A policy that forbids the blob says so only here.
      worker.onerror = () => this.fallBack();
      this.worker = worker;
    } catch {
      this.forbidden = true;
    } finally {
      URL.revokeObjectURL(url);
    }
    return this.worker;
  }

  private finish({ id, placed, error }: Answer): void {
    const job = this.jobs.get(id);
    this.jobs.delete(id);
    if (placed) job?.resolve(placed);
    else job?.reject(new Error(error ?? "The layout gave no answer."));
  }

  private fallBack(): void {
    this.forbidden = true;
    this.worker?.terminate();
    this.worker = null;
    const jobs = [...this.jobs.values()];
    this.jobs.clear();
    for (const job of jobs) {
      try {
        job.resolve(place(job.scene, job.direction));
      } catch (error) {
        job.reject(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  private stop(): void {
    this.worker?.terminate();
    this.worker = null;
    this.jobs.clear();
  }
}

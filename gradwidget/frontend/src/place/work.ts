import type { Direction, Placed, Scene } from "../scene";

/** The worker's own part. Its text is sent there, so it uses nothing but what it is given. */
export function work(place: (scene: Scene, direction: Direction) => Placed): void {
  self.onmessage = (event: MessageEvent<{ id: number; scene: Scene; direction: Direction }>) => {
    const { id, scene, direction } = event.data;
    try {
      self.postMessage({ id, placed: place(scene, direction) });
    } catch (error) {
      self.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
    }
  };
}

import type { Direction, Scene } from "../scene";
import { place } from "./engine";

self.onmessage = (event: MessageEvent<{ id: number; scene: Scene; direction: Direction }>) => {
  const { id, scene, direction } = event.data;
  try {
    self.postMessage({ id, placed: place(scene, direction) });
  } catch (error) {
    self.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
};

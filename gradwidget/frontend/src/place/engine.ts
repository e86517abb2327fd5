/** The layout; the same in the worker and on the main thread. */
import { layout } from "../layout/index";
import type { Direction, Placed, Scene } from "../scene";

export const place = (scene: Scene, direction: Direction): Placed => layout(scene, { direction });

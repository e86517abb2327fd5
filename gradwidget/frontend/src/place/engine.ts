/** The layout. It is bundled into one function whose text a worker can be made of, see build.mjs. */
import { layout } from "../layout/index";
import type { Direction, Placed, Scene } from "../scene";

export const place = (scene: Scene, direction: Direction): Placed => layout(scene, { direction });

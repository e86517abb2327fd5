import canvas from "./canvas.css";
import frame from "./frame.css";
import hints from "./hints.css";
import looks from "./looks.css";
import maths from "./maths.css";
import notices from "./notices.css";
import palette from "./palette.css";
import panel from "./panel.css";
import player from "./player.css";
import quiz from "./quiz.css";
import side from "./side.css";
import story from "./story.css";
import tensor from "./tensor.css";

export const styles = [
  palette,
  frame,
  notices,
  canvas,
  hints,
  looks,
  player,
  panel,
  side,
  maths,
  quiz,
  tensor,
  story,
].join("\n");

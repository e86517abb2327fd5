import canvas from "./canvas.css";
import code from "./code.css";
import frame from "./frame.css";
import groups from "./groups.css";
import hints from "./hints.css";
import looks from "./looks.css";
import maths from "./maths.css";
import notices from "./notices.css";
import palette from "./palette.css";
import panel from "./panel.css";
import player from "./player.css";
import quiz from "./quiz.css";
import references from "./references.css";
import referencesTab from "./references_tab.css";
import save from "./save.css";
import side from "./side.css";
import story from "./story.css";
import tensor from "./tensor.css";

export const styles = [
  palette,
  frame,
  notices,
  canvas,
  groups,
  hints,
  looks,
  player,
  panel,
  side,
  save,
  maths,
  quiz,
  tensor,
  story,
  code,
  references,
  referencesTab,
].join("\n");

import canvas from "./canvas.css";
import frame from "./frame.css";
import palette from "./palette.css";
import panel from "./panel.css";
import tensor from "./tensor.css";

export const styles = [palette, frame, canvas, panel, tensor].join("\n");

/** Sizes in the picture's own pixels. */
export const LABEL_CHAR_WIDTH = 7.6;
export const LABEL_HEIGHT = 15;
export const LABEL_GAP = 8;
export const TRIANGLE = 11;
export const BAR = 5;
export const RADIUS = 7;
/** Most boxes ever laid out; the rest is folded into "more". */
export const MAX_NODES = 3000;

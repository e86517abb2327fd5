/** Wires between two columns, in a box that is 100 wide however wide it is drawn. */

export const middleOf = ({ top, height }: { top: number; height: number }): number => top + height / 2;

/** Ends short of the column, where the arrow's head begins. */
export const wirePath = (from: number, to: number): string => `M0 ${from}C55 ${from} 40 ${to} 93 ${to}`;

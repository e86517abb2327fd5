import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Theme } from "./theme";

/** For what CSS can't colour: pixels on a canvas. */
const ThemeContext = createContext<Theme>("light");
export const ThemeProvider = ThemeContext.Provider;
export const useTheme = (): Theme => useContext(ThemeContext);

// The choices of a reader: language, theme, and whether single keys do something.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Language, choose } from "./i18n";
import { remember, remembered } from "./memory";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];

export interface Choices {
  readonly language: Language;
  readonly theme: Theme;
  readonly singleKeys: boolean;
  setLanguage(code: string): void;
  setTheme(theme: string): void;
  setSingleKeys(on: boolean): void;
}

/** The choices of the reader. `made` is the language that the page was made for, or "". */
export function useChoices(made: string): Choices {
  const [code, setCode] = useState(
    () =>
      new URLSearchParams(location.search).get("lang") ?? remembered("language") ?? (made || choose(navigator.languages)),
  );
  const [theme, setTheme] = useState<Theme>(() => THEMES.find((name) => name === remembered("theme")) ?? "system");
  const [singleKeys, setSingleKeys] = useState(remembered("singleKeys") !== "off");
  const language = useMemo(() => new Language(code), [code]);
  useEffect(() => {
    document.documentElement.lang = code;
    document.documentElement.dataset.theme = theme;
  }, [code, theme]);
  return {
    language,
    theme,
    singleKeys,
    setLanguage: (chosen) => {
      remember("language", chosen);
      setCode(chosen);
    },
    setTheme: (chosen) => {
      const next = THEMES.find((name) => name === chosen) ?? "system";
      remember("theme", next);
      setTheme(next);
    },
    setSingleKeys: (on) => {
      remember("singleKeys", on ? "on" : "off");
      setSingleKeys(on);
    },
  };
}

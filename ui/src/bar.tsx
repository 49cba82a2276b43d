// The bar at the top of every page: navigation, language, theme and help.
import type { ComponentChildren, RefObject } from "preact";
import type { Choices } from "./choices";
import { LANGUAGES } from "./i18n";
import { badge } from "./keys";

export interface BarProps {
  readonly choices: Choices;
  readonly main: RefObject<HTMLElement | null>;
  readonly tabs: readonly { readonly link: string; readonly text: string; readonly isCurrent: boolean }[];
  readonly children?: ComponentChildren;
  /** Shows the keys. A page without keys has no help. */
  readonly onHelp?: (() => void) | undefined;
}

export function Bar({ choices, main, tabs, children, onHelp }: BarProps) {
  const { language } = choices;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        {language.text("skip")}
      </a>
      <header class="bar">
        <span class="brand">fairtrial</span>
        <nav aria-label={language.text("pages")}>
          {tabs.map((tab) => (
            <a key={tab.link} href={tab.link} aria-current={tab.isCurrent ? "page" : undefined}>
              {tab.text}
            </a>
          ))}
        </nav>
        {children}
        <span class="options">
          <label>
            <span class="visually-hidden">{language.text("language")}</span>
            <select value={language.code} onChange={(event) => choices.setLanguage(event.currentTarget.value)}>
              {LANGUAGES.map(([own, name]) => (
                <option key={own} value={own} lang={own}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <label>
            <span class="visually-hidden">{language.text("theme")}</span>
            <select value={choices.theme} onChange={(event) => choices.setTheme(event.currentTarget.value)}>
              <option value="system">{language.text("themeSystem")}</option>
              <option value="light">{language.text("themeLight")}</option>
              <option value="dark">{language.text("themeDark")}</option>
            </select>
          </label>
          {onHelp && (
            <button type="button" class="quiet" onClick={onHelp}>
              {language.text("help")} <kbd aria-hidden="true">{badge("help")}</kbd>
            </button>
          )}
        </span>
      </header>
    </>
  );
}

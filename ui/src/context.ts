// What every component may need: the language, the source, the state, and the choices of the reader.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Language } from "./i18n";
import type { Source } from "./source";
import type { State } from "./state";
import type { RunView } from "./view";

export interface Page {
  readonly language: Language;
  readonly source: Source;
  readonly state: State;
  readonly run: RunView;
  /** Changes the state. A function gets the state at that moment, which is another one if the reader went on. */
  navigate(change: Partial<State> | ((now: State) => Partial<State>)): void;
  link(change: Partial<State>): string;
}

/** What a reader wants to see of a conversation. */
export interface Reading {
  readonly showsThoughts: boolean;
  readonly showsExpected: boolean;
  /** Whether the Markdown of agents is shown as such. */
  readonly formats?: boolean;
  /** The steps that people call decisive, with the names of these people. */
  readonly steps?: ReadonlyMap<string, readonly string[]>;
  /** Stores a step as the decisive one, while a person writes a note. */
  readonly onStep?: ((step: string) => void) | null;
}

export const ReadingContext = createContext<Reading>({ showsThoughts: false, showsExpected: true });
export const PageContext = createContext<Page | null>(null);
export const LanguageContext = createContext<Language>(new Language("en"));

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("a component stands outside of the page of a run");
  return page;
}

export function useReading(): Reading {
  return useContext(ReadingContext);
}

/** The language of the page, also of a page that is not about a run. */
export function useLanguage(): Language {
  return useContext(LanguageContext);
}

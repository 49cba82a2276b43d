// The reasons for the verdict of a run. A run stores them in English.
import type { Language, TextName } from "./i18n";

const EVENTS: Readonly<Record<string, TextName>> = {
  failed: "reasonFailed",
  "ended with an error of the agent": "reasonAgentError",
  "could not be scored": "reasonUnscored",
  "ended with an error that is not the agent's": "reasonOtherError",
};

/** A reason in the language of the page, or as it is stored if the page has no text for it. */
export function reasonText(language: Language, reason: string): string {
  const [, count, event] = /^(\d{1,9}) cases? (.+)$/.exec(reason) ?? [];
  const name = event === undefined ? undefined : EVENTS[event];
  return name ? language.text(name, { count: Number(count) }) : reason;
}

// The keys of the page. Its help and its badges are made from this table, so that each key that is shown does something.
import type { TextName } from "./i18n";

export type Action =
  | "next"
  | "previous"
  | "open"
  | "back"
  | "search"
  | "failed"
  | "previousAttempt"
  | "nextAttempt"
  | "expected"
  | "compare"
  | "thoughts"
  | "help";

export interface Key {
  readonly key: string;
  readonly action: Action;
  readonly text: TextName;
}

export const KEYS: readonly Key[] = [
  { key: "j", action: "next", text: "keyNext" },
  { key: "k", action: "previous", text: "keyPrevious" },
  { key: "Enter", action: "open", text: "keyOpen" },
  { key: "Escape", action: "back", text: "keyBack" },
  { key: "/", action: "search", text: "keySearch" },
  { key: "f", action: "failed", text: "keyFailed" },
  { key: "[", action: "previousAttempt", text: "keyPreviousAttempt" },
  { key: "]", action: "nextAttempt", text: "keyNextAttempt" },
  { key: "e", action: "expected", text: "keyExpected" },
  { key: "c", action: "compare", text: "keyCompare" },
  { key: "t", action: "thoughts", text: "keyThoughts" },
  { key: "?", action: "help", text: "keyHelp" },
];

export function badge(action: Action): string {
  const entry = KEYS.find((own) => own.action === action);
  return entry ? badgeOf(entry) : "";
}

export function badgeOf(entry: { readonly key: string }): string {
  return entry.key === "Escape" ? "Esc" : entry.key;
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly isComposing: boolean;
}

/** Returns what a key does. Single characters do nothing while somebody types, or if they are switched off. */
export function actionOf(event: Pressed, typing: boolean, singleKeys: boolean): Action | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return undefined;
  const entry = KEYS.find(({ key }) => key === event.key);
  if (!entry) return undefined;
  if (entry.key.length === 1 && (typing || !singleKeys)) return undefined;
  return entry.action;
}

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
  | "markdown"
  | "nextFailed"
  | "nextDisputed"
  | "note"
  | "help";

/** What a key does on the page of a queue. An answer is its place among the answers. */
export type LabelAction = number | "unsure" | "note" | "undo" | "side" | "reference" | "expected" | "thoughts" | "back" | "help";

export interface Key<A = Action> {
  readonly key: string;
  readonly action: A;
  /** What the key does: a text of the page, or the name of an answer. */
  readonly text: TextName | { readonly answer: string };
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
  { key: "m", action: "markdown", text: "keyMarkdown" },
  { key: "x", action: "nextFailed", text: "keyNextFailed" },
  { key: "d", action: "nextDisputed", text: "keyNextDisputed" },
  { key: "?", action: "help", text: "keyHelp" },
];

/** The keys of a page on which people can write notes. */
export const NOTE_KEYS: readonly Key[] = [...KEYS, { key: "n", action: "note", text: "keyNote" }];

export function badge(action: Action): string {
  return badgeIn(KEYS, action);
}

export function badgeIn<A>(keys: readonly Key<A>[], action: A): string {
  const entry = keys.find((own) => own.action === action);
  return entry ? badgeOf(entry) : "";
}

/** Returns the keys of a queue with some answers. Unsure comes after two answers, and is 0 after named answers. */
export function labelKeys(answers: readonly (TextName | { readonly answer: string })[]): readonly Key<LabelAction>[] {
  const isNamed = answers.some((answer) => typeof answer !== "string");
  return [
    ...answers.map((text, place) => ({ key: String(place + 1), action: place, text })),
    { key: isNamed ? "0" : "3", action: "unsure", text: "unsure" },
    { key: "u", action: "undo", text: "keyUndo" },
    { key: "n", action: "note", text: "keyNote" },
    { key: "s", action: "side", text: "keySide" },
    { key: "r", action: "reference", text: "keyReference" },
    { key: "e", action: "expected", text: "keyExpected" },
    { key: "t", action: "thoughts", text: "keyThoughts" },
    { key: "Escape", action: "back", text: "keyBackToLabels" },
    { key: "?", action: "help", text: "keyHelp" },
  ];
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
  return actionIn(KEYS, event, typing, singleKeys);
}

export function actionIn<A>(keys: readonly Key<A>[], event: Pressed, typing: boolean, singleKeys: boolean): A | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return undefined;
  const entry = keys.find(({ key }) => key === event.key);
  if (!entry) return undefined;
  if (entry.key.length === 1 && (typing || !singleKeys)) return undefined;
  return entry.action;
}

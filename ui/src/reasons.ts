// Reasons are stored in English. The page translates those that follow a template, as the terminal does.
import ja from "../../src/fairtrial/reports/assets/texts/reasons/ja.json";
import ko from "../../src/fairtrial/reports/assets/texts/reasons/ko.json";
import zhCN from "../../src/fairtrial/reports/assets/texts/reasons/zh-CN.json";
import zhTW from "../../src/fairtrial/reports/assets/texts/reasons/zh-TW.json";
import type { Language, TextName } from "./i18n";

const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = { ja, ko, "zh-CN": zhCN, "zh-TW": zhTW };
const PLACE = /\{(\w+)\}/;
const LONGEST = 4000;
const DEEPEST = 6;

const EVENTS: Readonly<Record<string, TextName>> = {
  failed: "reasonFailed",
  "ended with an error of the agent": "reasonAgentError",
  "could not be scored": "reasonUnscored",
  "ended with an error that is not the agent's": "reasonOtherError",
};

interface Template {
  readonly literals: readonly string[];
  readonly places: readonly string[];
  readonly translation: string;
}

const TEMPLATES = new Map<string, readonly Template[]>();

/** A reason in the language of the page, or as it is stored if the page has no text for it. */
export function reasonText(language: Language, reason: string): string {
  const [, count, event] = /^(\d{1,9}) cases? (.+)$/.exec(reason) ?? [];
  const name = event === undefined ? undefined : EVENTS[event];
  if (name) return language.text(name, { count: Number(count) });
  const table = TABLES[language.code];
  if (!table) return reason;
  const lines = reason.split("\n").map((line) => (line.length > LONGEST ? line : (translate(language.code, table, line, DEEPEST) ?? line)));
  return lines.join("\n");
}

function translate(code: string, table: Readonly<Record<string, string>>, text: string, depth: number): string | undefined {
  if (Object.hasOwn(table, text)) return table[text];
  if (depth === 0) return undefined;
  for (const template of templates(code, table)) {
    const values = match(template, text);
    if (values) return fill(template, values, (value) => translate(code, table, value, depth - 1) ?? value);
  }
  for (const joint of ["; ", ": "]) {
    const place = text.indexOf(joint);
    if (place < 0) continue;
    const head = text.slice(0, place);
    const start = joint === "; " ? translate(code, table, head, depth - 1) : undefined;
    const rest = translate(code, table, text.slice(place + joint.length), depth - 1);
    if (start !== undefined || rest !== undefined) return (start ?? head) + joint + (rest ?? text.slice(place + joint.length));
  }
  return undefined;
}

function fill(template: Template, values: readonly string[], inner: (value: string) => string): string {
  const pieces = template.translation.split(PLACE);
  return pieces.map((piece, index) => {
    if (index % 2 === 0) return piece;
    const value = values[template.places.indexOf(piece)] ?? "";
    return piece.endsWith("_text") ? inner(value) : value;
  }).join("");
}

/** The texts in the places of a template. Each literal is taken where it comes first, in linear time. */
function match({ literals, places }: Template, text: string): readonly string[] | undefined {
  const [first = "", ...middle] = literals;
  const last = middle.pop() ?? "";
  if (!text.startsWith(first)) return undefined;
  const values: string[] = [];
  let begin = first.length;
  for (const literal of middle) {
    const end = text.indexOf(literal, begin + 1);
    if (end < 0) return undefined;
    values.push(text.slice(begin, end));
    begin = end + literal.length;
  }
  const end = text.length - last.length;
  if (end <= begin || !text.endsWith(last)) return undefined;
  values.push(text.slice(begin, end));
  const fits = (value: string, index: number) => {
    if (places[index] === "n" || places[index] === "m") return /^[0-9#][0-9.,]*$/.test(value);
    return places[index] !== "tool" || !/\s/.test(value);
  };
  return values.every(fits) ? values : undefined;
}

/** The templates with places. Of several that fit a text, the one with the most letters counts. */
function templates(code: string, table: Readonly<Record<string, string>>): readonly Template[] {
  const known = TEMPLATES.get(code);
  if (known) return known;
  const made = Object.entries(table).map(([english, translation]) => {
    const pieces = english.split(PLACE);
    const even = (_: string, index: number) => index % 2 === 0;
    return { literals: pieces.filter(even), places: pieces.filter((_, index) => index % 2 === 1), translation };
  });
  const letters = ({ literals }: Template) => literals.join("").length;
  const own = made.filter(({ places }) => places.length > 0).sort((one, two) => letters(two) - letters(one));
  TEMPLATES.set(code, own);
  return own;
}

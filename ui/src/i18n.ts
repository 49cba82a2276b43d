// The texts of the page in five languages. Numbers, dates and plurals are written by Intl.
import en from "../../src/fairtrial/reports/assets/texts/en.json";
import ja from "../../src/fairtrial/reports/assets/texts/ja.json";
import ko from "../../src/fairtrial/reports/assets/texts/ko.json";
import zhCN from "../../src/fairtrial/reports/assets/texts/zh-CN.json";
import zhTW from "../../src/fairtrial/reports/assets/texts/zh-TW.json";
import { Numbers } from "./numbers";
import { visibleText } from "./visible";

export type TextName = keyof typeof en;
type Text = string | { readonly other: string; readonly one?: string };
type Texts = Record<TextName, Text>;

export const TEXTS: Readonly<Record<string, Texts>> = { en, ko, ja, "zh-TW": zhTW, "zh-CN": zhCN };

export const LANGUAGES: readonly (readonly [string, string])[] = [
  ["en", "English"],
  ["ko", "한국어"],
  ["ja", "日本語"],
  ["zh-TW", "繁體中文"],
  ["zh-CN", "简体中文"],
];

/** A language for tests of the layout: each text is 40 % longer. */
export const PSEUDO = "en-XA";

/** Returns the language of ours that fits the wishes of a reader best. */
export function choose(wishes: readonly string[]): string {
  for (const wish of wishes) {
    const small = wish.toLowerCase();
    if (small === PSEUDO.toLowerCase()) return PSEUDO;
    if (/^zh\b.*(hant|tw|hk|mo)/.test(small)) return "zh-TW";
    if (small.startsWith("zh")) return "zh-CN";
    const own = LANGUAGES.find(([code]) => small === code || small.startsWith(`${code}-`));
    if (own) return own[0];
  }
  return "en";
}

export type Values = Readonly<Record<string, string | number>>;

export class Language extends Numbers {
  private readonly texts: Texts;
  private readonly plurals: Intl.PluralRules;

  constructor(code: string) {
    super(code);
    this.texts = TEXTS[code] ?? en;
    this.plurals = new Intl.PluralRules(code);
  }

  /**
   * Returns a text with its values. Numbers are formatted, and hidden characters in texts of others are spelt out;
   * `count` chooses between singular and plural.
   */
  text = (name: TextName, values: Values = {}): string => {
    const entry = this.texts[name];
    const template = typeof entry === "string" ? entry : this.plural(entry, Number(values.count ?? 0));
    const filled = template.replace(/\{(\w+)\}/g, (whole, key: string) => {
      const value = values[key];
      return value === undefined ? whole : typeof value === "number" ? this.count(value) : visibleText(value);
    });
    return this.code === PSEUDO ? lengthened(filled) : filled;
  };

  private plural(entry: { readonly other: string; readonly one?: string }, count: number): string {
    return (this.plurals.select(count) === "one" && entry.one) || entry.other;
  }

  /** Returns a number of things. A whole number has no decimals. */
  count = (value: number | null | undefined): string =>
    Number.isInteger(value) ? new Intl.NumberFormat(this.code).format(value!) : this.number(value);

  date = (text: string): string => {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) return text;
    return new Intl.DateTimeFormat(this.code, {
      year: "numeric",
      month: "short",
      day: "numeric",
      hour: "numeric",
      minute: "2-digit",
      timeZoneName: "short",
    }).format(date);
  };

  seconds = (value: number): string =>
    new Intl.NumberFormat(this.code, {
      style: "unit",
      unit: value >= 120 ? "minute" : "second",
      maximumFractionDigits: value < 10 ? 2 : 1,
    }).format(value >= 120 ? value / 60 : value);

  dollars = (value: number): string =>
    new Intl.NumberFormat(this.code, {
      style: "currency",
      currency: "USD",
      maximumFractionDigits: value < 1 ? 4 : 2,
    }).format(value);

  list = (items: readonly string[]): string =>
    new Intl.ListFormat(this.code, { type: "conjunction" }).format(items.map(visibleText));
}

function lengthened(text: string): string {
  return `[${text}${"·".repeat(Math.ceil(text.length * 0.4))}]`;
}

// The texts of the page in five languages. Numbers, dates and plurals are written by Intl.
import en from "../../src/fairtrial/reports/assets/texts/en.json";
import ja from "../../src/fairtrial/reports/assets/texts/ja.json";
import ko from "../../src/fairtrial/reports/assets/texts/ko.json";
import zhCN from "../../src/fairtrial/reports/assets/texts/zh-CN.json";
import zhTW from "../../src/fairtrial/reports/assets/texts/zh-TW.json";

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

export class Language {
  private readonly texts: Texts;
  private readonly plurals: Intl.PluralRules;

  constructor(readonly code: string) {
    this.texts = TEXTS[code] ?? en;
    this.plurals = new Intl.PluralRules(code);
  }

  /** Returns a text with its values. Numbers are formatted; `count` chooses between singular and plural. */
  text = (name: TextName, values: Values = {}): string => {
    const entry = this.texts[name];
    const template = typeof entry === "string" ? entry : this.plural(entry, Number(values.count ?? 0));
    const filled = template.replace(/\{(\w+)\}/g, (whole, key: string) => {
      const value = values[key];
      return value === undefined ? whole : typeof value === "number" ? this.number(value) : value;
    });
    return this.code === PSEUDO ? lengthened(filled) : filled;
  };

  private plural(entry: { readonly other: string; readonly one?: string }, count: number): string {
    return (this.plurals.select(count) === "one" && entry.one) || entry.other;
  }

  /** Returns a value with two decimals at most if it is small, and without decimals if it is large. */
  number = (value: number | null | undefined): string => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const digits = Number.isInteger(value) ? 0 : size >= 1000 ? 0 : size >= 10 ? 1 : size > 0 && size < 0.01 ? 4 : 2;
    return new Intl.NumberFormat(this.code, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(
      value,
    );
  };

  /** Returns a rate in 0..1 as a percentage. Only the rate 1 is written as 100 %. */
  rate = (value: number | null | undefined): string => {
    if (value === null || value === undefined) return "–";
    const rounded = Math.round(100 * value);
    const extreme = (rounded === 0 && value !== 0) || (rounded === 100 && value !== 1);
    const shown = extreme ? Math.min(Math.max(value, 0.001), 0.999) : value;
    return new Intl.NumberFormat(this.code, {
      style: "percent",
      maximumFractionDigits: extreme ? 1 : 0,
    }).format(shown);
  };

  date = (text: string): string => {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) return text;
    return new Intl.DateTimeFormat(this.code, { dateStyle: "medium", timeStyle: "short" }).format(date);
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

  list = (items: readonly string[]): string => new Intl.ListFormat(this.code, { type: "conjunction" }).format(items);
}

function lengthened(text: string): string {
  return `[${text}${"·".repeat(Math.ceil(text.length * 0.4))}]`;
}

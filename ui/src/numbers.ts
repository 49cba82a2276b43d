// How is a number written for people? The same rules as in src/fairtrial/reports/numbers.py, in the reader's language.
import type { Estimate } from "./view";

const MOST_DIGITS = 7;
const UNITS = [1, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001, 0.0000001];
const NEARLY = 1 + 1e-9;
const LARGEST = 1e15;
/** The largest factor between the ends of an interval of an amount that is shown. */
const WIDEST = 100;
const DASH = "–";

type Maybe = number | null | undefined;
export type Interval = Partial<Estimate>;
const formats = new Map<string, Intl.NumberFormat>();

function format(code: string, digits: number, percent: boolean): Intl.NumberFormat {
  const key = `${code} ${digits} ${percent}`;
  let own = formats.get(key);
  if (!own) {
    own = new Intl.NumberFormat(code, {
      style: percent ? "percent" : "decimal",
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      useGrouping: code !== "en-u-nu-latn",
    });
    formats.set(key, own);
  }
  return own;
}

/** Returns a number with so many decimals. Intl rounds a half away from zero. */
function rounded(value: number, digits: number, percent: boolean): number {
  return Number(format("en-u-nu-latn", digits, percent).format(value).replace("%", ""));
}

function usual(value: number, percent = false): number {
  return percent || Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
}

/** Returns the fewest decimals with which a number does not read like another one, seven at most. */
function digitsUnlike(value: number, least: number, others: readonly number[], percent: boolean): number {
  let digits = least;
  while (digits < MOST_DIGITS && others.includes(rounded(value, digits, percent))) digits++;
  return digits;
}

/** Numbers in a language. `least` asks for more decimals. */
export class Numbers {
  constructor(readonly code: string) {}

  private write(value: number, digits: number, percent = false): string {
    return format(this.code, digits, percent).format(rounded(value, digits, percent) === 0 ? 0 : value);
  }

  /** Returns a value with as many decimals as its size needs. A number that is not zero is never written as 0.00. */
  number = (value: Maybe, least = 0): string => {
    if (value === null || value === undefined) return DASH;
    if (!(Math.abs(value) < LARGEST)) return value.toExponential(2);
    const first = Math.max(least, usual(value));
    const digits = value === 0 ? first : digitsUnlike(value, first, [0], false);
    return value === 0 || rounded(value, digits, false) !== 0 ? this.write(value, digits) : value.toExponential(0);
  };

  /** Returns a rate as a percentage. Only the rate 1 is written as 100 %. */
  rate = (value: Maybe, least = 0): string => {
    if (value === null || value === undefined) return DASH;
    if (value === 0 || value === 1) return this.write(value, 0, true);
    const digits = digitsUnlike(value, least, [0, 100], true);
    const shown = rounded(value, digits, true);
    if (shown !== 0 && shown !== 100) return this.write(value, digits, true);
    return `${value < shown / 100 ? "<" : ">"}${this.write(shown / 100, 0, true)}`;
  };

  /** Returns a value and a threshold with the fewest decimals that show which is larger. */
  against = (value: number, threshold: number, least = 0, percent = false): readonly [string, string] => {
    if (!(Math.max(Math.abs(value), Math.abs(threshold)) < LARGEST)) return [this.number(value), this.number(threshold)];
    let whole = usual(threshold, percent);
    while (whole < MOST_DIGITS && !isWritten(threshold, whole + (percent ? 2 : 0))) whole++;
    const limit = this.write(threshold, whole, percent);
    if (value === threshold) return [limit, limit];
    const first = Math.max(usual(value, percent), least);
    for (let digits = first; digits <= MOST_DIGITS; digits++) {
      const most = digits === first ? whole : Math.max(digits, whole);
      const [shown, shownLimit] = [rounded(value, digits, percent), rounded(threshold, most, percent)];
      if (shown !== shownLimit && (shown < shownLimit) === (value < threshold)) {
        return [this.write(value, digits, percent), this.write(threshold, most, percent)];
      }
    }
    return [`${value < threshold ? "<" : ">"}${limit}`, limit];
  };

  /** Returns a p value with two digits: 0.11, 0.012, or < 1e-12 for everything below. */
  pValue = (p: number): string =>
    p < 1e-12
      ? "< 1e-12"
      : new Intl.NumberFormat(this.code, p >= 0.1 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 }).format(p);

  /** Returns a value and its threshold, which may both be missing. */
  beside = (value: Maybe, threshold: Maybe): readonly [string, string] => {
    if (typeof threshold !== "number") return [this.number(value), DASH];
    if (typeof value === "number") return this.against(value, threshold);
    return [DASH, this.against(threshold, threshold)[1]];
  };

  /** Returns the value of an estimate with the decimals of its interval, and with those that its threshold needs. */
  estimated = (estimate: Interval, threshold: Maybe, percent = false): string => {
    const { value } = estimate;
    if (value === null || value === undefined) return DASH;
    const least = digitsOf(estimate, percent);
    if (typeof threshold === "number") return this.against(value, threshold, least, percent)[0];
    return percent ? this.rate(value, least) : this.number(value, least);
  };

  /** Returns the ends of an interval, or nothing if there is none. Narrow intervals have more decimals. */
  ends = (estimate: Interval, percent = false): readonly [string, string] | null => {
    const { low, high } = estimate;
    if (typeof low !== "number" || typeof high !== "number") return null;
    const least = digitsOf(estimate, percent);
    return [this.end(low, least, percent), this.end(high, least, percent)];
  };

  /** Returns an end of an interval. It has no more decimals than the width of the interval needs. */
  private end(value: number, least: number, percent: boolean): string {
    if (percent) return this.write(value, value === 0 || value === 1 ? 0 : least, true);
    return Math.abs(value) < LARGEST ? this.write(value, Math.max(least, usual(value))) : this.number(value);
  }
}

/** Returns the decimals of a change: with them, the difference of two rates is that of the rates as they are written. */
export function digitsOfChange(base: Maybe, candidate: Maybe, difference: Interval, percent: boolean): number {
  const least = digitsOf(difference, percent);
  const { value } = difference;
  if (!percent || typeof base !== "number" || typeof candidate !== "number" || typeof value !== "number") return least;
  const [before, after, change] = [base, candidate, value].map((own) => rounded(own, least, true));
  return Math.abs(after! - before! - change!) < 1e-9 ? least : Math.min(least + 1, MOST_DIGITS);
}

/** Whether a number has so many decimals at most, as people write it. */
function isWritten(value: number, digits: number): boolean {
  return rounded(value, digits, false) === value;
}

/** Returns whether the interval of an amount is so wide that it says nothing. */
export function saysNothing({ method, low, high }: Interval): boolean {
  return method === "t on logarithms" && typeof low === "number" && typeof high === "number" && high > WIDEST * low;
}

/** Returns the fewest decimals whose last one is at most as wide as the interval, seven at most. */
export function digitsOf(estimate: Interval, percent: boolean): number {
  const { low, high } = estimate;
  if (typeof low !== "number" || typeof high !== "number" || saysNothing(estimate)) return 0;
  const width = (high - low) * (percent ? 100 : 1);
  if (!(width > 0 && width < Infinity)) return 0;
  const digits = UNITS.findIndex((unit) => unit <= NEARLY * width);
  return digits === -1 ? MOST_DIGITS : digits;
}

// What comparisons write of a measure: its values, its difference, and what may be concluded.
import { usePage } from "./context";
import type { Language } from "./i18n";
import { quantity } from "./marks";
import { digitsOfChange } from "./numbers";
import type { ComparedMeasure, ComparisonView } from "./view";

export const CHANGE_NAMES = {
  broken: "changeBroken",
  fixed: "changeFixed",
  flaky: "changeFlaky",
  expectation_changed: "changeExpectation",
  only_base: "changeOnlyBase",
  only_candidate: "changeOnlyCandidate",
  moved: "changeMoved",
  same: "changeSame",
} as const;

/** Writes a value of a measure with its unit, and with the digits that the change needs. */
export function writeMeasure(language: Language, row: ComparedMeasure, comparison: ComparisonView) {
  const least = leastOf(row);
  const unit = comparison.units?.[row.measure];
  return (value?: number | null) => (row.is_rate ? language.rate(value, least) : quantity(language.number(value, least), unit));
}

function leastOf(row: ComparedMeasure): number {
  return digitsOfChange(row.base, row.candidate, { value: row.difference, low: row.low, high: row.high }, row.is_rate);
}

/** A difference with its sign and its interval. Rates differ by percentage points. */
export function Difference({ row, comparison }: { row: ComparedMeasure; comparison: ComparisonView }) {
  const { language } = usePage();
  const least = leastOf(row);
  const unit = comparison.units?.[row.measure];
  const signed = (value: number, text: string) => `${value > 0 ? "+" : ""}${text.replace(/\s?%/, "")}`;
  const write = (value: number) => signed(value, row.is_rate ? language.rate(value, least) : language.number(value, least));
  const ends = language.ends({ low: row.low, high: row.high }, row.is_rate);
  const whole = (text: string) => (row.is_rate ? language.text("points", { value: text }) : quantity(text, unit));
  if (row.difference === null) return <span class="estimate">–</span>;
  return (
    <span class="estimate">
      <b>{whole(write(row.difference))}</b>
      {ends && (
        <span class="ends">
          {signed(row.low!, ends[0])} … {whole(signed(row.high!, ends[1]))}
        </span>
      )}
    </span>
  );
}

/** A difference of rates in percentage points. */
export function points(language: Language, value: number, least: number): string {
  return language.rate(value, least).replace(/\s?%/, "");
}

export function conclusion(row: ComparedMeasure) {
  const names = {
    better: "moreThanChanceBetter",
    worse: "moreThanChanceWorse",
    "no difference shown": "notMoreThanChance",
    "equal within the margin": "equalWithinMargin",
  } as const;
  return row.verdict ? names[row.verdict] : "noConclusion";
}

/** The passed attempts of all attempts at a case. */
export function share(counts: readonly [number, number] | readonly number[] | undefined): string {
  const [passed = 0, attempts = 0] = counts ?? [];
  return attempts ? `${passed}/${attempts}` : "–";
}

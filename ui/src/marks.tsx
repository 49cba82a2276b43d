// Verdicts by mark and word, and pictures of numbers. Each picture has its numbers beside it as text.
import { useLanguage } from "./context";
import type { Language, TextName } from "./i18n";
import { saysNothing, type Interval } from "./numbers";
import type { Score } from "./view";
import { visibleLine } from "./visible";

const MARKS: Readonly<Record<string, string>> = {
  passed: "✓",
  failed: "✗",
  error: "!",
  unscored: "?",
  informational: "·",
  not_applicable: "–",
};

export function mark(verdict: string): string {
  return MARKS[verdict] ?? "·";
}

const VERDICTS: Readonly<Record<string, TextName>> = {
  passed: "verdictPassed",
  failed: "verdictFailed",
  error: "verdictError",
  unscored: "verdictUnscored",
  informational: "verdictInformational",
  not_applicable: "verdictNotApplicable",
  undecided: "undecided",
};

const SIDE_NAMES: Readonly<Record<string, TextName>> = {
  agent: "sideAgent",
  expectation: "sideExpectation",
  environment: "sideEnvironment",
  simulator: "sideSimulator",
  judge: "sideJudge",
  infrastructure: "sideInfrastructure",
};

/** The sides that can be at fault. */
export const SIDES = ["agent", "expectation", "environment", "simulator", "judge", "infrastructure"] as const;

export function verdictWord(language: Language, verdict: string): string {
  const name = VERDICTS[verdict];
  return name ? language.text(name) : verdict.replaceAll("_", " ");
}

export function sideWord(language: Language, side: string): string {
  const name = SIDE_NAMES[side];
  return name ? language.text(name) : side;
}

/** A verdict as mark and word. */
export function Verdict({ verdict, large = false }: { verdict: string; large?: boolean }) {
  const language = useLanguage();
  return (
    <span class={`verdict ${verdict} ${large ? "large" : ""}`}>
      <span class="mark" aria-hidden="true">
        {mark(verdict)}
      </span>
      <span>{verdictWord(language, verdict)}</span>
    </span>
  );
}

/** An interval as a line with a dot on a scale, and the threshold as a tick. */
export function IntervalPicture(props: {
  estimate: Interval;
  low: number;
  high: number;
  threshold?: number | null;
  zero?: boolean;
}) {
  const { estimate, low, high, threshold } = props;
  const span = high - low || 1;
  const x = (value: number) => 4 + 112 * Math.min(1, Math.max(0, (value - low) / span));
  const { value } = estimate;
  return (
    <svg class="interval" viewBox="0 0 120 16" width="120" height="16" aria-hidden="true">
      <line class="scale" x1="4" x2="116" y1="8" y2="8" />
      {props.zero && <line class="tick" x1={x(0)} x2={x(0)} y1="1" y2="15" />}
      {threshold !== null && threshold !== undefined && (
        <line class="tick" x1={x(threshold)} x2={x(threshold)} y1="1" y2="15" />
      )}
      {typeof estimate.low === "number" && typeof estimate.high === "number" && (
        <line class="range" x1={x(estimate.low)} x2={x(estimate.high)} y1="8" y2="8" />
      )}
      {typeof value === "number" && <circle class="value" cx={x(value)} cy="8" r="4" />}
    </svg>
  );
}

/** The shares of verdicts as a bar. */
export function CountsBar({ counts }: { counts: Readonly<Record<string, number>> }) {
  const entries = Object.entries(counts).filter(([, count]) => count > 0);
  const total = entries.reduce((sum, [, count]) => sum + count, 0) || 1;
  let start = 0;
  return (
    <svg class="counts" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      {entries.map(([verdict, count]) => {
        const x = start;
        start += (100 * count) / total;
        return <rect key={verdict} class={verdict} x={x} y="0" width={(100 * count) / total} height="6" />;
      })}
    </svg>
  );
}

/** A number with its unit, if it has one. */
export function quantity(number: string, unit?: string): string {
  return unit ? `${number}\u00a0${unit}` : number;
}

/** A number with its interval as text. */
export function Estimate(props: { estimate: Interval; threshold?: number | null; percent?: boolean; unit?: string }) {
  const language = useLanguage();
  const { estimate, percent = false } = props;
  if (typeof estimate.value !== "number") return <span class="estimate">–</span>;
  const ends = language.ends(estimate, percent);
  return (
    <span class="estimate">
      <b>{quantity(language.estimated(estimate, props.threshold, percent), props.unit)}</b>
      {ends && <span class="ends">{saysNothing(estimate) ? language.text("tooFewCases") : ends.join(" … ")}</span>}
    </span>
  );
}

const MOST_MARKS = 4;

/** The attempts of a case as marks. */
export function AttemptMarks({ attempts }: { attempts: readonly { attempt: number; verdict: string; invalid?: boolean }[] }) {
  const language = useLanguage();
  return (
    <span class="attempt-marks">
      {attempts.slice(0, MOST_MARKS).map((attempt) => (
        <span
          key={attempt.attempt}
          class={`attempt-mark ${attempt.verdict} ${attempt.invalid ? "invalid" : ""}`}
          role="img"
          aria-label={`${attempt.attempt}: ${verdictWord(language, attempt.verdict)}`}
        >
          {mark(attempt.verdict)}
        </span>
      ))}
      {attempts.length > MOST_MARKS && <span class="muted">+{attempts.length - MOST_MARKS}</span>}
    </span>
  );
}

/** The kinds of parts by name. */
export const PARTS = {
  invocation: "partInvocation",
  rubric: "partRubric",
  sentence: "partSentence",
  question: "partQuestion",
  call: "partCall",
  message: "partMessage",
  check: "partCheck",
  fact: "partFact",
} as const;

/** The name of a part of an outcome: its kind and number, or its label or id. */
export function PartName({ part: { key, label } }: { part: Pick<Score, "key" | "label"> }) {
  const language = useLanguage();
  if (!key || typeof key.index !== "number") return <Name text={label || key?.id || "–"} />;
  const number = String(key.index + 1);
  return (
    <>
      {language.text(key.kind, { number })} {label && label !== `${key.kind} ${number}` && <Name text={label} />}
    </>
  );
}

export function Name({ text }: { text: string }) {
  return <bdi>{visibleLine(text)}</bdi>;
}

// Runs beside a base run: what differs in their setup, each measure with its interval, and the cases that changed.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAttempt } from "./attempt";
import { CompareAll } from "./compareall";
import { usePage } from "./context";
import type { Language } from "./i18n";
import { byLoss, CHANGES, kindOf } from "./losses";
import { IntervalPicture, Name } from "./marks";
import { CHANGE_NAMES, conclusion, Difference, points, share, writeMeasure } from "./measures";
import { digitsOfChange } from "./numbers";
import { reasonText } from "./reasons";
import { SideBySide } from "./sidebyside";
import { comparisonOf } from "./source";
import { Table, type TableRow } from "./table";
import { Foreign } from "./text";
import type { ComparedCase, ComparedMeasure, ComparisonView } from "./view";

const PAGE = 100;

export function Compare() {
  const { source, language, state, run } = usePage();
  const comparison = comparisonOf(source, run.id);
  if (!comparison) return <p>{language.text("noComparison")}</p>;
  const isOneOfMany = source.comparisons.length > 1;
  return (
    <>
      <section aria-labelledby="compare-title">
        <h1 id="compare-title">{language.text("comparison")}</h1>
        {isOneOfMany && <CompareAll comparisons={source.comparisons} />}
        <p class="runs-line">
          {language.text("base")} <code>{comparison.base}</code> → {language.text("candidate")}{" "}
          <code>{comparison.candidate}</code>
        </p>
        <Setup comparison={comparison} />
        {comparison.warnings.map((text) => (
          <Foreign key={text} class="warning" text={reasonText(language, text)} />
        ))}
        <Measures comparison={comparison} />
      </section>
      {state.position !== null && <OpenedCase comparison={comparison} position={state.position} />}
      <ComparedCases comparison={comparison} />
    </>
  );
}

function Setup({ comparison }: { comparison: ComparisonView }) {
  const { language } = usePage();
  if (comparison.setup.length === 0) return <p class="note">{language.text("sameSetup")}</p>;
  return (
    <details class="callout warning" open={comparison.setup.length <= 6}>
      <summary>{language.text("setupDiffers", { count: comparison.setup.length })}</summary>
      <dl class="setup">
        {comparison.setup.map((entry) => (
          <div key={entry.what}>
            <dt>
              <Name text={entry.what} />
            </dt>
            <dd>
              <Foreign text={entry.base} /> → <Foreign text={entry.candidate} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Measures({ comparison }: { comparison: ComparisonView }) {
  const { language } = usePage();
  const rows = comparison.rows.filter((row) => row.base !== null || row.candidate !== null || !row.informational);
  const family = comparison.rows.filter((row) => row.p_holm !== null).length;
  const detectable = comparison.rows[0]?.detectable;
  return (
    <>
      <Table
        name={{ titleId: "compare-title" }}
        columns={(["measure", "base", "candidate", "difference", "conclusion"] as const).map((name) => language.text(name))}
        rows={rows.map((row) => measureRow(row, language, family, comparison))}
      />
      {typeof detectable === "number" && (
        <p class="note">
          {detectable > 1
            ? language.text("notDetectable")
            : language.text("detectable", { value: language.text("points", { value: points(language, detectable, 0) }) })}
        </p>
      )}
    </>
  );
}

function measureRow(row: ComparedMeasure, language: Language, family: number, comparison: ComparisonView): TableRow {
  const reach = Math.max(Math.abs(row.low ?? 0), Math.abs(row.high ?? 0), Math.abs(row.difference ?? 0), 1e-9);
  const difference = { value: row.difference, low: row.low, high: row.high };
  const write = writeMeasure(language, row, comparison);
  return {
    key: row.measure,
    head: (
      <>
        <Name text={row.measure} />
        <div class="muted">{language.text("casesFound", { count: row.cases })}</div>
      </>
    ),
    cells: [
      write(row.base),
      write(row.candidate),
      <div class="estimate-cell">
        <IntervalPicture estimate={difference} low={-reach} high={reach} zero />
        <Difference row={row} comparison={comparison} />
      </div>,
      <>
        {row.comparable ? language.text(conclusion(row), { margin: write(comparison.margin) }) : language.text("notComparable")}
        <Chance row={row} family={family} />
        {row.why && <Foreign class="muted" text={row.why} />}
      </>,
    ],
  };
}

/** The p value, and why it may say something else than the interval. */
function Chance({ row, family }: { row: ComparedMeasure; family: number }) {
  const { language } = usePage();
  const p = row.p_holm ?? row.p;
  if (p === null) return null;
  const excludesZero = row.low !== null && row.high !== null && (row.low > 0 || row.high < 0);
  if (row.p_holm !== null && excludesZero && row.verdict === "no difference shown") {
    return <div class="muted">{language.text("holmSays", { count: family, p: language.pValue(p) })}</div>;
  }
  return <div class="muted">{language.text(row.p_holm === null ? "pValue" : "pHolm", { p: language.pValue(p) })}</div>;
}

function ComparedCases({ comparison }: { comparison: ComparisonView }) {
  const { language, link, state, run } = usePage();
  const isLower = useMemo(
    () => new Set(run.criteria.filter((criterion) => criterion.lower_is_better).map((criterion) => criterion.criterion)),
    [run],
  );
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const entry of comparison.cases) found.set(kindOf(entry), (found.get(kindOf(entry)) ?? 0) + 1);
    return found;
  }, [comparison]);
  const [only, setOnly] = useState<string>("");
  const [shown, setShown] = useState(PAGE);
  const cases = useMemo(
    () =>
      byLoss(
        comparison.cases.filter((entry) => (only ? kindOf(entry) === only : kindOf(entry) !== "same" || counts.size === 1)),
        run.criteria,
      ),
    [comparison, only, counts, run],
  );
  return (
    <section aria-labelledby="changed-title">
      <h2 id="changed-title">{language.text("cases")}</h2>
      <div class="toolbar">
        {CHANGES.filter((change) => counts.has(change)).map((change) => (
          <button
            key={change}
            type="button"
            class="toggle"
            aria-pressed={only === change}
            onClick={() => setOnly(only === change ? "" : change)}
          >
            {language.text(CHANGE_NAMES[change])} {language.count(counts.get(change))}
          </button>
        ))}
      </div>
      <p class="muted" role="status">
        {language.text("casesFound", { count: cases.length })}
      </p>
      <ul class="compared-cases">
        {cases.slice(0, shown).map((entry, index) => (
          <li key={index}>
            <a
              href={link({ page: "compare", position: entry.candidate ?? entry.base ?? null })}
              aria-current={isOpen(entry, state.position) ? "true" : undefined}
            >
              <Name text={entry.name} />
            </a>{" "}
            <span class={`tag ${entry.change}`}>{language.text(CHANGE_NAMES[kindOf(entry)])}</span>{" "}
            <span class="muted">
              {share(entry.base_passed)} → {share(entry.candidate_passed)}
            </span>
            <Moved entry={entry} isLower={isLower} />
          </li>
        ))}
      </ul>
      {shown < cases.length && (
        <button type="button" onClick={() => setShown(shown + PAGE)}>
          {language.text("showMore", { count: Math.min(PAGE, cases.length - shown) })}
        </button>
      )}
    </section>
  );
}

/** The criteria of a case whose values differ between the runs. */
function Moved({ entry, isLower }: { entry: ComparedCase; isLower: ReadonlySet<string> }) {
  const { language } = usePage();
  const moved = Object.entries(entry.moved ?? {});
  if (moved.length === 0) return null;
  return (
    <ul class="moved-criteria">
      {moved.map(([name, [before, after]]) => {
        const least = digitsOfChange(before ?? null, after ?? null, { value: null }, false);
        const rises = (after ?? 0) > (before ?? 0);
        const tone = before === null || after === null ? "" : rises === isLower.has(name) ? "broken" : "fixed";
        return (
          <li key={name}>
            <Name text={name} />{" "}
            <span class={`tag ${tone}`}>
              {language.number(before, least)} → {language.number(after, least)}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function isOpen(entry: ComparedCase, position: number | null): boolean {
  return position !== null && (entry.candidate ?? entry.base) === position;
}

/** The two transcripts of a case. */
function OpenedCase({ comparison, position }: { comparison: ComparisonView; position: number }) {
  const { language, state, source } = usePage();
  const agentsOf = (id: string) => source.runs.find((view) => view.id === id)?.agents ?? [];
  const entry = comparison.cases.find((compared) => isOpen(compared, position));
  const base = useAttempt(comparison.base, entry?.base ?? null, state.attempt);
  const candidate = useAttempt(comparison.candidate, entry?.candidate ?? null, state.attempt);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.scrollIntoView({ block: "start" }), [position]);
  if (!entry) return null;
  return (
    <section aria-labelledby="pair-title">
      <h2 id="pair-title" ref={heading}>
        <Name text={entry.name} /> <span class={`tag ${entry.change}`}>{language.text(CHANGE_NAMES[entry.change])}</span>
      </h2>
      {entry.change === "expectation_changed" && <p class="warning">{language.text("expectationChanged")}</p>}
      <SideBySide
        base={{ attempt: base.attempt, agents: agentsOf(comparison.base) }}
        candidate={{ attempt: candidate.attempt, agents: agentsOf(comparison.candidate) }}
      />
    </section>
  );
}

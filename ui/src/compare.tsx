// Two runs side by side: what differs in their setup, each measure with its interval, and the cases that changed.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAttempt } from "./attempt";
import { usePage } from "./context";
import { Conversation } from "./conversation";
import { Estimate, IntervalPicture, Name, Verdict } from "./marks";
import { Foreign } from "./text";
import type { ComparedCase, ComparedMeasure, ComparisonView } from "./view";

const CHANGES = ["broken", "fixed", "flaky", "expectation_changed", "only_base", "only_candidate", "same"] as const;
const NAMES = {
  broken: "changeBroken",
  fixed: "changeFixed",
  flaky: "changeFlaky",
  expectation_changed: "changeExpectation",
  only_base: "changeOnlyBase",
  only_candidate: "changeOnlyCandidate",
  same: "changeSame",
} as const;
const PAGE = 100;

export function Compare() {
  const { source, language, state } = usePage();
  const { comparison } = source;
  if (!comparison) return <p>{language.text("noComparison")}</p>;
  return (
    <>
      <section aria-labelledby="compare-title">
        <h1 id="compare-title">{language.text("comparison")}</h1>
        <p class="runs-line">
          {language.text("base")} <code>{comparison.base}</code> → {language.text("candidate")}{" "}
          <code>{comparison.candidate}</code>
        </p>
        <Setup comparison={comparison} />
        {comparison.warnings.map((text) => (
          <Foreign key={text} class="warning" text={text} />
        ))}
        <Measures comparison={comparison} />
      </section>
      {state.position !== null && <SideBySide comparison={comparison} position={state.position} />}
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
  return (
    <div class="scroll" tabIndex={0} role="region" aria-labelledby="compare-title">
      <table>
        <thead>
          <tr>
            <th scope="col">{language.text("measure")}</th>
            <th scope="col">{language.text("base")}</th>
            <th scope="col">{language.text("candidate")}</th>
            <th scope="col">{language.text("difference")}</th>
            <th scope="col">{language.text("conclusion")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Measure key={row.measure} row={row} margin={comparison.margin} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Measure({ row, margin }: { row: ComparedMeasure; margin?: number | null }) {
  const { language } = usePage();
  const write = row.is_rate ? language.rate : language.number;
  const reach = Math.max(Math.abs(row.low ?? 0), Math.abs(row.high ?? 0), Math.abs(row.difference ?? 0), 1e-9);
  const difference = { value: row.difference, low: row.low, high: row.high };
  return (
    <tr>
      <th scope="row">
        <Name text={row.measure} />
        <div class="muted">{language.text("casesFound", { count: row.cases })}</div>
      </th>
      <td>{write(row.base)}</td>
      <td>{write(row.candidate)}</td>
      <td>
        <div class="estimate-cell">
          <IntervalPicture estimate={difference} low={-reach} high={reach} zero />
          <Estimate estimate={difference} percent={row.is_rate} signed />
        </div>
      </td>
      <td>
        {row.comparable ? language.text(conclusion(row), { margin: write(margin) }) : language.text("notComparable")}
        {row.why && <Foreign class="muted" text={row.why} />}
      </td>
    </tr>
  );
}

function conclusion(row: ComparedMeasure) {
  const names = {
    better: "moreThanChanceBetter",
    worse: "moreThanChanceWorse",
    "no difference shown": "notMoreThanChance",
    "equal within the margin": "equalWithinMargin",
  } as const;
  return row.verdict ? names[row.verdict] : "noConclusion";
}

function ComparedCases({ comparison }: { comparison: ComparisonView }) {
  const { language, link, state } = usePage();
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const entry of comparison.cases) found.set(entry.change, (found.get(entry.change) ?? 0) + 1);
    return found;
  }, [comparison]);
  const [only, setOnly] = useState<string>("");
  const [shown, setShown] = useState(PAGE);
  const cases = useMemo(
    () =>
      comparison.cases
        .filter((entry) => (only ? entry.change === only : entry.change !== "same" || counts.size === 1))
        .sort((a, b) => CHANGES.indexOf(a.change) - CHANGES.indexOf(b.change)),
    [comparison, only, counts],
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
            {language.text(NAMES[change])} {language.number(counts.get(change))}
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
            <span class={`tag ${entry.change}`}>{language.text(NAMES[entry.change])}</span>{" "}
            <span class="muted">
              {share(entry.base_passed)} → {share(entry.candidate_passed)}
            </span>
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

function isOpen(entry: ComparedCase, position: number | null): boolean {
  return position !== null && (entry.candidate ?? entry.base) === position;
}

function share(counts: readonly [number, number] | readonly number[] | undefined): string {
  const [passed = 0, attempts = 0] = counts ?? [];
  return attempts ? `${passed}/${attempts}` : "–";
}

/** The two transcripts of a case. Scrolling one scrolls the other, so that equal invocations stand beside each other. */
function SideBySide({ comparison, position }: { comparison: ComparisonView; position: number }) {
  const { language, state } = usePage();
  const entry = comparison.cases.find((compared) => isOpen(compared, position));
  const base = useAttempt(comparison.base, entry?.base ?? null, state.attempt);
  const candidate = useAttempt(comparison.candidate, entry?.candidate ?? null, state.attempt);
  const panes = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)] as const;
  const heading = useRef<HTMLHeadingElement>(null);
  const isTied = useRef(false);
  useEffect(() => heading.current?.scrollIntoView({ block: "start" }), [position]);
  if (!entry) return null;
  const tie = (from: number) => {
    if (isTied.current) return;
    const [source, target] = [panes[from]?.current, panes[1 - from]?.current];
    if (!source || !target) return;
    isTied.current = true;
    target.scrollTop = aligned(source, target);
    requestAnimationFrame(() => {
      isTied.current = false;
    });
  };
  return (
    <section aria-labelledby="pair-title">
      <h2 id="pair-title" ref={heading}>
        <Name text={entry.name} /> <span class={`tag ${entry.change}`}>{language.text(NAMES[entry.change])}</span>
      </h2>
      {entry.change === "expectation_changed" && <p class="warning">{language.text("expectationChanged")}</p>}
      <div class="panes">
        {[base, candidate].map((opened, side) => (
          <div
            key={side}
            ref={panes[side]}
            class="pane"
            tabIndex={0}
            role="region"
            aria-label={language.text(side === 0 ? "base" : "candidate")}
            onScroll={() => tie(side)}
          >
            <div class="caption">
              {language.text(side === 0 ? "base" : "candidate")}{" "}
              {opened.attempt && <Verdict verdict={opened.attempt.verdict} />}
            </div>
            {opened.attempt ? (
              <Conversation attempt={opened.attempt} headless />
            ) : (
              <p class="note">{language.text("notInThisRun")}</p>
            )}
          </div>
        ))}
      </div>
    </section>
  );
}

/** The scroll position at which the same invocation stands at the top of the other pane. */
function aligned(source: HTMLElement, target: HTMLElement): number {
  const ours = [...source.querySelectorAll<HTMLElement>("[data-invocation]")];
  const theirs = [...target.querySelectorAll<HTMLElement>("[data-invocation]")];
  let index = 0;
  while (index + 1 < ours.length && (ours[index + 1]?.offsetTop ?? 0) <= source.scrollTop) index++;
  const [own, other] = [ours[index], theirs[Math.min(index, theirs.length - 1)]];
  if (!own || !other) return source.scrollTop;
  const part = (source.scrollTop - own.offsetTop) / Math.max(1, own.offsetHeight);
  return other.offsetTop + part * other.offsetHeight;
}

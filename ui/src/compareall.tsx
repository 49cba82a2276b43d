// Several runs beside one base: each measure of each run, and the cases that moved in any of them.
import { useMemo, useState } from "preact/hooks";
import { usePage } from "./context";
import { type JoinedCase, joined, kindOf } from "./losses";
import { Name } from "./marks";
import { CHANGE_NAMES, conclusion, Difference, share, writeMeasure } from "./measures";
import { Table } from "./table";
import type { ComparedCase, ComparedMeasure, ComparisonView } from "./view";
import { visibleLine } from "./visible";

const PAGE = 50;

export function CompareAll({ comparisons }: { comparisons: readonly ComparisonView[] }) {
  const { language, run, link } = usePage();
  const base = comparisons[0]!.base;
  const runs = comparisons.map((comparison) => comparison.candidate);
  const measures = [...new Set(comparisons.flatMap((comparison) => comparison.rows.map((row) => row.measure)))];
  const columns = [language.text("measure"), visibleLine(base), ...runs.map(visibleLine)];
  return (
    <section aria-labelledby="all-title" class="compare-all">
      <h2 id="all-title">{language.text("allRuns", { base: visibleLine(base) })}</h2>
      <Table
        name={{ titleId: "all-title" }}
        columns={columns}
        rows={measures.map((measure) => ({
          key: measure,
          head: <Name text={measure} />,
          cells: [<Base comparisons={comparisons} measure={measure} />, ...comparisons.map((own) => <Cell comparison={own} measure={measure} />)],
        }))}
      />
      <MovedCases comparisons={comparisons} columns={columns.slice(1)} />
      <p class="runs-line">
        {language.text("comparison")}:{" "}
        {runs.map((own) => (
          <a key={own} href={link({ page: "compare", run: own, position: null })} aria-current={own === run.id ? "true" : undefined}>
            <code>{visibleLine(own)}</code>
          </a>
        ))}
      </p>
    </section>
  );
}

function rowOf(comparison: ComparisonView, measure: string): ComparedMeasure | undefined {
  return comparison.rows.find((row) => row.measure === measure);
}

function Base({ comparisons, measure }: { comparisons: readonly ComparisonView[]; measure: string }) {
  const { language } = usePage();
  for (const comparison of comparisons) {
    const row = rowOf(comparison, measure);
    if (row && row.base !== null) return <>{writeMeasure(language, row, comparison)(row.base)}</>;
  }
  return <>–</>;
}

/** The value of a run, its difference from the base, and whether it is more than chance. */
function Cell({ comparison, measure }: { comparison: ComparisonView; measure: string }) {
  const { language } = usePage();
  const row = rowOf(comparison, measure);
  if (!row || row.candidate === null) return <>–</>;
  const tone = row.verdict === "worse" ? "broken" : row.verdict === "better" ? "fixed" : "";
  const write = writeMeasure(language, row, comparison);
  return (
    <>
      {write(row.candidate)} <Difference row={row} comparison={comparison} />
      <div class={tone ? `tag ${tone}` : "muted"}>
        {row.comparable ? language.text(conclusion(row), { margin: write(comparison.margin) }) : language.text("notComparable")}
      </div>
    </>
  );
}

function MovedCases({ comparisons, columns }: { comparisons: readonly ComparisonView[]; columns: readonly string[] }) {
  const { language, source } = usePage();
  const [shown, setShown] = useState(PAGE);
  const criteria = source.runs[0]?.criteria ?? [];
  const cases = useMemo(() => joined(comparisons, criteria), [comparisons, criteria]);
  if (cases.length === 0) return null;
  return (
    <>
      <h3 id="moved-title">{language.text("movedCases")}</h3>
      <p class="muted">{language.text("casesFound", { count: cases.length })}</p>
      <Table
        name={{ titleId: "moved-title" }}
        columns={[language.text("case"), ...columns]}
        rows={cases.slice(0, shown).map((own, index) => ({
          key: index,
          head: <CaseLink own={own} comparisons={comparisons} />,
          cells: [share(own.entries.find(Boolean)?.base_passed), ...own.entries.map((entry) => <Change entry={entry} />)],
        }))}
      />
      {shown < cases.length && (
        <button type="button" onClick={() => setShown(shown + PAGE)}>
          {language.text("showMore", { count: Math.min(PAGE, cases.length - shown) })}
        </button>
      )}
    </>
  );
}

/** The name of a case, with a link to its two conversations in the comparison in which it lost most. */
function CaseLink({ own, comparisons }: { own: JoinedCase; comparisons: readonly ComparisonView[] }) {
  const { link } = usePage();
  const entry = own.entries[own.worst];
  const run = comparisons[own.worst]!.candidate;
  return (
    <a href={link({ page: "compare", run, position: entry?.candidate ?? entry?.base ?? null })}>
      <Name text={own.name} />
    </a>
  );
}

function Change({ entry }: { entry: ComparedCase | undefined }) {
  const { language } = usePage();
  if (!entry) return <>–</>;
  return (
    <>
      {share(entry.candidate_passed)} <span class={`tag ${entry.change}`}>{language.text(CHANGE_NAMES[kindOf(entry)])}</span>
    </>
  );
}

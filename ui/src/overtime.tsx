// Each criterion over the runs of an eval set: a line of its means with their intervals, and the numbers as a table.
import { useState } from "preact/hooks";
import { useLanguage } from "./context";
import { Estimate, Name } from "./marks";
import type { RunCriterion, RunRow } from "./view";
import { visibleLine } from "./visible";

const WIDTH = 220;
const HEIGHT = 48;

interface Point {
  readonly run: RunRow;
  readonly criterion: RunCriterion;
}

/** The points of each criterion, the oldest run first. A criterion with one point shows no change, and is left out. */
export function pointsOf(runs: readonly RunRow[]): Map<string, Point[]> {
  const points = new Map<string, Point[]>();
  for (const run of [...runs].reverse()) {
    for (const criterion of run.finished ? (run.criteria ?? []) : []) {
      const own = points.get(criterion.criterion) ?? [];
      own.push({ run, criterion });
      points.set(criterion.criterion, own);
    }
  }
  return new Map([...points].filter(([, own]) => own.length > 1));
}

export function Overtime({ runs }: { runs: readonly RunRow[] }) {
  const language = useLanguage();
  const suites = [...new Set(runs.map((run) => run.suite ?? ""))];
  const [wanted, setWanted] = useState("");
  const suite = suites.includes(wanted) ? wanted : (suites.find((own) => pointsOf(runs.filter((run) => (run.suite ?? "") === own)).size > 0) ?? "");
  const points = pointsOf(runs.filter((run) => (run.suite ?? "") === suite));
  if (points.size === 0 && suites.length < 2) return null;
  return (
    <section aria-labelledby="overtime-title">
      <h2 id="overtime-title">{language.text("overTime")}</h2>
      {suites.length > 1 && (
        <label class="choice">
          <span>{language.text("evalSet")}</span>
          <select value={suite} onChange={(event) => setWanted(event.currentTarget.value)}>
            {suites.map((own) => (
              <option key={own} value={own}>
                {visibleLine(own) || "–"}
              </option>
            ))}
          </select>
        </label>
      )}
      <div class="overtime">
        {[...points].map(([name, own]) => (
          <Criterion key={name} name={name} points={own} />
        ))}
      </div>
    </section>
  );
}

function Criterion({ name, points }: { name: string; points: readonly Point[] }) {
  const language = useLanguage();
  const last = points[points.length - 1]!;
  return (
    <figure>
      <figcaption>
        <Name text={name} /> <Estimate estimate={last.criterion.mean} unit={last.criterion.unit} />
      </figcaption>
      <Line points={points} />
      <details>
        <summary>{language.text("numbers")}</summary>
        <ol>
          {points.map(({ run, criterion }) => (
            <li key={run.id}>
              <a href={`#run=${encodeURIComponent(run.id)}`}>{visibleLine(run.id)}</a>{" "}
              <Estimate estimate={criterion.mean} unit={criterion.unit} />
            </li>
          ))}
        </ol>
      </details>
    </figure>
  );
}

function Line({ points }: { points: readonly Point[] }) {
  const all = points.flatMap(({ criterion: { mean, threshold } }) =>
    [mean.value, mean.low, mean.high, threshold].filter((value): value is number => typeof value === "number"),
  );
  const range = points[0]!.criterion.range;
  const low = range.low ?? Math.min(...all);
  const high = range.high ?? Math.max(...all);
  const x = (index: number) => 6 + ((WIDTH - 12) * index) / (points.length - 1);
  const y = (value: number) => HEIGHT - 5 - ((HEIGHT - 10) * (value - low)) / (high - low || 1);
  const threshold = points[points.length - 1]!.criterion.threshold;
  const path = points.map(({ criterion }, index) => `${index ? "L" : "M"}${x(index)} ${y(criterion.mean.value ?? low)}`);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      {typeof threshold === "number" && <line class="tick" x1="0" x2={WIDTH} y1={y(threshold)} y2={y(threshold)} />}
      {points.map(({ run, criterion: { mean } }, index) =>
        typeof mean.low === "number" && typeof mean.high === "number" ? (
          <line key={run.id} class="range" x1={x(index)} x2={x(index)} y1={y(mean.low)} y2={y(mean.high)} />
        ) : null,
      )}
      <path class="line" d={path.join("")} />
      {points.map(({ run, criterion }, index) => (
        <circle key={run.id} class="value" cx={x(index)} cy={y(criterion.mean.value ?? low)} r="2.5" />
      ))}
    </svg>
  );
}

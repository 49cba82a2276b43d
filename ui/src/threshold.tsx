// The threshold of a criterion as a tick that a reader moves, to see how many cases would pass. Nothing is stored.
import { useEffect, useState } from "preact/hooks";
import { usePage } from "./context";
import { Estimate, IntervalPicture } from "./marks";
import type { Interval } from "./numbers";
import type { Group } from "./source";
import type { CriterionView } from "./view";

const Z = 1.959963984540054;
const STEPS = 100;

/** Wilson's interval of a rate at 95 %. */
export function wilson(passed: number, total: number): Interval {
  if (total === 0) return {};
  const rate = passed / total;
  const spread = 1 + Z ** 2 / total;
  const centre = (rate + Z ** 2 / (2 * total)) / spread;
  const half = (Z / spread) * Math.sqrt((rate * (1 - rate)) / total + Z ** 2 / (4 * total ** 2));
  return {
    value: rate,
    low: passed === 0 ? 0 : Math.max(0, centre - half),
    high: passed === total ? 1 : Math.min(1, centre + half),
    method: "wilson",
  };
}

/** Returns how many cases reach a threshold, of those with a value. */
export function countPassed(values: readonly Group[], threshold: number, isLowerBetter: boolean): readonly [number, number] {
  let passed = 0;
  let total = 0;
  for (const { key, count } of values) {
    if (typeof key !== "number") continue;
    total += count;
    if (isLowerBetter ? key <= threshold : key >= threshold) passed += count;
  }
  return [passed, total];
}

/** Returns a number of a scale without the decimals that a hand cannot choose. */
export function rounded(value: number, low: number, high: number): number {
  const step = 10 ** Math.floor(Math.log10((high - low) / STEPS));
  return Number((Math.round(value / step) * step).toPrecision(12));
}

/** The mean of a criterion on its scale, with the tick of its threshold. */
export function MovableThreshold({ criterion, low, high: end }: { criterion: CriterionView; low: number; high: number }) {
  const { source, run, language } = usePage();
  const stored = criterion.threshold;
  const [tried, setTried] = useState<number | null>(null);
  const [values, setValues] = useState<readonly Group[] | null>(null);
  const [isNear, setNear] = useState(false);
  const isMoved = tried !== null;
  useEffect(() => {
    let isCurrent = true;
    if (isNear) source.values(run.id, criterion.criterion).then((found) => isCurrent && setValues(found), () => isCurrent && setTried(null));
    return () => {
      isCurrent = false;
    };
  }, [source, run.id, run.attempts, criterion.criterion, isNear]);
  // A scale without an end reaches the largest value. It is read before the hand moves the tick.
  const largest = (values ?? []).reduce((most, { key }) => (typeof key === "number" && key > most ? key : most), end);
  const high = typeof criterion.range.high === "number" ? end : largest;
  if (typeof stored !== "number" || !(high > low)) return <IntervalPicture estimate={criterion.mean} low={low} high={high} threshold={stored} />;
  const threshold = tried ?? stored;
  const sign = criterion.lower_is_better ? "≤" : "≥";
  const write = (value: number) => language.against(value, value)[0];
  const [passed, total] = countPassed(values ?? [], threshold, criterion.lower_is_better ?? false);
  const moveTo = (value: number) => {
    const next = rounded(value, low, high);
    setTried(next === stored ? null : next);
  };
  return (
    <>
      <span class="threshold">
        <IntervalPicture estimate={criterion.mean} low={low} high={high} threshold={stored} />
        <input
          type="range"
          min={low}
          max={high}
          step="any"
          value={threshold}
          title={language.text("tryThreshold")}
          aria-label={`${language.text("tryThreshold")}: ${criterion.criterion}`}
          aria-valuetext={`${sign} ${write(threshold)}`}
          onPointerEnter={() => setNear(true)}
          onFocus={() => setNear(true)}
          onInput={(event) => moveTo(Number(event.currentTarget.value))}
        />
      </span>
      {isMoved && values && (
        <div class="muted tried">
          <span role="status">
            {language.text("wouldReach", { threshold: `${sign} ${write(threshold)}`, passed, count: total })}{" "}
            <Estimate estimate={wilson(passed, total)} percent />
          </span>
          <div>{language.text(run.attempts === run.cases ? "onlyTried" : "onlyTriedMeans")}</div>
          <button type="button" class="quiet" onClick={() => setTried(null)}>
            {language.text("backTo", { value: `${sign} ${write(stored)}` })}
          </button>
        </div>
      )}
    </>
  );
}

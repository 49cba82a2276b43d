// How cases changed between runs, and which of them lost most.
import type { ComparedCase, ComparisonView, CriterionView } from "./view";

export const CHANGES = ["broken", "fixed", "flaky", "expectation_changed", "only_base", "only_candidate", "moved", "same"] as const;
export type Change = (typeof CHANGES)[number];

/** How a case changed. A case with the same verdict may have moved in its criteria. */
export function kindOf(entry: ComparedCase): Change {
  return entry.change === "same" && Object.keys(entry.moved ?? {}).length > 0 ? "moved" : entry.change;
}

/** How much a case lost, as shares of ranges: in what decides its verdict, and in what only informs. */
export interface Loss {
  readonly isBroken: boolean;
  readonly decided: number;
  readonly informed: number;
}

type Criteria = readonly Pick<CriterionView, "criterion" | "threshold" | "range" | "lower_is_better">[];

/** The loss of a case. A case that is only in one run, or whose expectation changed, has lost nothing. */
export function lossOf(entry: ComparedCase, criteria: Criteria): Loss {
  const isBroken = entry.change === "broken";
  if (["only_base", "only_candidate", "expectation_changed"].includes(entry.change)) return { isBroken, decided: 0, informed: 0 };
  const decided = [rateOf(entry.base_passed) - rateOf(entry.candidate_passed)];
  const informed: number[] = [];
  for (const [name, [before, after]] of Object.entries(entry.moved ?? {})) {
    if (before === null || after === null) continue;
    const criterion = criteria.find((own) => own.criterion === name);
    const loss = (before - after) / widthOf(criterion, before, after);
    const losses = typeof criterion?.threshold === "number" ? decided : informed;
    losses.push(criterion?.lower_is_better ? -loss : loss);
  }
  return { isBroken, decided: largest(decided), informed: largest(informed) };
}

/** The number that is farthest above 0, or if there is none, the one that is farthest below it. */
function largest(losses: readonly number[]): number {
  const most = Math.max(0, ...losses);
  return most > 0 ? most : Math.min(0, ...losses);
}

function rateOf([passed, attempts]: readonly [number, number]): number {
  return attempts ? passed / attempts : 0;
}

/** The width of the range of a criterion, or without a range the larger of two values. */
function widthOf(criterion: Criteria[number] | undefined, before: number, after: number): number {
  const { low, high } = criterion?.range ?? {};
  if (typeof low === "number" && typeof high === "number" && high > low) return high - low;
  return Math.max(Math.abs(before), Math.abs(after)) || 1;
}

/** Whether a loss comes before another: cases that broke first, then the largest losses. */
export function compareLosses(a: Loss, b: Loss): number {
  return Number(b.isBroken) - Number(a.isBroken) || b.decided - a.decided || b.informed - a.informed;
}

/** The cases of a comparison, the largest losses first. */
export function byLoss(cases: readonly ComparedCase[], criteria: Criteria): ComparedCase[] {
  return cases
    .map((entry) => ({ entry, loss: lossOf(entry, criteria) }))
    .sort((a, b) => compareLosses(a.loss, b.loss) || CHANGES.indexOf(kindOf(a.entry)) - CHANGES.indexOf(kindOf(b.entry)))
    .map(({ entry }) => entry);
}

/** A case in several comparisons with one base. */
export interface JoinedCase {
  readonly name: string;
  /** Its entry in each comparison, in their order. */
  readonly entries: readonly (ComparedCase | undefined)[];
  /** The place of the comparison in which it lost most. */
  readonly worst: number;
  readonly loss: Loss;
}

/** The cases that moved in any comparison, those first that lost most in one of them. */
export function joined(comparisons: readonly ComparisonView[], criteria: Criteria): JoinedCase[] {
  const found = new Map<string, (ComparedCase | undefined)[]>();
  comparisons.forEach((comparison, place) => {
    for (const entry of comparison.cases) {
      // Names may repeat in another eval set, but not at the same position of the base.
      const key = typeof entry.base === "number" ? `${entry.base}` : `+${entry.name}`;
      const entries = found.get(key) ?? comparisons.map(() => undefined);
      entries[place] = entry;
      found.set(key, entries);
    }
  });
  return [...found.values()]
    .filter((entries) => entries.some((entry) => entry && kindOf(entry) !== "same"))
    .map((entries) => {
      const losses = entries.map((entry, place) => ({ place, loss: entry && lossOf(entry, criteria) }));
      const known = losses.filter((own): own is { place: number; loss: Loss } => own.loss !== undefined);
      const [worst] = known.sort((a, b) => compareLosses(a.loss, b.loss));
      return { name: entries.find(Boolean)!.name, entries, worst: worst!.place, loss: worst!.loss };
    })
    .sort((a, b) => compareLosses(a.loss, b.loss));
}

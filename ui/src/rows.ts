// Which cases does a query find, and in which order?
import type { CaseList, Query } from "./source";
import type { CaseRow, ComparedCase } from "./view";

export type CaseChange = ComparedCase["change"];

const ATTENTION = ["failed", "error", "unscored", "passed", "informational"];

/** The verdict of the attempt that needs attention most. */
export function worstVerdict(row: CaseRow): string {
  let worst = ATTENTION.length - 1;
  for (const attempt of row.attempts) {
    worst = Math.min(worst, ATTENTION.indexOf(attempt.verdict));
  }
  return ATTENTION[worst] ?? "informational";
}

export function passedOf(row: CaseRow): number {
  return row.attempts.filter((attempt) => attempt.verdict === "passed").length;
}

/** Whether some attempts passed and others did not. */
export function isFlaky(row: CaseRow): boolean {
  const passed = passedOf(row);
  const failed = row.attempts.filter((attempt) => attempt.verdict === "failed" || attempt.verdict === "error").length;
  return passed > 0 && failed > 0;
}

/** A number by which rows are sorted: what needs attention comes first. */
export function attention(row: CaseRow): number {
  const worst = ATTENTION.indexOf(worstVerdict(row)) * 4;
  return worst + (isFlaky(row) ? 1 : 0) + (row.attempts.some((attempt) => attempt.invalid) ? 0 : 2);
}

export interface Names {
  readonly criteria: readonly string[];
  readonly tools: readonly string[];
  readonly changes: ReadonlyMap<number, CaseChange>;
}

function isAlone(attempt: CaseRow["attempts"][number]): boolean {
  return (attempt.verdict === "failed" || attempt.verdict === "error") && typeof attempt.mode !== "number";
}

/** Returns whether a row has the properties that a query asks for, apart from its text. */
export function matches(row: CaseRow, query: Query, names: Names): boolean {
  const criterion = query.criterion ? names.criteria.indexOf(query.criterion) : -1;
  const tool = query.tool ? names.tools.indexOf(query.tool) : -1;
  const attempts = row.attempts.filter(
    (attempt) =>
      (!query.verdict || attempt.verdict === query.verdict) &&
      (!query.criterion || attempt.failed?.includes(criterion) || attempt.unscored?.includes(criterion)) &&
      (!query.side || attempt.fault === query.side) &&
      (!query.tool || attempt.tools?.includes(tool)) &&
      (!query.mode || (query.mode === "alone" ? isAlone(attempt) : String(attempt.mode ?? "") === query.mode)) &&
      (!query.flags.includes("failed") || (attempt.verdict !== "passed" && attempt.verdict !== "informational")) &&
      (!query.flags.includes("labelled") || attempt.labelled) &&
      (!query.flags.includes("invalid") || attempt.invalid),
  );
  if (attempts.length === 0) return false;
  if (query.flags.includes("flaky") && !isFlaky(row)) return false;
  return !query.flags.includes("changed") || !["same", undefined].includes(names.changes.get(row.position));
}

type Attempt = CaseRow["attempts"][number];

export function needsAttention(attempt: Attempt): boolean {
  return attempt.verdict !== "passed" && attempt.verdict !== "informational";
}

/** Whether judges, or a judge and people, disagree about an attempt. */
export function isDisputed(attempt: Attempt): boolean {
  return Boolean(attempt.disputed);
}

const BATCH = 100;

/** The first case after a position, in the order of a list, of which an attempt is wanted. */
export async function followed(
  list: CaseList,
  position: number | null,
  wanted: (attempt: Attempt) => boolean,
): Promise<{ position: number; attempt: number } | null> {
  const start = position === null ? 0 : list.indexOf(position) + 1;
  for (let from = start; from < list.total; from += BATCH) {
    const to = Math.min(list.total, from + BATCH);
    await list.load(from, to);
    for (let index = from; index < to; index++) {
      const row = list.row(index);
      const found = row?.attempts.find(wanted);
      if (row && found) return { position: row.position, attempt: found.attempt };
    }
  }
  return null;
}

// How cases are sorted and grouped by a column.
import { worstVerdict } from "./rows";
import type { Group, SortKey } from "./source";
import type { CaseRow, RunView } from "./view";

function meanOf(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === "number");
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

/** The reason of a case without its numbers, so that failures of one kind have one reason. */
export function reasonOf(row: CaseRow): string {
  return (row.reason ?? "").replace(/[0-9]+(?:[.,][0-9]+)*/g, "#");
}

/** The value of a case in a column: the mean over its attempts, a text, or null if nothing is known. */
export function valueOf(row: CaseRow, key: string, run: Pick<RunView, "criteria">): SortKey {
  const { attempts } = row;
  if (key === "name") return row.name;
  if (key === "set") return row.eval_set;
  if (key === "verdict") return worstVerdict(row);
  if (key === "reason") return reasonOf(row);
  if (key === "mode") return attempts.find((attempt) => typeof attempt.mode === "number")?.mode ?? null;
  if (key === "tokens" || key === "seconds" || key === "cost") return meanOf(attempts.map((attempt) => attempt[key]));
  if (key.startsWith("g.")) return row.groups?.[key.slice(2)] ?? "";
  if (!key.startsWith("c.")) return null;
  const index = run.criteria.findIndex((criterion) => criterion.criterion === key.slice(2));
  return index < 0 ? null : meanOf(attempts.map((attempt) => attempt.values?.[index]));
}

function compare(a: SortKey, b: SortKey): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

/**
 * Sorts cases by a column, downwards if the name of the column begins with a minus. Cases without a value come last.
 * By mode or reason, the most frequent comes first.
 */
export function sorted(rows: readonly CaseRow[], sort: string, run: Pick<RunView, "criteria">): [SortKey, CaseRow][] {
  const isDown = sort.startsWith("-");
  const key = isDown ? sort.slice(1) : sort;
  const keyed = rows.map((row): [SortKey, CaseRow] => [valueOf(row, key, run), row]);
  const isEmpty = (value: SortKey) => value === null || value === "";
  const counts = new Map<SortKey, number>();
  if (isKind(key)) for (const [value] of keyed) counts.set(value, (counts.get(value) ?? 0) + 1);
  return keyed.sort(([a], [b]) => {
    if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
    const order = (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || compare(a, b);
    return isDown ? -order : order;
  });
}

/** Whether a column names the kind of a failure, by which cases are always grouped. */
export function isKind(key: string): boolean {
  return key === "mode" || key === "reason";
}

/** Counts the neighbours that have the same value. */
export function grouped(keys: readonly SortKey[]): Group[] {
  const groups: { key: SortKey; count: number }[] = [];
  for (const key of keys) {
    const last = groups[groups.length - 1];
    if (last && last.key === key) last.count += 1;
    else groups.push({ key, count: 1 });
  }
  return groups;
}

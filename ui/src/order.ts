// How cases are sorted and grouped by a column.
import { worstVerdict } from "./rows";
import type { Group, SortKey } from "./source";
import type { CaseRow, RunView } from "./view";

function meanOf(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === "number");
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

/** The value of a case in a column: the mean over its attempts, a text, or null if nothing is known. */
export function valueOf(row: CaseRow, key: string, run: Pick<RunView, "criteria">): SortKey {
  const { attempts } = row;
  if (key === "name") return row.name;
  if (key === "set") return row.eval_set;
  if (key === "verdict") return worstVerdict(row);
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

/** Sorts cases by a column, downwards if the name of the column begins with a minus. Cases without a value come last. */
export function sorted(rows: readonly CaseRow[], sort: string, run: Pick<RunView, "criteria">): [SortKey, CaseRow][] {
  const isDown = sort.startsWith("-");
  const key = isDown ? sort.slice(1) : sort;
  const keyed = rows.map((row): [SortKey, CaseRow] => [valueOf(row, key, run), row]);
  const isEmpty = (value: SortKey) => value === null || value === "";
  return keyed.sort(([a], [b]) => {
    if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
    return isDown ? compare(b, a) : compare(a, b);
  });
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

// The columns of the grid of cases: what they show, how wide they are, and which of them a reader wants to see.
import { useEffect, useState } from "preact/hooks";
import { usePage } from "./context";
import type { Language } from "./i18n";
import { quantity } from "./marks";
import { remember, remembered } from "./memory";
import { valueOf } from "./order";
import type { CaseRow, CriterionView, RunView } from "./view";
import { visibleLine } from "./visible";

const REMEMBERED = "columns";
const NUMBER = 88;
const FIXED = 620;
const MOST_KEPT = 200;
const KINDS = ["mode", "reason"] as const;

export interface Column {
  readonly key: string;
  readonly name: string;
  readonly criterion?: CriterionView;
  readonly canHide: boolean;
}

/** Every column by which cases can be sorted. */
export function columnsOf(run: RunView, language: Language): Column[] {
  const criteria = run.criteria.filter((criterion) => criterion.has_data !== false);
  return [
    { key: "verdict", name: language.text("verdict"), canHide: false },
    { key: "name", name: language.text("case"), canHide: false },
    ...criteria.map((criterion) => ({ key: `c.${criterion.criterion}`, name: criterion.criterion, criterion, canHide: true })),
    { key: "tokens", name: language.text("tokensName"), canHide: true },
    { key: "seconds", name: language.text("duration"), canHide: true },
    { key: "cost", name: language.text("cost"), canHide: true },
    { key: "set", name: language.text("evalSet"), canHide: true },
    ...(run.verdict === "passed" ? [] : KINDS.map((key) => ({ key, name: language.text(key), canHide: false }))),
    ...(run.groups ?? []).map((name) => ({ key: `g.${name}`, name, canHide: true })),
  ];
}

/** The columns that are shown: those that fit into the window, and what the reader chose otherwise. */
export function useColumns(run: RunView) {
  const { language } = usePage();
  const [width, setWidth] = useState(window.innerWidth);
  const [chosen, setChosen] = useState<Readonly<Record<string, boolean>>>(readChoices);
  useEffect(() => {
    const onResize = () => setWidth(window.innerWidth);
    window.addEventListener("resize", onResize);
    return () => window.removeEventListener("resize", onResize);
  }, []);
  const most = Math.max(0, Math.floor((Math.min(width, 1216) - FIXED) / NUMBER));
  const optional = columnsOf(run, language).filter((column) => column.canHide);
  // The criteria that decide come first, then tokens, time and cost, which have a place only if some is left.
  const fitting = new Set(
    [...optional]
      .sort((a, b) => rank(a) - rank(b))
      .filter((column) => rank(column) < 3 && chosen[column.key] !== false)
      .slice(0, most)
      .map((column) => column.key),
  );
  const shown = width < 768 ? [] : optional.filter((column) => chosen[column.key] ?? fitting.has(column.key));
  const show = (key: string, isShown: boolean) => {
    const next = { ...chosen, [key]: isShown };
    setChosen(next);
    remember(REMEMBERED, JSON.stringify(Object.entries(next).slice(-MOST_KEPT)));
  };
  return { shown, show };
}

function rank(column: Column): number {
  if (column.criterion) return typeof column.criterion.threshold === "number" ? 0 : 2;
  return ["tokens", "seconds", "cost"].includes(column.key) ? 1 : 3;
}

function readChoices(): Readonly<Record<string, boolean>> {
  try {
    const entries = JSON.parse(remembered(REMEMBERED) ?? "[]") as [string, boolean][];
    return Object.fromEntries(entries.map(([key, isShown]) => [String(key), isShown === true]));
  } catch {
    return {};
  }
}

/** The widths of the columns of the grid, verdict and name first, attempts last. */
export function widthsOf(columns: readonly Column[], isRepeated: boolean): string {
  const own = columns.map((column) => (column.key === "set" || column.key.startsWith("g.") ? "minmax(0, 7rem)" : "5.2rem"));
  return ["8.5rem", "minmax(8rem, 1fr)", ...own, isRepeated ? "8rem" : "6rem"].join(" ");
}

/** The value of a case in a column. A value of a criterion is tinted by its place in the range. */
export function Cell({ row, column }: { row: CaseRow; column: Column }) {
  const { language, run } = usePage();
  const value = valueOf(row, column.key, run);
  if (value === null || value === "") return <span class="muted">–</span>;
  if (typeof value === "string") return <bdi>{visibleLine(value)}</bdi>;
  if (column.key === "tokens") return <>{language.count(Math.round(value))}</>;
  if (column.key === "seconds") return <>{language.seconds(value)}</>;
  if (column.key === "cost") return <>{language.dollars(value)}</>;
  const { criterion } = column;
  const text = quantity(language.beside(value, criterion?.threshold)[0], criterion?.unit);
  const share = shareOf(value, criterion);
  if (share === null) return <>{text}</>;
  return (
    <span class={`tint ${toneOf(value, criterion)}`} style={{ "--share": `${Math.round(100 * share)}%` }}>
      {text}
    </span>
  );
}

/** The place of a value in the range of its criterion, 1 for the best, or null if the range has no end. */
function shareOf(value: number, criterion: CriterionView | undefined): number | null {
  const { low, high } = criterion?.range ?? {};
  if (typeof low !== "number" || typeof high !== "number" || high <= low) return null;
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return criterion?.lower_is_better ? 1 - share : share;
}

function toneOf(value: number, criterion: CriterionView | undefined): string {
  const threshold = criterion?.threshold;
  if (typeof threshold !== "number") return "";
  return (criterion?.lower_is_better ? value <= threshold : value >= threshold) ? "met" : "missed";
}

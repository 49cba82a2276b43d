// The grid of cases: a column for each criterion, and a virtual list that draws only the rows that can be seen.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Cell, type Column, widthsOf } from "./columns";
import { usePage } from "./context";
import { AttemptMarks, Name, sideWord, Verdict, verdictWord } from "./marks";
import { useModes } from "./modes";
import { reasonText } from "./reasons";
import { isFlaky, passedOf, worstVerdict } from "./rows";
import type { CaseList, Query, SortKey } from "./source";
import type { CaseRow } from "./view";

export const ROW = 64;
const MARGIN = 12;
const MOST_PRINTED = 1000;
const FLAKY = { agent: "flakyAgent", judge: "flakyJudge", unknown: "flaky" } as const;

interface GridProps {
  readonly list: CaseList;
  readonly columns: readonly Column[];
  readonly change: (part: Partial<Query>) => void;
}

/** The rows that can be seen, and the row that has the focus. The page itself scrolls. */
export function Grid({ list, columns, change }: GridProps) {
  const { language, state, navigate, run } = usePage();
  const groups = groupStarts(list);
  const groupName = useGroupNames(state.query.sort);
  const printing = useRef(false);
  const grid = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 30]);
  const [current, setCurrent] = useState(() => Math.max(0, state.position === null ? 0 : list.indexOf(state.position)));
  const active = Math.min(current, Math.max(0, list.total - 1));
  // Keys can come faster than the page is drawn, so the place and the row that waits for the focus are no state of it.
  const place = useRef(active);
  place.current = active;
  const waiting = useRef<number | null>(null);

  useLayoutEffect(() => {
    const measure = () => {
      if (!grid.current) return;
      const top = -grid.current.getBoundingClientRect().top;
      const isPrinting = printing.current;
      const first = isPrinting ? 0 : Math.max(0, Math.floor(top / ROW) - MARGIN);
      const seen = isPrinting ? MOST_PRINTED : Math.ceil((top + window.innerHeight) / ROW) + MARGIN;
      const last = Math.min(list.total, seen);
      setRange(([from, to]) => (from === first && to === last ? [from, to] : [first, last]));
      void list.load(first, last).then(() => setRange(([from, to]) => [from, to]));
    };
    const print = (isPrinting: boolean) => () => {
      printing.current = isPrinting;
      measure();
    };
    const [before, after] = [print(true), print(false)];
    measure();
    window.addEventListener("scroll", measure, { passive: true });
    window.addEventListener("resize", measure);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("scroll", measure);
      window.removeEventListener("resize", measure);
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, [list]);

  // The rows of a server are read before the page is printed: the event of the printer does not wait for them.
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "p") return;
      const last = Math.min(list.total, MOST_PRINTED);
      if (Array.from({ length: last }, (_, index) => list.row(index)).every(Boolean)) return;
      event.preventDefault();
      void list.load(0, last).then(() => window.print());
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [list]);

  const focusWaiting = () => {
    if (waiting.current === null) return;
    const row = grid.current?.querySelector<HTMLElement>(`[data-index="${waiting.current}"]`);
    if (!row) return;
    waiting.current = null;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  useLayoutEffect(focusWaiting);

  const move = (index: number) => {
    const next = Math.min(Math.max(0, index), list.total - 1);
    place.current = next;
    waiting.current = next;
    setCurrent(next);
    const box = grid.current?.getBoundingClientRect();
    if (box) {
      const top = box.top + next * ROW;
      if (top < 60 || top + ROW > window.innerHeight) window.scrollBy({ top: top - window.innerHeight / 2 });
    }
    focusWaiting();
  };
  const open = (row: CaseRow | undefined) => {
    if (!row) return;
    const worst = row.attempts.find((attempt) => attempt.verdict === worstVerdict(row));
    navigate({ page: "case", position: row.position, attempt: worst?.attempt ?? 1 });
  };

  useLayoutEffect(() => {
    const onAction = (event: Event) => {
      const action = (event as CustomEvent<string>).detail;
      const isIn = waiting.current !== null || grid.current?.contains(document.activeElement);
      if (action === "next") move(isIn ? place.current + 1 : place.current);
      else if (action === "previous") move(isIn ? place.current - 1 : place.current);
      else if (action === "open" && isIn) open(list.row(place.current));
    };
    document.addEventListener("page-action", onAction);
    return () => document.removeEventListener("page-action", onAction);
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const step = steps[event.key];
    if (step !== undefined) move(place.current + step);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(list.total - 1);
    else return;
    event.preventDefault();
  };

  const [from, to] = range;
  const indexes = Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place);
  if (!printing.current && list.total > 0 && (active < from || active >= to)) indexes.push(active);
  const widths = widthsOf(columns, Boolean(run.clustered));
  return (
    <div
      class="case-grid"
      role="grid"
      aria-labelledby="cases-title"
      aria-rowcount={list.total}
      aria-colcount={columns.length + 3}
      onKeyDown={onKeyDown}
    >
      <Head columns={columns} widths={widths} query={state.query} change={change} />
      <div ref={grid} class="grid" role="rowgroup" style={{ height: `${list.total * ROW}px` }}>
        {indexes.map((index) => (
          <Row
            key={index}
            row={list.row(index)}
            index={index}
            group={groups.get(index)}
            groupName={groupName}
            isCurrent={index === active}
            onOpen={open}
            onFocus={() => setCurrent(index)}
            columns={columns}
            widths={widths}
          />
        ))}
      </div>
      {list.total > MOST_PRINTED && <p class="printed-only">{language.text("printedOf", { count: MOST_PRINTED, total: list.total })}</p>}
    </div>
  );
}

/** The texts of groups by the index of their first case. */
function groupStarts(list: CaseList): Map<number, GroupStart> {
  const starts = new Map<number, GroupStart>();
  let index = 0;
  for (const group of list.groups) {
    starts.set(index, group);
    index += group.count;
  }
  return starts;
}

type GroupStart = CaseList["groups"][number];

interface HeadProps {
  readonly columns: readonly Column[];
  readonly widths: string;
  readonly query: Query;
  readonly change: (part: Partial<Query>) => void;
}

/** The names of the columns. Each sorts the cases by its column, first upwards, then downwards. */
function Head({ columns, widths, query, change }: HeadProps) {
  const { language } = usePage();
  const sortOf = (key: string) => (query.sort === key ? "ascending" : query.sort === `-${key}` ? "descending" : undefined);
  const next = (key: string) => (query.sort === key ? `-${key}` : query.sort === `-${key}` ? "" : key);
  const fixed = [
    ["verdict", language.text("verdict")],
    ["name", language.text("case")],
  ] as const;
  const named = [...fixed, ...columns.map((column) => [column.key, column.name] as const)];
  return (
    <div class="grid-head" role="row" style={{ gridTemplateColumns: widths }}>
      {named.map(([key, name]) => (
        <div key={key} role="columnheader" aria-sort={sortOf(key)} class={fixed.some(([own]) => own === key) ? "" : "value"}>
          <button type="button" class="quiet" title={name} onClick={() => change({ sort: next(key) })}>
            <span>
              <Name text={name} />
            </span>{" "}
            <span aria-hidden="true">{sortOf(key) === "ascending" ? "▲" : sortOf(key) ? "▼" : ""}</span>
          </button>
        </div>
      ))}
      <div role="columnheader">
        <span class="visually-hidden">{language.text("attempts")}</span>
      </div>
    </div>
  );
}

interface RowProps {
  row: CaseRow | undefined;
  index: number;
  isCurrent: boolean;
  group: GroupStart | undefined;
  groupName: (key: SortKey) => string;
  columns: readonly Column[];
  widths: string;
  onOpen: (row: CaseRow | undefined) => void;
  onFocus: () => void;
}

function Row({ row, index, isCurrent, onOpen, onFocus, group, groupName, columns, widths }: RowProps) {
  const { language } = usePage();
  const style = { transform: `translateY(${index * ROW}px)`, gridTemplateColumns: widths };
  if (!row) {
    return (
      <div class="row" role="row" aria-rowindex={index + 1} style={style}>
        <div role="gridcell">…</div>
      </div>
    );
  }
  const several = row.attempts.length > 1;
  return (
    <div
      class={`row ${row.verdict} ${group ? "group-start" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      data-index={index}
      style={style}
      tabIndex={isCurrent ? 0 : -1}
      onClick={() => onOpen(row)}
      onFocus={onFocus}
    >
      <div role="gridcell" class="row-verdict">
        {group && (
          <span class="group-name">
            <Name text={groupName(group.key)} /> · {language.text("casesFound", { count: group.count })}
          </span>
        )}
        <Verdict verdict={row.verdict} />
        {isFlaky(row) && <span class="tag">{language.text(FLAKY[row.cause ?? "unknown"])}</span>}
      </div>
      <div role="gridcell" class="row-name">
        <div class="name">
          <Name text={row.name} />
        </div>
        <div class="muted">
          <Name text={row.reason ? reasonText(language, row.reason) : row.query || ""} />
        </div>
      </div>
      {columns.map((column) => (
        <div key={column.key} role="gridcell" class="value">
          <Cell row={row} column={column} />
        </div>
      ))}
      <div role="gridcell" class="row-attempts">
        {several ? (
          <>
            <AttemptMarks attempts={row.attempts} />
            <span class="muted">
              {language.count(passedOf(row))}/{language.count(row.attempts.length)}
            </span>
          </>
        ) : (
          row.attempts[0]?.fault && <span class="tag">{sideWord(language, row.attempts[0].fault)}</span>
        )}
      </div>
    </div>
  );
}

/** How the groups of a column are called. The group of a failure mode has the name of the mode. */
function useGroupNames(sort: string): (key: SortKey) => string {
  const { language } = usePage();
  const column = sort.replace(/^-/, "");
  const modes = useModes();
  const names = new Map(modes?.modes.map((mode) => [mode.number, mode.name]));
  return (key) => {
    if (column === "mode") return key === null ? language.text("withoutMode") : reasonText(language, names.get(Number(key)) ?? String(key));
    if (key === null || key === "") return "–";
    if (typeof key === "number") return language.number(key);
    if (column === "reason") return reasonText(language, key);
    return column === "verdict" ? verdictWord(language, key) : key;
  };
}

// The list of cases: filters, search, and a virtual list that draws only the rows that can be seen.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { usePage } from "./context";
import { badge } from "./keys";
import { AttemptMarks, Name, Verdict } from "./marks";
import { isFlaky, passedOf, worstVerdict } from "./rows";
import { SearchBox } from "./searchbox";
import { type CaseList, EVERYTHING, type Filter, type Query } from "./source";
import { isLimited } from "./state";
import type { CaseRow } from "./view";
import { visibleLine } from "./visible";

export const ROW = 64;
const MARGIN = 12;
const PAUSE = 120;
const SIDES = ["agent", "expectation", "environment", "simulator", "judge", "infrastructure"];
const FLAGS: readonly [Filter, "flaky" | "changed" | "labelled" | "invalid"][] = [
  ["flaky", "flaky"],
  ["changed", "changed"],
  ["labelled", "labelled"],
  ["invalid", "invalid"],
];

const FLAKY = { agent: "flakyAgent", judge: "flakyJudge", unknown: "flaky" } as const;

/** The list that belongs to a query. While a new list is read, the old list stays. */
export function useList(query: Query): { list: CaseList | null; isReading: boolean } {
  const { source, run } = usePage();
  const [list, setList] = useState<CaseList | null>(null);
  const [isReading, setReading] = useState(true);
  const [changes, setChanges] = useState(0);
  const key = JSON.stringify(query);
  useEffect(() => source.watch(() => setChanges((count) => count + 1)), [source]);
  useEffect(() => {
    let isCurrent = true;
    setReading(true);
    void source.list(run.id, query).then((found) => {
      if (!isCurrent) return;
      setList(found);
      setReading(false);
    });
    return () => {
      isCurrent = false;
    };
  }, [source, run.id, key, changes]);
  return { list, isReading };
}

export function Cases() {
  const { language, state, navigate } = usePage();
  const { query } = state;
  const { list, isReading } = useList(query);
  // A text is searched a moment after it was typed: by then another filter or another page may be chosen.
  const change = useCallback(
    (part: Partial<Query>) => navigate((now) => (now.page === "summary" ? { query: { ...now.query, ...part } } : {})),
    [navigate],
  );
  return (
    <section class="cases" aria-labelledby="cases-title">
      <h2 id="cases-title">{language.text("cases")}</h2>
      <Toolbar query={query} change={change} />
      <p class="muted" role="status" aria-live="polite">
        {list && !isReading ? language.text("casesFound", { count: list.total }) : language.text("searching")}
      </p>
      {list && <Grid list={list} />}
    </section>
  );
}

function Toolbar({ query, change }: { query: Query; change: (part: Partial<Query>) => void }) {
  const { language, run, source } = usePage();
  const [text, setText] = useState(query.text);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(query.text), [query.text]);
  const type = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change({ text: value }), PAUSE);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const flags = FLAGS.filter(
    ([flag]) =>
      (flag !== "changed" || source.comparison) &&
      (flag !== "labelled" || run.labelled) &&
      (flag !== "flaky" || run.clustered) &&
      (flag !== "invalid" || Object.keys(run.invalid).length > 0),
  );
  const toggle = (flag: Filter) => {
    const others = query.flags.filter((entry) => entry !== flag);
    change({ flags: query.flags.includes(flag) ? others : [...others, flag] });
  };
  return (
    <div class="toolbar" role="search">
      <SearchBox text={text} hint={language.text("searchHint")} onText={type} />
      <Choice
        name={language.text("verdict")}
        value={query.verdict}
        options={Object.keys(run.counts)}
        onChange={(verdict) => change({ verdict })}
      />
      <Choice
        name={language.text("criterion")}
        value={query.criterion}
        options={run.criteria
          .filter((criterion) => criterion.failed || criterion.unscored || criterion.errors)
          .map((criterion) => criterion.criterion)}
        onChange={(criterion) => change({ criterion })}
      />
      <Choice name={language.text("fault")} value={query.side} options={SIDES} onChange={(side) => change({ side })} />
      <Choice
        name={language.text("tool")}
        value={query.tool}
        options={run.tools ?? []}
        onChange={(tool) => change({ tool })}
      />
      {query.mode && (
        <Toggle isOn onToggle={() => change({ mode: "" })}>
          {language.text("mode")} {query.mode === "alone" ? language.text("withoutMode") : query.mode}
        </Toggle>
      )}
      <Toggle isOn={query.flags.includes("failed")} onToggle={() => toggle("failed")}>
        {language.text("onlyFailed")} <kbd aria-hidden="true">{badge("failed")}</kbd>
      </Toggle>
      {flags.map(([flag, name]) => (
        <Toggle key={flag} isOn={query.flags.includes(flag)} onToggle={() => toggle(flag)}>
          {language.text(name)}
        </Toggle>
      ))}
      {isLimited(query) && (
        <button type="button" class="quiet" onClick={() => change(EVERYTHING)}>
          {language.text("clear")}
        </button>
      )}
    </div>
  );
}

function Toggle(props: { isOn: boolean; onToggle: () => void; children: preact.ComponentChildren }) {
  return (
    <button type="button" class="toggle" aria-pressed={props.isOn} onClick={props.onToggle}>
      {props.children}
    </button>
  );
}

function Choice(props: { name: string; value: string; options: readonly string[]; onChange: (value: string) => void }) {
  const { language } = usePage();
  if (props.options.length === 0 && !props.value) return null;
  const options = props.value && !props.options.includes(props.value) ? [...props.options, props.value] : props.options;
  return (
    <label class="choice">
      <span>{props.name}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        <option value="">{language.text("all")}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {visibleLine(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The rows that can be seen, and the row that has the focus. The page itself scrolls. */
function Grid({ list }: { list: CaseList }) {
  const { language, state, navigate } = usePage();
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
      const first = Math.max(0, Math.floor(top / ROW) - MARGIN);
      const last = Math.min(list.total, Math.ceil((top + window.innerHeight) / ROW) + MARGIN);
      setRange(([from, to]) => (from === first && to === last ? [from, to] : [first, last]));
      void list.load(first, last).then(() => setRange(([from, to]) => [from, to]));
    };
    measure();
    window.addEventListener("scroll", measure, { passive: true });
    window.addEventListener("resize", measure);
    return () => {
      window.removeEventListener("scroll", measure);
      window.removeEventListener("resize", measure);
    };
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
  if (list.total > 0 && (active < from || active >= to)) indexes.push(active);
  return (
    <div
      ref={grid}
      class="grid"
      role="grid"
      aria-labelledby="cases-title"
      aria-rowcount={list.total}
      aria-colcount={3}
      style={{ height: `${list.total * ROW}px` }}
      onKeyDown={onKeyDown}
    >
      {indexes.map((index) => (
        <Row
          key={index}
          row={list.row(index)}
          index={index}
          isCurrent={index === active}
          onOpen={open}
          onFocus={() => setCurrent(index)}
          label={language.text("openCase")}
        />
      ))}
    </div>
  );
}

interface RowProps {
  row: CaseRow | undefined;
  index: number;
  isCurrent: boolean;
  label: string;
  onOpen: (row: CaseRow | undefined) => void;
  onFocus: () => void;
}

function Row({ row, index, isCurrent, onOpen, onFocus }: RowProps) {
  const { language } = usePage();
  const style = { transform: `translateY(${index * ROW}px)` };
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
      class={`row ${row.verdict}`}
      role="row"
      aria-rowindex={index + 1}
      data-index={index}
      style={style}
      tabIndex={isCurrent ? 0 : -1}
      onClick={() => onOpen(row)}
      onFocus={onFocus}
    >
      <div role="gridcell" class="row-verdict">
        <Verdict verdict={row.verdict} />
        {isFlaky(row) && <span class="tag">{language.text(FLAKY[row.cause ?? "unknown"])}</span>}
      </div>
      <div role="gridcell" class="row-name">
        <div class="name">
          <Name text={row.name} />
        </div>
        <div class="muted">
          <Name text={row.reason || row.query || ""} />
        </div>
      </div>
      <div role="gridcell" class="row-attempts">
        {several ? (
          <>
            <AttemptMarks attempts={row.attempts} />
            <span class="muted">
              {language.count(passedOf(row))}/{language.count(row.attempts.length)}
            </span>
          </>
        ) : (
          row.attempts[0]?.fault && <span class="tag" lang="en">{row.attempts[0].fault}</span>
        )}
      </div>
    </div>
  );
}

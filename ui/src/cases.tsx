// The list of cases: filters, search, and a virtual list that draws only the rows that can be seen.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { columnsOf, useColumns } from "./columns";
import { usePage } from "./context";
import { Fold } from "./fold";
import { Grid } from "./grid";
import { badge } from "./keys";
import { Name, SIDES, sideWord, verdictWord } from "./marks";
import { isKind } from "./order";
import { SearchBox } from "./searchbox";
import { type CaseList, EVERYTHING, type Filter, type Query } from "./source";
import { isLimited } from "./state";
import { visibleLine } from "./visible";

const PAUSE = 120;
const FLAGS: readonly [Filter, "flaky" | "changed" | "labelled" | "invalid"][] = [
  ["flaky", "flaky"],
  ["changed", "changed"],
  ["labelled", "labelled"],
  ["invalid", "invalid"],
];

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
    source.list(run.id, query).then(
      (found) => {
        if (!isCurrent) return;
        setList(found);
        setReading(false);
      },
      // The search was ended by a later one, or the server is gone, which the page says elsewhere.
      () => isCurrent && setReading(false),
    );
    return () => {
      isCurrent = false;
    };
  }, [source, run.id, key, changes]);
  return { list, isReading };
}

export function Cases() {
  const { language, state, navigate, run } = usePage();
  const { query } = state;
  const { list, isReading } = useList(query);
  const columns = useColumns(run);
  // A text is searched a moment after it was typed: by then another filter or another page may be chosen.
  const change = useCallback(
    (part: Partial<Query>) => navigate((now) => (now.page === "summary" ? { query: { ...now.query, ...part } } : {})),
    [navigate],
  );
  return (
    <section class="cases" aria-labelledby="cases-title">
      <h2 id="cases-title">{language.text("cases")}</h2>
      <Toolbar query={query} change={change} />
      <Arrangement query={query} change={change} columns={columns} />
      <p class="muted" role="status" aria-live="polite">
        {list && !isReading ? language.text("casesFound", { count: list.total }) : language.text("searching")}
      </p>
      {list && <Grid list={list} columns={columns.shown} change={change} />}
    </section>
  );
}

interface ArrangementProps {
  readonly query: Query;
  readonly change: (part: Partial<Query>) => void;
  readonly columns: ReturnType<typeof useColumns>;
}

/** How the cases are sorted and grouped, and which columns are shown. */
function Arrangement({ query, change, columns }: ArrangementProps) {
  const { language, run } = usePage();
  const all = columnsOf(run, language);
  const key = query.sort.replace(/^-/, "");
  return (
    <div class="toolbar arrangement">
      <Choice
        name={language.text("sortBy")}
        value={key}
        options={all.map((column) => column.key)}
        names={Object.fromEntries(all.map((column) => [column.key, column.name]))}
        none={language.text("byAttention")}
        onChange={(sort) => change({ sort, ...(isKind(sort) ? { group: true } : {}) })}
      />
      {key && (
        <>
          <Toggle isOn={query.sort.startsWith("-")} onToggle={() => change({ sort: query.sort.startsWith("-") ? key : `-${key}` })}>
            {language.text("descending")}
          </Toggle>
          <Toggle isOn={query.group} onToggle={() => change({ group: !query.group })}>
            {language.text("grouped")}
          </Toggle>
        </>
      )}
      <Fold class="menu columns-menu" summary={language.text("columns")}>
        {() => (
          <div class="menu-items">
            {all.filter((column) => column.canHide).map((column) => (
              <label key={column.key} class="check">
                <input
                  type="checkbox"
                  checked={columns.shown.some((shown) => shown.key === column.key)}
                  onChange={(event) => columns.show(column.key, event.currentTarget.checked)}
                />{" "}
                <Name text={column.name} />
              </label>
            ))}
          </div>
        )}
      </Fold>
    </div>
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
      (flag !== "changed" || source.comparisons.length > 0) &&
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
        names={Object.fromEntries(Object.keys(run.counts).map((verdict) => [verdict, verdictWord(language, verdict)]))}
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
      <Choice
        name={language.text("fault")}
        value={query.side}
        options={SIDES}
        names={Object.fromEntries(SIDES.map((side) => [side, sideWord(language, side)]))}
        onChange={(side) => change({ side })}
      />
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

interface ChoiceProps {
  readonly name: string;
  readonly value: string;
  readonly options: readonly string[];
  /** The names of options that are not shown as they are. */
  readonly names?: Readonly<Record<string, string>>;
  readonly none?: string;
  readonly onChange: (value: string) => void;
}

function Choice(props: ChoiceProps) {
  const { language } = usePage();
  if (props.options.length === 0 && !props.value) return null;
  const options = props.value && !props.options.includes(props.value) ? [...props.options, props.value] : props.options;
  return (
    <label class="choice">
      <span>{props.name}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        <option value="">{props.none ?? language.text("all")}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {visibleLine(props.names?.[option] ?? option)}
          </option>
        ))}
      </select>
    </label>
  );
}

// The page of a run, or of two runs: navigation, keys, and the state in the fragment.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Case } from "./attempt";
import { Bar } from "./bar";
import { type Choices, useChoices } from "./choices";
import { Compare } from "./compare";
import { LanguageContext, PageContext, type Page, ReadingContext } from "./context";
import { Help } from "./help";
import { actionIn, isTyping, KEYS, NOTE_KEYS } from "./keys";
import { remember, remembered } from "./memory";
import { followed, isDisputed, needsAttention } from "./rows";
import { Setup } from "./setup";
import { type Filter, EVERYTHING, type Source } from "./source";
import { boardOf, historyOf, moved, RUNS, type State, format, labelsOf, parse } from "./state";
import { Summary } from "./summary";
import { visibleLine } from "./visible";

/** The page of a file, which has no list of runs around it. */
export function FilePage({ source }: { source: Source }) {
  return <App source={source} choices={useChoices(source.language)} />;
}

export function App({ source, choices }: { source: Source; choices: Choices }) {
  const ids = useMemo(() => source.runs.map((run) => run.id), [source]);
  const [state, setState] = useState(() => parse(location.hash, ids));
  const [showsThoughts, setThoughts] = useState(false);
  const [showsExpected, setExpected] = useState(true);
  const [formats, setFormats] = useState(remembered("markdown") !== "off");
  const [hasHelp, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { language, singleKeys } = choices;
  const [, setChanges] = useState(0);
  useEffect(() => source.watch(() => setChanges((count) => count + 1)), [source]);
  const run = source.runs.find((entry) => entry.id === state.run) ?? source.runs[source.runs.length - 1]!;

  const navigate = useCallback<Page["navigate"]>((change) => {
    setState((last) => {
      // The address may have changed since, and its event is still to come.
      const address = parse(location.hash, ids);
      const old = format(address) === format(last) ? last : address;
      const next = moved(old, typeof change === "function" ? change(old) : change);
      const fragment = format(next);
      // A filter is no step of its own in the history of the browser.
      if (fragment !== location.hash) {
        if (next.page === old.page && next.position === old.position) history.replaceState(null, "", fragment);
        else history.pushState(null, "", fragment);
      }
      return next;
    });
  }, [ids]);
  const link = useCallback((change: Partial<State>) => format(moved(state, change)), [state]);

  useEffect(() => {
    const onHash = () => setState(parse(location.hash, ids));
    window.addEventListener("hashchange", onHash);
    window.addEventListener("popstate", onHash);
    return () => {
      window.removeEventListener("hashchange", onHash);
      window.removeEventListener("popstate", onHash);
    };
  }, [ids]);

  useEffect(() => {
    document.title = visibleLine(`${state.page === "case" && state.name ? state.name : run.verdict} – ${run.id}`);
  }, [run, state.page, state.name]);

  // Another page begins at its top, with the focus on its title, so that a screen reader reads it.
  const place = `${state.page}/${state.run}/${state.page === "compare" ? "" : state.position}`;
  const lastPlace = useRef(place);
  const scrolls = useRef(new Map<string, number>());
  useEffect(() => {
    if (lastPlace.current === place) return;
    lastPlace.current = place;
    window.scrollTo(0, state.page === "summary" ? (scrolls.current.get("summary") ?? 0) : 0);
    main.current?.focus({ preventScroll: true });
  }, [place, state.page]);
  useEffect(() => {
    const onScroll = () => {
      if (state.page === "summary") scrolls.current.set("summary", window.scrollY);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, [state.page]);

  const [neighbours, setNeighbours] = useState<readonly number[]>([]);
  const queryKey = JSON.stringify(state.query);
  useEffect(() => {
    let isCurrent = true;
    if (state.page !== "case" || state.position === null) return;
    void source.list(run.id, state.query).then(async (list) => {
      const own = list.indexOf(state.position ?? -1);
      await list.load(Math.max(0, own - 1), own + 2);
      const positions = [own - 1, own + 1].map((index) => list.row(index)?.position ?? -1);
      if (isCurrent) setNeighbours(positions);
    });
    return () => {
      isCurrent = false;
    };
  }, [source, run.id, state.page, state.position, queryKey]);

  // Keys are heard from the moment at which the page is drawn, hence no effect that waits.
  useLayoutEffect(() => {
    const act = (action: string) => document.dispatchEvent(new CustomEvent("page-action", { detail: action }));
    const onKey = (event: KeyboardEvent) => {
      if (hasHelp) return;
      const action = actionIn(source.canNote ? NOTE_KEYS : KEYS, event, isTyping(event.target), singleKeys);
      if (!action) return;
      if (action === "open" && event.target instanceof HTMLElement && !event.target.matches("[role=row]")) return;
      if (action === "back" && event.target instanceof HTMLInputElement) {
        event.target.blur();
        main.current?.focus({ preventScroll: true });
        return;
      }
      event.preventDefault();
      act(action);
    };
    const onAction = (event: Event) => {
      const action = (event as CustomEvent<string>).detail;
      if (action === "help") setHelp(true);
      else if (action === "thoughts") setThoughts((on) => !on);
      else if (action === "markdown") {
        remember("markdown", formats ? "off" : "on");
        setFormats(!formats);
      } else if (action === "expected") setExpected((on) => !on);
      else if (action === "back" && state.page !== "summary") navigate({ page: "summary" });
      else if (action === "back" && source.hasOtherRuns) location.hash = RUNS;
      else if (action === "compare" && source.comparisons.length > 0) navigate({ page: state.page === "compare" ? "summary" : "compare" });
      else if (action === "search") {
        if (state.page !== "summary") navigate({ page: "summary" });
        setTimeout(() => document.getElementById("search")?.focus());
      } else if (action === "failed") {
        const flags = state.query.flags.filter((flag) => flag !== "failed");
        const next: Filter[] = state.query.flags.includes("failed") ? flags : [...flags, "failed"];
        navigate({ page: "summary", query: { ...state.query, flags: next } });
      } else if (state.page === "case" && (action === "next" || action === "previous")) {
        const position = neighbours[action === "next" ? 1 : 0] ?? -1;
        if (position >= 0) navigate({ position, attempt: 1 });
      } else if (action === "nextFailed" || action === "nextDisputed") {
        const wanted = action === "nextFailed" ? needsAttention : isDisputed;
        void source
          .list(run.id, state.query)
          .then((list) => followed(list, state.page === "case" ? state.position : null, wanted))
          .then((found) => found && navigate({ page: "case", ...found }));
      }
    };
    document.addEventListener("keydown", onKey);
    document.addEventListener("page-action", onAction);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("page-action", onAction);
    };
  });

  const page: Page = { language, source, state, run, navigate, link };
  const reading = useMemo(() => ({ showsThoughts, showsExpected, formats }), [showsThoughts, showsExpected, formats]);
  const isAt = (name: string) => state.page === name || (name === "summary" && state.page === "case");
  const names = ["summary", ...(source.comparisons.length > 0 ? (["compare"] as const) : []), "setup"] as const;
  const texts = { summary: "summary", compare: "comparison", setup: "setup" } as const;
  const tabs = names.map((name) => ({
    link: link({ page: name }),
    text: language.text(texts[name]),
    isCurrent: isAt(name),
  }));
  const back = { link: RUNS, text: language.text("runs"), isCurrent: false };
  const board = { link: boardOf(run.id), text: language.text("board"), isCurrent: false };
  const series = { link: historyOf(run.id, language.code, choices.theme), text: language.text("history"), isCurrent: false };
  const labels = { link: labelsOf(run.id), text: language.text("labels"), isCurrent: false };
  return (
    <LanguageContext.Provider value={language}>
      <PageContext.Provider value={page}>
        <Bar
          choices={choices}
          main={main}
          tabs={source.hasOtherRuns ? [back, ...tabs, ...(run.finished ? [series] : []), labels, board] : tabs}
          onHelp={() => setHelp(true)}
        >
          {source.runs.length > 1 ? (
            <label class="choice">
              <span class="visually-hidden">{language.text("run")}</span>
              <select
                value={run.id}
                onChange={(event) =>
                  navigate({ run: event.currentTarget.value, page: "summary", position: null, attempt: 1, query: EVERYTHING })
                }
              >
                {source.runs.map((entry) => (
                  <option key={entry.id} value={entry.id}>
                    {visibleLine(entry.id)}
                  </option>
                ))}
              </select>
            </label>
          ) : (
            <code class="run-id">{visibleLine(run.id)}</code>
          )}
        </Bar>
        <main id="main" ref={main} tabIndex={-1}>
          {source.problem() && (
            <p class="callout warning" role="alert">
              {source.problem() === "lost" ? language.text("lostServer") : visibleLine(source.problem())}
            </p>
          )}
          <ReadingContext.Provider value={reading}>
            {state.page === "summary" && <Summary key={run.id} />}
            {state.page === "case" && <Case />}
            {state.page === "compare" && <Compare />}
            {state.page === "setup" && <Setup />}
          </ReadingContext.Provider>
        </main>
        {hasHelp && <Help choices={choices} keys={source.canNote ? NOTE_KEYS : KEYS} onClose={() => setHelp(false)} />}
      </PageContext.Provider>
    </LanguageContext.Provider>
  );
}

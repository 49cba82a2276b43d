// The list of runs: their verdicts and numbers, each criterion over time, and the choice of runs to compare.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Bar } from "./bar";
import type { Choices } from "./choices";
import type { Client } from "./client";
import { LanguageContext, useLanguage } from "./context";
import { Help } from "./help";
import { actionOf, badge, isTyping } from "./keys";
import { CountsBar, Name, Verdict } from "./marks";
import { Overtime } from "./overtime";
import { problemOf } from "./server";
import { SearchBox } from "./searchbox";
import { RUNS, historyOf } from "./state";
import type { RunListView, RunRow } from "./view";
import { visibleLine } from "./visible";

const PAUSE = 150;
const MOST_COMPARED = 9;

function wanted(): string {
  return new URLSearchParams(location.hash.replace(/^#/, "")).get("q") ?? "";
}

/** The runs that contain a text, kept up to date. */
function useRuns(client: Client, text: string) {
  const [pages, setPages] = useState<readonly RunListView[] | null>(null);
  const [problem, setProblem] = useState("");
  const [changes, setChanges] = useState(0);
  const fail = useCallback((error: unknown) => setProblem(problemOf(error)), []);
  useEffect(
    () =>
      client.events<object>("/api/runs/events", () => ({}), (event) => {
        if (event) setChanges((count) => count + 1);
        setProblem(event ? "" : "lost");
      }),
    [client],
  );
  useEffect(() => {
    let isCurrent = true;
    client.get<RunListView>("/api/runs", { q: text }).then((first) => {
      // Pages that the reader opened stay. A page follows the run before it, so that none comes twice.
      if (isCurrent) setPages((old) => (old && old[0]?.before === first.before ? [first, ...old.slice(1)] : [first]));
    }, fail);
    return () => {
      isCurrent = false;
    };
  }, [client, text, changes, fail]);
  const before = pages?.[pages.length - 1]?.before ?? "";
  const more = () =>
    client
      .get<RunListView>("/api/runs", { q: text, before })
      .then((next) => setPages((old) => [...(old ?? []), next]), fail);
  return { runs: pages?.flatMap((page) => page.runs) ?? null, more: before ? more : null, problem };
}

export function Runs({ client, choices }: { client: Client; choices: Choices }) {
  const { language } = choices;
  const [text, setText] = useState(wanted);
  const [searched, setSearched] = useState(text);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [hasHelp, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { runs, more, problem } = useRuns(client, searched);

  useEffect(() => {
    document.title = `fairtrial – ${language.text("runs")}`;
  }, [language]);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSearched(text);
      // A link may have been followed, whose event is still to come.
      if (!location.hash || location.hash.startsWith(RUNS)) history.replaceState(null, "", text ? `${RUNS}&q=${encodeURIComponent(text)}` : RUNS);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [text]);

  const compared = (runs ?? []).filter((run) => chosen.includes(run.id)).map((run) => run.id);
  const comparison = comparisonLink(compared);

  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (hasHelp) return;
      const action = actionOf(event, isTyping(event.target), choices.singleKeys);
      if (!action || action === "open") return;
      if (action === "back" && event.target instanceof HTMLInputElement) event.target.blur();
      const links = [...(main.current?.querySelectorAll<HTMLElement>(".run-link") ?? [])];
      const place = links.findIndex((link) => link === document.activeElement);
      if (action === "help") setHelp(true);
      else if (action === "search") document.getElementById("search")?.focus();
      else if (action === "next") links[Math.min(place + 1, links.length - 1)]?.focus();
      else if (action === "previous") links[Math.max(place - 1, 0)]?.focus();
      else if (action === "compare" && comparison) location.hash = comparison;
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });

  const choose = (id: string, on: boolean) => setChosen((old) => [...old.filter((own) => own !== id), ...(on ? [id] : [])].slice(-MOST_COMPARED));
  return (
    <LanguageContext.Provider value={language}>
      <Bar
        choices={choices}
        main={main}
        tabs={[{ link: RUNS, text: language.text("runs"), isCurrent: true }]}
        onHelp={() => setHelp(true)}
      />
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{language.text("runs")}</h1>
        {problem && (
          <p class="callout warning" role="alert">
            {problem === "lost" ? language.text("lostServer") : visibleLine(problem)}
          </p>
        )}
        <div class="toolbar" role="search">
          <SearchBox text={text} hint={language.text("searchRuns")} onText={setText} />
          {comparison ? (
            <a class="button" href={comparison}>
              {language.text("compareChosen")} <kbd aria-hidden="true">{badge("compare")}</kbd>
            </a>
          ) : (
            <span class="muted">{language.text("chooseTwo")}</span>
          )}
        </div>
        <p class="muted" role="status" aria-live="polite">
          {runs ? language.text("runsFound", { count: runs.length }) : language.text("reading")}
        </p>
        <ol class="runs">
          {(runs ?? []).map((run) => (
            <Run key={run.id} run={run} theme={choices.theme} isChosen={chosen.includes(run.id)} onChoose={(on) => choose(run.id, on)} />
          ))}
        </ol>
        {more && (
          <button type="button" onClick={() => void more()}>
            {language.text("olderRuns")}
          </button>
        )}
        {runs && <Overtime runs={runs} />}
      </main>
      {hasHelp && <Help choices={choices} onClose={() => setHelp(false)} />}
    </LanguageContext.Provider>
  );
}

/** The fragment that compares runs, the newest first, with the oldest of them. */
function comparisonLink(runs: readonly string[]): string {
  const [candidate, base] = [runs[0], runs[runs.length - 1]];
  if (!candidate || !base || runs.length < 2) return "";
  const values = new URLSearchParams({ page: "compare", run: candidate, base });
  if (runs.length > 2) values.set("also", runs.slice(0, -1).join(","));
  return `#${values}`;
}

function Run({ run, theme, isChosen, onChoose }: { run: RunRow; theme: string; isChosen: boolean; onChoose: (on: boolean) => void }) {
  const language = useLanguage();
  const total = Object.values(run.counts).reduce((sum, count) => sum + count, 0);
  return (
    <li class={`run ${run.verdict}`}>
      <label class="run-choice">
        <input type="checkbox" checked={isChosen} onChange={(event) => onChoose(event.currentTarget.checked)} />
        <span class="visually-hidden">{language.text("chooseRun", { run: visibleLine(run.id) })}</span>
      </label>
      <div class="run-verdict">
        {run.finished ? <Verdict verdict={run.verdict} /> : <b>{language.text(run.is_alive ? "isRunning" : "interrupted")}</b>}
        <CountsBar counts={run.counts} />
      </div>
      <div class="run-name">
        <a class="run-link" href={`#run=${encodeURIComponent(run.id)}`}>
          <Name text={run.name || run.target || run.id} />
        </a>{" "}
        {(run.tags ?? []).map((tag) => (
          <span key={tag} class="tag">
            <Name text={tag} />
          </span>
        ))}
        <div class="muted">
          <code>{visibleLine(run.id)}</code> · <span lang="en">{visibleLine(run.kind)}</span>
          {run.suite && (
            <>
              {" · "}
              <Name text={run.suite} />
            </>
          )}
        </div>
      </div>
      <div class="run-numbers">
        {run.finished && <Passed verdicts={run.case_verdicts ?? {}} />}
        <div class="muted">{language.text("attemptsFound", { count: total })}</div>
        <div class="muted">
          {language.date(run.started)}
          {run.finished && (
            <>
              {" · "}
              <a href={historyOf(run.id, language.code, theme)}>{language.text("history")}</a>
            </>
          )}
        </div>
      </div>
    </li>
  );
}

/** How many of the cases that can pass passed. Cases that only inform, and cases to which nothing applies, cannot. */
function Passed({ verdicts }: { verdicts: Readonly<Record<string, number>> }) {
  const language = useLanguage();
  const decided = Object.entries(verdicts).filter(([verdict]) => verdict !== "informational" && verdict !== "not_applicable");
  const count = decided.reduce((sum, [, own]) => sum + own, 0);
  if (count === 0) return null;
  const passed = verdicts.passed ?? 0;
  return <b>{language.text("casesPassed", { passed, count })}</b>;
}

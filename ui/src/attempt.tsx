// One case: its attempts, why it failed, each criterion with its evidence, and the conversation.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Callouts, Details, Labels } from "./aboutattempt";
import { ReadingContext, usePage, useReading } from "./context";
import { Conversation } from "./conversation";
import { type Action, badge } from "./keys";
import { CopyMenu } from "./copy";
import { Fold } from "./fold";
import { Name, Verdict, mark, verdictWord } from "./marks";
import { Decisive, placeOf } from "./modes";
import { isStep, Notes, stepsOf } from "./notes";
import { Outcome } from "./outcome";
import type { State } from "./state";
import { TimeLine } from "./timeline";
import { Trunk } from "./trunk";
import type { AttemptView, CaseRow, OutcomeView } from "./view";

interface Opened {
  readonly row: CaseRow | undefined;
  readonly attempt: AttemptView | null;
  readonly problem: string;
}

/** The attempt at a case, which is read when it is shown. While another is read, the old attempt stays. */
export function useAttempt(run: string, position: number | null, attempt: number): Opened {
  const { source } = usePage();
  const [opened, setOpened] = useState<Opened>({ row: undefined, attempt: null, problem: "" });
  const [changes, setChanges] = useState(0);
  useEffect(() => source.watch(() => setChanges((count) => count + 1)), [source]);
  useEffect(() => {
    let isCurrent = true;
    const show = (next: Opened) => isCurrent && setOpened(next);
    if (position === null) {
      show({ row: undefined, attempt: null, problem: "" });
    } else {
      Promise.all([source.row(run, position), source.attempt(run, position, attempt)])
        .then(([row, view]) => show({ row, attempt: view, problem: "" }))
        .catch((error: unknown) => show({ row: undefined, attempt: null, problem: String(error) }));
    }
    return () => {
      isCurrent = false;
    };
  }, [source, run, position, attempt, changes]);
  return opened;
}

export function Case() {
  const { language, state, run, link, navigate, source } = usePage();
  const { row, attempt, problem } = useAttempt(run.id, state.position, state.attempt);
  const [missing, setMissing] = useState("");
  const [hasTimes, setTimes] = useState(false);
  const [isNoting, setNoting] = useState(false);
  const [store, setStore] = useState<((step: string) => void) | null>(null);
  const reading = useReading();
  const canNote = source.canNote && (attempt?.verdict === "failed" || attempt?.verdict === "error");
  useEffect(() => setNoting(false), [state.position, state.attempt]);
  useLayoutEffect(() => {
    const onAction = (event: Event) => {
      const action = (event as CustomEvent<string>).detail;
      if (action === "note" && canNote) setNoting(true);
      const step = action === "nextAttempt" ? 1 : action === "previousAttempt" ? -1 : 0;
      if (!step || !row) return;
      const index = row.attempts.findIndex((entry) => entry.attempt === state.attempt) + step;
      const next = row.attempts[index];
      if (next) navigate({ attempt: next.attempt });
    };
    document.addEventListener("page-action", onAction);
    return () => document.removeEventListener("page-action", onAction);
  });
  const isThere = attempt?.position === state.position && attempt?.attempt === state.attempt;
  useEffect(() => {
    const isRead = problem !== "" || row?.position === state.position;
    if (!isRead || row?.name === state.name) return;
    // The reader may have gone on to another case, whose name and position are not these.
    const { position, name } = state;
    const settle = (change: Partial<State>) =>
      navigate((now) => (now.page === "case" && now.run === run.id && now.position === position && now.name === name ? change : {}));
    if (!state.name) {
      if (row) settle({ name: row.name });
      return;
    }
    // The link is of another run, in which the case had another position.
    source
      .find(run.id, state.name)
      .then((found) => (found === null ? setMissing(state.name) : settle({ position: found, name })))
      .catch(() => setMissing(state.name));
  }, [source, run.id, row, problem, state.position, state.name]);
  if (problem || (missing && missing === state.name)) return <p class="warning">{language.text("notFound")}</p>;
  if (!attempt || !row) return <p class="muted">{language.text("reading")}</p>;
  const outcomes = sorted(attempt.outcomes);
  return (
    <article class="case" aria-labelledby="case-title" data-position={attempt.position}>
      <nav class="case-nav" aria-label={language.text("case")}>
        <a class="back" href={link({ page: "summary" })}>
          ← {language.text("back")} <kbd aria-hidden="true">{badge("back")}</kbd>
        </a>
        <Neighbours />
        {source.comparisons.length > 0 && (
          <a href={link({ page: "compare" })}>
            {language.text("compare")} <kbd aria-hidden="true">{badge("compare")}</kbd>
          </a>
        )}
      </nav>
      <header class="case-head">
        <h1 id="case-title" tabIndex={-1}>
          <Name text={attempt.name} />
        </h1>
        <Verdict verdict={attempt.verdict} />
        <button type="button" class="quiet to-criteria" onClick={() => document.getElementById("outcomes-title")?.scrollIntoView()}>
          {language.text("criteria")} ↓
        </button>
        <CopyMenu attempt={attempt} />
        {attempt.eval_set && (
          <span class="muted">
            <Name text={attempt.eval_set} /> · {attempt.digest.slice(0, 12)}
          </span>
        )}
      </header>
      {row.attempts.length > 1 && <Attempts row={row} />}
      {row.attempts.length > 1 && (
        <Fold key={row.position} class="branches" summary={language.text("branches")}>
          {() => <Trunk row={row} />}
        </Fold>
      )}
      <div class="panes">
        <ReadingContext.Provider value={{ ...reading, steps: stepsOf(attempt.labels ?? []), onStep: store }}>
          <Conversation
            key={`${attempt.position}/${attempt.attempt}`}
            attempt={attempt}
            run={run}
            decisive={attempt.decisive ? placeOf(attempt.decisive) : ""}
            step={isThere ? state.step : ""}
          >
            <Controls hasTimes={hasTimes} onTimes={() => setTimes(!hasTimes)} />
            {hasTimes && attempt.trace && <TimeLine trace={attempt.trace} />}
          </Conversation>
        </ReadingContext.Provider>
        <aside class="verdict-pane" aria-labelledby="outcomes-title" tabIndex={0}>
          <h2 id="outcomes-title">{language.text("criteria")}</h2>
          <Callouts attempt={attempt} />
          {attempt.decisive && <Decisive decisive={attempt.decisive} />}
          {outcomes.map((outcome, place) => (
            <Outcome
              key={`${attempt.position}/${attempt.attempt}/${outcome.criterion}`}
              outcome={outcome}
              attempt={attempt}
              isOpen={place < OPENED && (outcome.verdict === "failed" || outcome.verdict === "unscored")}
            />
          ))}
          <Informational key={`${attempt.position}/${attempt.attempt}`} outcomes={attempt.outcomes} attempt={attempt} />
          <Labels labels={(attempt.labels ?? []).filter((label) => !isStep(label))} />
          {canNote && <Notes attempt={attempt} isOpen={isNoting} onOpen={setNoting} onStep={(store) => setStore(() => store)} />}
          <Details attempt={attempt} />
        </aside>
      </div>
    </article>
  );
}

/** The number of criteria that did not pass and are open at first. */
const OPENED = 1;
const ORDER = ["failed", "unscored", "passed", "not_applicable"];

/** The criteria that decide, those that failed first. */
function sorted(outcomes: readonly OutcomeView[]): OutcomeView[] {
  return outcomes
    .filter((outcome) => outcome.verdict !== "informational")
    .sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
}

function Informational({ outcomes, attempt }: { outcomes: readonly OutcomeView[]; attempt: AttemptView }) {
  const { language, run } = usePage();
  // A criterion that is computed by default and found nothing in the whole run says nothing about this case.
  const empty = new Set(run.criteria.filter((criterion) => criterion.has_data === false).map((criterion) => criterion.criterion));
  const own = outcomes.filter((outcome) => outcome.verdict === "informational" && !empty.has(outcome.criterion));
  if (own.length === 0) return null;
  return (
    <Fold
      class="informational"
      open={own.some((outcome) => typeof outcome.value !== "number")}
      summary={language.text("informational", { count: own.length })}
    >
      {() => own.map((outcome) => <Outcome key={outcome.criterion} outcome={outcome} attempt={attempt} isOpen={typeof outcome.value !== "number"} />)}
    </Fold>
  );
}

const go = (action: Action) => document.dispatchEvent(new CustomEvent("page-action", { detail: action }));

/** What is shown of the conversation. */
function Controls({ hasTimes, onTimes }: { hasTimes: boolean; onTimes: () => void }) {
  const { language } = usePage();
  const { showsExpected, showsThoughts, formats } = useReading();
  const switches = [
    ["expected", language.text("expected"), showsExpected],
    ["thoughts", language.text("thoughts"), showsThoughts],
    ["markdown", "Markdown", Boolean(formats)],
  ] as const;
  return (
    <div class="controls">
      {switches.map(([action, text, isOn]) => (
        <button key={action} type="button" class="toggle" aria-pressed={isOn} onClick={() => go(action)}>
          {text} <kbd aria-hidden="true">{badge(action)}</kbd>
        </button>
      ))}
      <button type="button" class="toggle" aria-pressed={hasTimes} onClick={onTimes}>
        {language.text("timeLine")}
      </button>
    </div>
  );
}

function Neighbours() {
  const { language } = usePage();
  return (
    <span class="neighbours">
      <button type="button" class="quiet" onClick={() => go("previous")}>
        {language.text("previousCase")} <kbd aria-hidden="true">{badge("previous")}</kbd>
      </button>
      <button type="button" class="quiet" onClick={() => go("next")}>
        {language.text("nextCase")} <kbd aria-hidden="true">{badge("next")}</kbd>
      </button>
      <button type="button" class="quiet" onClick={() => go("nextFailed")}>
        {language.text("nextFailed")} <kbd aria-hidden="true">{badge("nextFailed")}</kbd>
      </button>
      <button type="button" class="quiet" onClick={() => go("nextDisputed")}>
        {language.text("nextDisputed")} <kbd aria-hidden="true">{badge("nextDisputed")}</kbd>
      </button>
    </span>
  );
}

function Attempts({ row }: { row: CaseRow }) {
  const { language, state, link } = usePage();
  return (
    <nav class="attempts" aria-label={language.text("attempts")}>
      {row.attempts.map((entry) => (
        <a
          key={entry.attempt}
          class={`attempt ${entry.verdict}`}
          href={link({ attempt: entry.attempt })}
          aria-current={entry.attempt === state.attempt ? "page" : undefined}
        >
          {language.text("attempt", { number: String(entry.attempt) })} <span aria-hidden="true">{mark(entry.verdict)}</span>{" "}
          <span>{verdictWord(language, entry.verdict)}</span>
        </a>
      ))}
      <span class="muted" aria-hidden="true">
        <kbd>{badge("previousAttempt")}</kbd> <kbd>{badge("nextAttempt")}</kbd>
      </span>
    </nav>
  );
}

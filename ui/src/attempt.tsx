// One case: its attempts, why it failed, each criterion with its evidence, and the conversation.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { ReadingContext, usePage, useReading } from "./context";
import { Conversation } from "./conversation";
import { badge } from "./keys";
import { Name, PartName, Verdict, mark, verdictWord } from "./marks";
import { Decisive, placeOf } from "./modes";
import { isStep, Notes, stepsOf } from "./notes";
import { Outcome } from "./outcome";
import type { State } from "./state";
import { Usage, usagesOf } from "./summary";
import { Foreign, Json } from "./text";
import type { AttemptView, CaseRow, Label, OutcomeView } from "./view";

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
    const step = state.step && isThere ? document.querySelector<HTMLElement>(`[data-step="${state.step}"]`) : null;
    step?.querySelectorAll("details").forEach((entry) => (entry.open = true));
    (step?.firstElementChild ?? step)?.scrollIntoView({ block: "center" });
  }, [state.step, isThere]);
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
  return (
    <article class="case" aria-labelledby="case-title" data-position={attempt.position}>
      <nav class="case-nav" aria-label={language.text("case")}>
        <a class="back" href={link({ page: "summary" })}>
          ← {language.text("back")} <kbd aria-hidden="true">{badge("back")}</kbd>
        </a>
        <Neighbours />
        {source.comparison && (
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
        {attempt.eval_set && (
          <span class="muted">
            <Name text={attempt.eval_set} /> · {attempt.digest.slice(0, 12)}
          </span>
        )}
      </header>
      {row.attempts.length > 1 && <Attempts row={row} />}
      <Callouts attempt={attempt} />
      {attempt.decisive && <Decisive decisive={attempt.decisive} />}
      <section aria-labelledby="outcomes-title">
        <h2 id="outcomes-title">{language.text("criteria")}</h2>
        {sorted(attempt.outcomes).map((outcome) => (
          <Outcome key={outcome.criterion} outcome={outcome} attempt={attempt} />
        ))}
        <Informational outcomes={attempt.outcomes} attempt={attempt} />
      </section>
      <Labels labels={(attempt.labels ?? []).filter((label) => !isStep(label))} />
      {canNote && <Notes attempt={attempt} isOpen={isNoting} onOpen={setNoting} onStep={(store) => setStore(() => store)} />}
      <ReadingContext.Provider value={{ ...reading, steps: stepsOf(attempt.labels ?? []), onStep: store }}>
        <Conversation
          attempt={attempt}
          run={run}
          decisive={attempt.decisive ? placeOf(attempt.decisive) : ""}
        />
      </ReadingContext.Provider>
      <Details attempt={attempt} />
    </article>
  );
}

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
    <details class="informational" open={own.some((outcome) => typeof outcome.value !== "number")}>
      <summary>{language.text("informational", { count: own.length })}</summary>
      {own.map((outcome) => (
        <Outcome key={outcome.criterion} outcome={outcome} attempt={attempt} />
      ))}
    </details>
  );
}

function Neighbours() {
  const { language } = usePage();
  const go = (action: string) => document.dispatchEvent(new CustomEvent("page-action", { detail: action }));
  return (
    <span class="neighbours">
      <button type="button" class="quiet" onClick={() => go("previous")}>
        {language.text("previousCase")} <kbd aria-hidden="true">{badge("previous")}</kbd>
      </button>
      <button type="button" class="quiet" onClick={() => go("next")}>
        {language.text("nextCase")} <kbd aria-hidden="true">{badge("next")}</kbd>
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
          <span lang="en">{verdictWord(entry.verdict)}</span>
        </a>
      ))}
      <span class="muted" aria-hidden="true">
        <kbd>{badge("previousAttempt")}</kbd> <kbd>{badge("nextAttempt")}</kbd>
      </span>
    </nav>
  );
}

function Callouts({ attempt }: { attempt: AttemptView }) {
  const { language } = usePage();
  const { failure, fault, mutation } = attempt;
  return (
    <>
      {failure && (
        <section class="callout error" aria-label={language.text("failure")}>
          <h2>
            {language.text("failure")}: <span lang="en">{failure.side}</span>
          </h2>
          <Foreign text={failure.cause} />
          {failure.traceback && (
            <details>
              <summary>{language.text("traceback")}</summary>
              <Foreign class="code" text={failure.traceback} />
            </details>
          )}
        </section>
      )}
      {(attempt.invalidations ?? []).map((invalid) => (
        <section key={invalid.side} class="callout warning" aria-label={language.text("invalid")}>
          <h2>
            {language.text("invalid")}: <span lang="en">{invalid.side}</span>
          </h2>
          {(invalid.evidence ?? []).map((text) => (
            <Foreign key={text} text={text} />
          ))}
        </section>
      ))}
      {fault && fault.side === "agent" && !failure && (
        <p class="muted">{language.text("faultOfAgent", { evidence: language.list(fault.evidence ?? []) })}</p>
      )}
      {attempt.ended_by === "cap" && <p class="warning">{language.text("endedByCap")}</p>}
      {mutation && (
        <p class="warning">
          {language.text("mutated", { operator: mutation.operator, number: String(mutation.invocation) })}
        </p>
      )}
      {(attempt.warnings ?? []).map((text) => (
        <Foreign key={text} class="warning" text={text} />
      ))}
      {(attempt.injections ?? []).map(({ invocation, tool, injected }, index) => (
        <p key={index} class={injected.invalidates ? "warning" : "note"}>
          {language.text("injected", {
            number: String(invocation),
            tool,
            effect: injected.effect,
            detail: injected.detail ?? "",
          })}
        </p>
      ))}
    </>
  );
}

function Labels({ labels }: { labels: readonly Label[] }) {
  const { language } = usePage();
  if (labels.length === 0) return null;
  return (
    <section aria-labelledby="labels-title">
      <h2 id="labels-title">{language.text("labels")}</h2>
      <ul class="labels">
        {labels.map((label, index) => (
          <li key={index}>
            <b>
              <Name text={label.author || "–"} />
            </b>{" "}
            <Name text={label.criterion} /> {label.part && <PartName part={{ key: label.part }} />} {language.count(label.value)}
            {label.note && <Foreign text={label.note} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Details({ attempt }: { attempt: AttemptView }) {
  const { language } = usePage();
  const { usage, reward, final_state: state } = attempt;
  const usages = usagesOf(attempt);
  const counts = Object.entries(usage ?? {});
  if (counts.length + usages.length === 0 && !state && typeof reward !== "number") return null;
  return (
    <section aria-labelledby="details-title">
      <h2 id="details-title">{language.text("details")}</h2>
      <dl class="facts">
        {counts.map(([name, value]) => (
          <div key={name}>
            <dt lang="en">{name.replaceAll("_", " ")}</dt>
            <dd>{language.count(value)}</dd>
          </div>
        ))}
        {usages.map(([side, used]) => (
          <div key={side}>
            <dt lang="en">{side}</dt>
            <dd>
              <Usage usage={used} />
            </dd>
          </div>
        ))}
        {typeof reward === "number" && (
          <div>
            <dt>{language.text("reward")}</dt>
            <dd>{language.number(reward)}</dd>
          </div>
        )}
      </dl>
      {state && (
        <details>
          <summary>{language.text("finalState")}</summary>
          <Json value={state} />
        </details>
      )}
    </section>
  );
}

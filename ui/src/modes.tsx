// The failure modes of a run: the largest and every new one first, each with an example and a filter of the cases.
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "./context";
import type { Language } from "./i18n";
import { Estimate, IntervalPicture, Name } from "./marks";
import { reasonText } from "./reasons";
import { Table } from "./table";
import type { DecisiveView, LastingFailure, ModesView, ModeView } from "./view";

const CHANGES = { new: "newMode", grown: "grownMode", shrunk: "shrunkMode" } as const;

/** The modes of the run that is shown, or null while they are read or if there are none. */
export function useModes(): ModesView | null {
  const { source, run } = usePage();
  const [modes, setModes] = useState<ModesView | null>(null);
  const isOver = Boolean(run.finished);
  useEffect(() => {
    let isCurrent = true;
    if (isOver) source.modes(run.id).then((found) => isCurrent && setModes(found), () => isCurrent && setModes(null));
    return () => {
      isCurrent = false;
    };
  }, [source, run.id, isOver]);
  return modes;
}

/** What failed most, and what its repair would win, above everything else. */
export function Lead({ modes, run }: { modes: ModesView | null; run: string }) {
  const { language, state, link } = usePage();
  const [worst] = [...(modes?.modes ?? [])].sort((a, b) => b.attempts - a.attempts || b.repaired - a.repaired);
  if (!modes || !worst) return null;
  const share = language.rate(worst.attempts / modes.failed_attempts);
  const sentence = language.text("mostFailed", { attempts: worst.attempts, failed: modes.failed_attempts, share });
  return (
    <p class="lead">
      {sentence.split("{mode}").map((text, place) => (
        <Fragment key={place}>
          {place > 0 && (
            <a href={link({ query: { ...state.query, mode: String(worst.number) } })}>
              <Name text={reasonText(language, worst.name)} />
            </a>
          )}
          {text}
        </Fragment>
      ))}{" "}
      {language.text("repairWins", { count: worst.repaired, cases: modes.failed_cases })}{" "}
      {modes.lasting && <Name text={lastingText(language, modes.lasting, run)} />}
    </p>
  );
}

/** Since when the typical case fails. Of a single run, and of a first run, nothing is known. */
function lastingText(language: Language, lasting: LastingFailure, run: string): string {
  if (lasting.run === run) return lasting.runs > 1 && lasting.state === "broken" ? language.text("lastingNew", { case: lasting.case }) : "";
  const name = lasting.state === "broken" ? "lastingBroken" : "lastingFlaky";
  return language.text(name, { case: lasting.case, run: lasting.run, time: language.date(lasting.started) });
}

export function Modes({ modes }: { modes: ModesView | null }) {
  const { language, state, link } = usePage();
  const [showsAll, setAll] = useState(false);
  if (!modes || modes.failed_attempts === 0) return null;
  const largest = new Set(modes.largest);
  const shown = showsAll ? modes.modes : modes.modes.filter((mode) => largest.has(mode.number) || state.query.mode === String(mode.number));
  const filter = (mode: string) => link({ query: { ...state.query, mode: state.query.mode === mode ? "" : mode } });
  return (
    <section aria-labelledby="modes-title" class="modes">
      <h2 id="modes-title">{language.text("failureModes")}</h2>
      <p class="muted">
        {language.text("failedInCases", { failed: modes.failed_attempts, count: modes.failed_cases, cases: modes.cases })}
      </p>
      {shown.length > 0 && (
        <Table
          name={{ titleId: "modes-title" }}
          columns={["mode", "attempts", "ofFailures", "cases", "wouldPass"].map((name) => language.text(name as "mode"))}
          rows={shown.map((mode) => ({
            key: mode.number,
            head: <Mode mode={mode} link={filter(String(mode.number))} />,
            cells: [
              language.count(mode.attempts),
              <div class="estimate-cell">
                <IntervalPicture estimate={mode.of_failures} low={0} high={1} />
                <Estimate estimate={mode.of_failures} percent />
              </div>,
              language.count(mode.cases),
              language.count(mode.repaired),
            ],
          }))}
        />
      )}
      {modes.modes.length > largest.size && (
        <button type="button" class="quiet" aria-expanded={showsAll} onClick={() => setAll(!showsAll)}>
          {showsAll ? language.text("showFewer") : language.text("showAllModes", { count: modes.modes.length })}
        </button>
      )}
      {(modes.alone ?? 0) > 0 && (
        <p class="note">
          <a href={filter("alone")}>{language.text("aloneInMode", { count: modes.alone ?? 0 })}</a>
        </p>
      )}
    </section>
  );
}

function Mode({ mode, link: filter }: { mode: ModeView; link: string }) {
  const { language, state, link } = usePage();
  const change = CHANGES[(mode.change ?? "") as keyof typeof CHANGES];
  const { example } = mode;
  return (
    <>
      <a href={filter} aria-current={state.query.mode === String(mode.number) ? "true" : undefined}>
        <Name text={reasonText(language, mode.name)} />
      </a>{" "}
      {change && <span class="tag">{language.text(change)}</span>}
      {example && (
        <div class="muted">
          {language.text("example")}:{" "}
          <a
            href={link({
              page: "case",
              position: example.position,
              name: example.name,
              attempt: example.attempt,
              step: placeOf(example.decisive),
            })}
          >
            <Name text={example.name} />
          </a>{" "}
          <Place decisive={example.decisive} />
        </div>
      )}
    </>
  );
}

/** The place of a decisive step in an address, for example "2.3" or "2.reply". */
export function placeOf({ step }: DecisiveView): string {
  if (!step) return "";
  return `${step.invocation}.${step.step ?? (step.kind === "user" ? "user" : "reply")}`;
}

export function Place({ decisive: { step } }: { decisive: DecisiveView }) {
  const { language } = usePage();
  if (!step) return null;
  const invocation = String(step.invocation);
  if (typeof step.step === "number") return <>{language.text("placeStep", { invocation, step: String(step.step) })}</>;
  return <>{language.text(step.kind === "user" ? "placeUser" : "placeReply", { invocation })}</>;
}

/** Where a failed attempt went wrong, with a link to the step. */
export function Decisive({ decisive }: { decisive: DecisiveView }) {
  const { language, link, state } = usePage();
  const modes = useModes();
  const mode = modes?.modes.find((own) => own.number === decisive.mode);
  return (
    <section class="callout decisive-note" aria-labelledby="decisive-title">
      <h2 id="decisive-title">{language.text("decisiveStep")}</h2>
      <p>
        {decisive.step && (
          <a href={link({ step: placeOf(decisive) })}>
            <Place decisive={decisive} />
          </a>
        )}{" "}
        <Name text={reasonText(language, decisive.reason)} />
      </p>
      {mode && (
        <p class="muted">
          {language.text("mode")}:{" "}
          <a href={link({ page: "summary", query: { ...state.query, mode: String(mode.number) } })}>
            <Name text={reasonText(language, mode.name)} />
          </a>
        </p>
      )}
    </section>
  );
}

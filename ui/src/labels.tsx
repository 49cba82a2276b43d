// The labels of a run: its queues, the form that draws another sample, and the agreement of people and judges.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Agreement } from "./agreement";
import type { Choices } from "./choices";
import { type Client, run as pathOf } from "./client";
import { LanguageContext, useLanguage } from "./context";
import { Help } from "./help";
import { type Key, actionIn, isTyping } from "./keys";
import { LabelBar } from "./labelling";
import { Name, PARTS } from "./marks";
import { problemOf } from "./server";
import { boardOf, queueOf } from "./state";
import type { LabelsView, QueueRequest, QueueView } from "./view";
import { visibleLine } from "./visible";

const METHODS = { random: "byRandom", uncertain: "byUncertain", disagreement: "byDisagreement", stratum: "byStratum", failures: "byFailures" } as const;
/** The methods that draw outcomes of a criterion. Failed attempts are drawn by `fairtrial label --failures`. */
const OFFERED = (Object.keys(METHODS) as (keyof typeof METHODS)[]).filter((method) => method !== "failures");
const KEYS: readonly Key<"next" | "previous" | "back" | "help">[] = [
  { key: "j", action: "next", text: "keyNextQueue" },
  { key: "k", action: "previous", text: "keyPreviousQueue" },
  { key: "Escape", action: "back", text: "keyBackToRun" },
  { key: "?", action: "help", text: "keyHelp" },
];

export function Labels({ client, choices, run }: { client: Client; choices: Choices; run: string }) {
  const { language, singleKeys } = choices;
  const [view, setView] = useState<LabelsView | null>(null);
  const [problem, setProblem] = useState("");
  const [hasHelp, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `fairtrial – ${language.text("labels")}`;
  }, [language]);
  useEffect(() => {
    client.get<LabelsView>(`${pathOf(run)}/labels`).then(setView, (error: unknown) => setProblem(problemOf(error)));
  }, [client, run]);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (hasHelp) return;
      const action = actionIn(KEYS, event, isTyping(event.target), singleKeys);
      if (!action) return;
      const links = [...(main.current?.querySelectorAll<HTMLElement>(".queue-link") ?? [])];
      const place = links.findIndex((link) => link === document.activeElement);
      if (action === "help") setHelp(true);
      else if (action === "next") links[Math.min(place + 1, links.length - 1)]?.focus();
      else if (action === "previous") links[Math.max(place - 1, 0)]?.focus();
      else if (isTyping(event.target)) main.current?.focus({ preventScroll: true });
      else location.hash = `#run=${encodeURIComponent(run)}`;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
  return (
    <LanguageContext.Provider value={language}>
      <LabelBar choices={choices} main={main} run={run} onHelp={() => setHelp(true)} />
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{language.text("labels")}</h1>
        <p>
          <a class="board-link" href={boardOf(run)}>{language.text("board")}</a>
        </p>
        {problem && (
          <p class="callout warning" role="alert">
            {problem === "lost" ? language.text("lostServer") : visibleLine(problem)}
          </p>
        )}
        {!view && !problem && <p class="muted">{language.text("reading")}</p>}
        {view && (
          <>
            <Queues view={view} />
            {view.criteria.length > 0 && <Draw client={client} view={view} onProblem={setProblem} />}
            <Agreement client={client} run={view.run} />
          </>
        )}
      </main>
      {hasHelp && <Help choices={choices} keys={KEYS} onClose={() => setHelp(false)} />}
    </LanguageContext.Provider>
  );
}

function Queues({ view }: { view: LabelsView }) {
  const language = useLanguage();
  return (
    <section aria-labelledby="queues-title">
      <h2 id="queues-title">{language.text("queues")}</h2>
      {view.queues.length === 0 && <p class="muted">{language.text("noQueues")}</p>}
      <ol class="queues">
        {view.queues.map((queue) => (
          <li key={queue.number}>
            <a class="queue-link" href={queueOf(view.run, queue.number)}>
              <Name text={queue.question || queue.criterion} />
            </a>
            <span class="muted"> {facts(queue, language).join(" · ")}</span>
            <progress
              value={queue.progress.done}
              max={Math.max(1, queue.progress.total)}
              aria-label={language.text("labelsDone", { done: queue.progress.done, total: queue.progress.total })}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

function facts(queue: QueueView, language: Choices["language"]): string[] {
  const { done, total } = queue.progress;
  return [
    language.text("queue", { number: String(queue.number) }),
    ...(queue.question ? [visibleLine(queue.criterion)] : []),
    language.text("labelsDone", { done, total }),
    language.text(METHODS[queue.by]),
    ...(queue.part ? [language.text(PARTS[queue.part])] : []),
    ...(queue.overlap ? [language.text("overlapOf", { share: language.rate(queue.overlap) })] : []),
    language.text(queue.blind ? "blind" : "notBlind"),
  ];
}

function Draw({ client, view, onProblem }: { client: Client; view: LabelsView; onProblem: (problem: string) => void }) {
  const language = useLanguage();
  const first = view.criteria[0]!;
  const [wanted, setWanted] = useState<QueueRequest>({ criterion: first.name, by: "random", sample: 100, overlap: 0, labelers: 2, seed: 1, blind: true });
  const change = (part: Partial<QueueRequest>) => setWanted((old) => ({ ...old, ...part }));
  const parts = view.criteria.find((own) => own.name === wanted.criterion)?.parts ?? [];
  const draw = async () => {
    try {
      const queue = await client.send<QueueView>("POST", `${pathOf(view.run)}/queues`, wanted);
      location.hash = queueOf(view.run, queue.number);
    } catch (error) {
      onProblem(problemOf(error));
    }
  };
  return (
    <section aria-labelledby="draw-title">
      <h2 id="draw-title">{language.text("drawSample")}</h2>
      <form
        class="label-form"
        onSubmit={(event) => {
          event.preventDefault();
          void draw();
        }}
      >
        <label class="field">
          <span>{language.text("criterion")}</span>
          <select value={wanted.criterion} onChange={(event) => change({ criterion: event.currentTarget.value, part: null })}>
            {view.criteria.map((own) => (
              <option key={own.name} value={own.name}>
                {visibleLine(own.name)}
              </option>
            ))}
          </select>
        </label>
        {parts.length > 0 && (
          <label class="field">
            <span>{language.text("labelWhat")}</span>
            <select
              value={wanted.part ?? ""}
              onChange={(event) => change({ part: parts.find((own) => own === event.currentTarget.value) ?? null })}
            >
              <option value="">{language.text("wholeOutcomes")}</option>
              {parts.map((part) => (
                <option key={part} value={part}>
                  {language.text(PARTS[part])}
                </option>
              ))}
            </select>
          </label>
        )}
        <label class="field">
          <span>{language.text("drawBy")}</span>
          <select
            value={wanted.by}
            onChange={(event) => change({ by: OFFERED.find((own) => own === event.currentTarget.value) ?? "random" })}
          >
            {OFFERED.map((method) => (
              <option key={method} value={method}>
                {language.text(METHODS[method])}
              </option>
            ))}
          </select>
        </label>
        <NumberField name={language.text("sampleSize")} value={wanted.sample ?? 100} low={1} high={100000} onValue={(sample) => change({ sample })} />
        <NumberField
          name={language.text("overlapPercent")}
          value={Math.round(100 * (wanted.overlap ?? 0))}
          low={0}
          high={100}
          onValue={(percent) => change({ overlap: percent / 100 })}
        />
        <NumberField name={language.text("seed")} value={wanted.seed ?? 1} low={-1e9} high={1e9} onValue={(seed) => change({ seed })} />
        <label class="check">
          <input type="checkbox" checked={wanted.blind} onChange={(event) => change({ blind: event.currentTarget.checked })} />{" "}
          {language.text("blindLong")}
        </label>
        <button type="submit">{language.text("startLabelling")}</button>
      </form>
    </section>
  );
}

interface NumberFieldProps {
  readonly name: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  onValue(value: number): void;
}

function NumberField({ name, value, low, high, onValue }: NumberFieldProps) {
  return (
    <label class="field">
      <span>{name}</span>
      <input
        type="number"
        step={1}
        min={low}
        max={high}
        required
        value={value}
        onChange={(event) => onValue(Math.trunc(Number(event.currentTarget.value)))}
      />
    </label>
  );
}

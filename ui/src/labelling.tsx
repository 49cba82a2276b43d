// The page on which a person labels the outcomes of a queue, one after the other. A label is stored before the next
// outcome is shown, and the next outcome is here already.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Bar } from "./bar";
import type { Choices } from "./choices";
import { type Client, run as pathOf, ServerProblem } from "./client";
import { LanguageContext, ReadingContext } from "./context";
import { Help } from "./help";
import { type LabelAction, actionIn, isTyping, labelKeys } from "./keys";
import { type Answer, Answers, type Draft, EMPTY, LabelItem } from "./labelitem";
import { Name } from "./marks";
import { remember, remembered } from "./memory";
import { problemOf } from "./server";
import { RUNS, labelsOf } from "./state";
import type { ClaimedItems, LabelItemView, LabelProgressView, LabelRequest, QueueView } from "./view";
import { visibleLine } from "./visible";

const HEARTBEAT = 10_000;
const RETRY = 5_000;

interface LabellingProps {
  readonly client: Client;
  readonly choices: Choices;
  readonly run: string;
  readonly queue: number;
  /** The name in the address, which the command line put there. */
  readonly named: string;
}

export function Labelling(props: LabellingProps) {
  const { language } = props.choices;
  const [labeler, setLabeler] = useState(props.named || remembered("labeler") || "");
  const start = (name: string) => {
    remember("labeler", name);
    setLabeler(name);
  };
  useEffect(() => {
    document.title = `fairtrial – ${language.text("label")}`;
  }, [language]);
  return (
    <LanguageContext.Provider value={language}>
      {labeler ? <Desk key={labeler} {...props} labeler={labeler} /> : <Sign {...props} onName={start} />}
    </LanguageContext.Provider>
  );
}

/** Asks who labels. */
function Sign({ choices, run, onName }: LabellingProps & { onName: (name: string) => void }) {
  const { language } = choices;
  const [name, setName] = useState("");
  const main = useRef<HTMLElement>(null);
  return (
    <>
      <LabelBar choices={choices} main={main} run={run} onHelp={null} />
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{language.text("label")}</h1>
        <form
          class="label-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim()) onName(name.trim());
          }}
        >
          <label class="field">
            <span>{language.text("yourName")}</span>
            <input type="text" value={name} maxLength={100} required onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          <button type="submit">{language.text("start")}</button>
        </form>
      </main>
    </>
  );
}

interface Given {
  readonly item: LabelItemView;
  readonly value: number | null;
  readonly draft: Draft;
}

function Desk({ client, choices, run, queue: number, labeler }: LabellingProps & { labeler: string }) {
  const { language, singleKeys } = choices;
  const path = `${pathOf(run)}/queues/${number}`;
  // A window that is loaded again is another window: it gives its items back when it goes, and gets them again.
  const holder = useMemo(() => ({ labeler, window: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`.replace(".", "-") }), [labeler]);
  const [queue, setQueue] = useState<QueueView | null>(null);
  const [items, setItems] = useState<readonly LabelItemView[]>([]);
  const [history, setHistory] = useState<readonly Given[]>([]);
  const [again, setAgain] = useState<number | null>(null);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [problem, setProblem] = useState("");
  const [saved, setSaved] = useState("");
  const [hasHelp, setHelp] = useState(false);
  const [isClaiming, setClaiming] = useState(true);
  const [reading, setReading] = useState({ showsThoughts: false, showsExpected: true });
  const isBusy = useRef(false);
  const main = useRef<HTMLElement>(null);

  const fail = useCallback(
    (error: unknown) => setProblem(problemOf(error) === "lost" ? language.text("lostServer") : visibleLine(problemOf(error))),
    [language],
  );
  const answered = useRef(new Set<string>());
  const claims = useRef(0);
  const claim = useCallback(async () => {
    const own = ++claims.current;
    setClaiming(true);
    try {
      const claimed = await client.send<ClaimedItems>("POST", `${path}/items`, holder);
      // A later claim knows more. An item may have been labelled while this claim was on its way.
      if (own !== claims.current) return;
      setQueue(claimed.queue);
      setItems(claimed.items.filter((item) => !answered.current.has(placeOf(item))));
      setProblem("");
    } catch (error) {
      fail(error);
    }
    if (own === claims.current) setClaiming(false);
  }, [client, path, holder, fail]);

  useEffect(() => {
    void claim();
    const timer = setInterval(() => void client.send("POST", `${path}/window`, holder).catch(fail), HEARTBEAT);
    const release = () => void client.send("DELETE", `${path}/window`, holder, true).catch(() => undefined);
    const restored = (event: PageTransitionEvent) => event.persisted && location.reload();
    window.addEventListener("pagehide", release);
    window.addEventListener("pageshow", restored);
    return () => {
      clearInterval(timer);
      window.removeEventListener("pagehide", release);
      window.removeEventListener("pageshow", restored);
      release();
    };
  }, [claim, client, path, holder, fail]);

  const earlier = again === null ? null : (history[again] ?? null);
  const item = earlier?.item ?? items[0] ?? null;
  const place = item ? `${placeOf(item)}/${again ?? ""}` : "";
  const since = useRef(0);
  useLayoutEffect(() => {
    since.current = performance.now();
    window.scrollTo(0, 0);
  }, [place]);

  // Other windows may give items back.
  const isWaiting = queue !== null && item === null && !isClaiming && (queue.progress.elsewhere ?? 0) > 0;
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => void claim(), RETRY);
    return () => clearInterval(timer);
  }, [isWaiting, claim]);

  const drop = (lost: LabelItemView) => {
    answered.current.add(placeOf(lost));
    setItems((old) => old.filter((own) => placeOf(own) !== placeOf(lost)));
  };
  const answer = async (value: number | null, word: string) => {
    if (!item || isBusy.current) return;
    isBusy.current = true;
    const seconds = Math.round(performance.now() - since.current) / 1000;
    const { note, side, reference } = draft;
    const label: LabelRequest = {
      ...holder,
      number: item.number,
      copy: item.copy,
      value,
      seconds,
      note,
      side: side || null,
      reference,
      again: earlier !== null,
    };
    try {
      const progress = await client.send<LabelProgressView>("POST", `${path}/labels`, label);
      const given = { item, value, draft };
      setHistory((old) => (again === null ? [...old, given] : old.map((own, index) => (index === again ? given : own))));
      setQueue((old) => old && { ...old, progress });
      setSaved(language.text("savedAs", { answer: word }));
      setDraft(EMPTY);
      setProblem("");
      setAgain(null);
      if (again === null) drop(item);
      main.current?.focus({ preventScroll: true });
    } catch (error) {
      fail(error);
      if (!(error instanceof ServerProblem) || error.status !== 409) return;
      drop(item);
      setDraft(EMPTY);
    } finally {
      isBusy.current = false;
    }
    if (again === null) await claim();
  };

  const undo = () => {
    const last = again === null ? history.length - 1 : again - 1;
    const own = history[last];
    if (!own || isBusy.current) return;
    setAgain(last);
    setDraft(own.draft);
    setSaved("");
  };
  const back = () => {
    if (again === null) location.hash = labelsOf(run);
    setAgain(null);
    setDraft(EMPTY);
  };

  const answers = answersOf(queue);
  const keys = labelKeys(answers.map((own) => own.text));
  const act = (action: LabelAction) => {
    const focus = (id: string) => document.getElementById(id)?.focus();
    const own = typeof action === "number" ? answers[action] : undefined;
    if (own) void answer(own.value, typeof own.text === "string" ? language.text(own.text) : own.text.answer);
    else if (action === "unsure") void answer(null, language.text("unsure"));
    else if (action === "undo") undo();
    else if (action === "note" || action === "side" || action === "reference") focus(`label-${action}`);
    else if (action === "expected") setReading((old) => ({ ...old, showsExpected: !old.showsExpected }));
    else if (action === "thoughts") setReading((old) => ({ ...old, showsThoughts: !old.showsThoughts }));
    else if (action === "help") setHelp(true);
    else if (action === "back") back();
  };
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (hasHelp) return;
      const action = actionIn(keys, event, isTyping(event.target), singleKeys);
      if (action === undefined) return;
      event.preventDefault();
      if (action === "back" && isTyping(event.target)) main.current?.focus({ preventScroll: true });
      else act(action);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });

  return (
    <ReadingContext.Provider value={reading}>
      <LabelBar choices={choices} main={main} run={run} onHelp={() => setHelp(true)} />
      <main id="main" class="labelling" ref={main} tabIndex={-1}>
        {problem && (
          <p class="callout warning" role="alert">
            <Name text={problem} />
          </p>
        )}
        {!item && isClaiming && <p class="muted">{language.text("reading")}</p>}
        {queue && <Progress queue={queue} labeler={labeler} language={language} />}
        <p class="visually-hidden" role="status" aria-live="polite">
          {saved}
        </p>
        {queue && item && (
          <>
            <LabelItem key={place} item={item} queue={queue} />
            <Answers
              key={`answers ${place}`}
              queue={queue}
              answers={answers}
              keys={keys}
              draft={draft}
              given={earlier ? { value: earlier.value } : null}
              canUndo={history.length > 0 && again !== 0}
              onDraft={setDraft}
              onAnswer={(value, word) => void answer(value, word)}
              onAction={act}
            />
          </>
        )}
        {queue && !item && !isClaiming && (
          <section class="label-end">
            <h1>{language.text(isWaiting ? "waitForOthers" : "nothingLeft")}</h1>
            <p>
              <a class="button" href={labelsOf(run)}>
                {language.text("labels")}
              </a>{" "}
              {history.length > 0 && (
                <button type="button" onClick={undo}>
                  {language.text("undo")} <kbd aria-hidden="true">u</kbd>
                </button>
              )}
            </p>
          </section>
        )}
      </main>
      {hasHelp && <Help choices={choices} keys={keys} onClose={() => setHelp(false)} />}
    </ReadingContext.Provider>
  );
}

function placeOf(item: LabelItemView): string {
  return `${item.number}/${item.copy}`;
}

/** The answers that have a key. A queue that asks for a number has none. */
function answersOf(queue: QueueView | null): readonly Answer[] {
  const named = Object.entries(queue?.answers ?? {});
  if (named.length > 0) return named.map(([answer, value]) => ({ text: { answer }, value }));
  if (!queue || queue.graded) return [];
  return [
    { text: "yes", value: 1 },
    { text: "no", value: 0 },
  ];
}

function Progress({ queue, labeler, language }: { queue: QueueView; labeler: string; language: Choices["language"] }) {
  const { done, total, mine, share, median_seconds: seconds } = queue.progress;
  return (
    <div class="label-progress">
      <progress value={done} max={Math.max(1, total)} aria-label={language.text("labelsDone", { done, total })} />
      <span>
        <b>{language.text("labelsDone", { done, total })}</b>
      </span>
      <span class="muted">
        <Name text={labeler} /> · {language.text("labelsShare", { count: mine ?? 0, share: share ?? 0 })}
        {typeof seconds === "number" && <> · {language.text("medianSeconds", { time: language.seconds(seconds) })}</>}
      </span>
      <span class="tag">{language.text(queue.blind ? "blind" : "notBlind")}</span>
    </div>
  );
}

interface LabelBarProps {
  readonly choices: Choices;
  readonly main: { current: HTMLElement | null };
  readonly run: string;
  readonly onHelp: (() => void) | null;
}

export function LabelBar({ choices, main, run, onHelp }: LabelBarProps) {
  const { language } = choices;
  const tabs = [
    { link: RUNS, text: language.text("runs"), isCurrent: false },
    { link: `#run=${encodeURIComponent(run)}`, text: language.text("summary"), isCurrent: false },
    { link: labelsOf(run), text: language.text("labels"), isCurrent: true },
  ];
  return (
    <Bar choices={choices} main={main} tabs={tabs} onHelp={onHelp ?? undefined}>
      <code class="run-id">{visibleLine(run)}</code>
    </Bar>
  );
}

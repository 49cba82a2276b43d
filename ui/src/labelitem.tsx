// One outcome as a person sees it before they label it, and the answers that they may give.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLanguage } from "./context";
import { Conversation } from "./conversation";
import type { TextName } from "./i18n";
import { type Key, type LabelAction, badgeIn } from "./keys";
import { Name, SIDES, sideWord, Verdict } from "./marks";
import { Foreign } from "./text";
import type { LabelItemView, LabelRequest, QueueView } from "./view";
import { visibleLine } from "./visible";


/** An answer that has a key. */
export interface Answer {
  readonly text: TextName | { readonly answer: string };
  readonly value: number;
}

/** What a person adds to an answer. */
export interface Draft {
  readonly note: string;
  readonly side: NonNullable<LabelRequest["side"]> | "";
  readonly reference: string;
}

export const EMPTY: Draft = { note: "", side: "", reference: "" };

export function LabelItem({ item, queue }: { item: LabelItemView; queue: QueueView }) {
  const language = useLanguage();
  const { text = "", invocation } = item;
  const asked = queue.part ? "asksForPart" : "asksForOutcome";
  return (
    <article class="label-item" data-item={`${item.number}/${item.copy}`}>
      <header>
        <h1 id="label-question">
          {queue.question ? visibleLine(queue.question) : language.text(asked, { criterion: visibleLine(queue.criterion) })}
        </h1>
        {queue.question && (
          <p class="muted">
            <Name text={queue.criterion} />
          </p>
        )}
        {queue.description && (
          <p class="muted" lang="en">
            <Name text={queue.description} />
          </p>
        )}
        {text && (
          <blockquote class="label-part">
            <Foreign text={text} />
          </blockquote>
        )}
        {typeof invocation === "number" && (
          <p class="muted">{language.text("aboutInvocation", { number: String(invocation + 1) })}</p>
        )}
      </header>
      {item.outcome && (
        <section class="callout" aria-label={language.text("verdict")}>
          <Verdict verdict={item.outcome.verdict} /> {language.number(item.outcome.value)}
          {item.outcome.reason && <Foreign text={item.outcome.reason} />}
          {(item.labels ?? []).map((label, index) => (
            <p key={index}>
              <b>
                <Name text={label.author || "–"} />
              </b>{" "}
              {language.count(label.value)} {label.note && <Name text={label.note} />}
            </p>
          ))}
        </section>
      )}
      <Conversation
        attempt={{ trace: item.trace, expected: item.expected ?? null, outcomes: [], agents: [] }}
        quotes={queue.part === "sentence" && text ? [text] : []}
      />
    </article>
  );
}

interface AnswersProps {
  readonly queue: QueueView;
  readonly answers: readonly Answer[];
  readonly keys: readonly Key<LabelAction>[];
  readonly draft: Draft;
  /** The answer that the person gave before, if they came back to it. */
  readonly given: { readonly value: number | null } | null;
  readonly canUndo: boolean;
  onDraft(draft: Draft): void;
  onAnswer(value: number | null, word: string): void;
  onAction(action: LabelAction): void;
}

export function Answers(props: AnswersProps) {
  const { queue, answers, keys, draft, given, onDraft, onAction } = props;
  const language = useLanguage();
  const isGiven = (value: number | null) => (given === null ? undefined : given.value === value);
  return (
    <section class="answers" aria-label={language.text("yourAnswer")}>
      {given && <p class="note">{language.text("answerAgain")}</p>}
      <div class="answer-keys">
        {queue.graded && <Grade {...props} />}
        {answers.map((own, place) => (
          <button key={place} type="button" class="answer" aria-pressed={isGiven(own.value)} onClick={() => onAction(place)}>
            {typeof own.text === "string" ? language.text(own.text) : visibleLine(own.text.answer)}{" "}
            <kbd aria-hidden="true">{badgeIn(keys, place)}</kbd>
          </button>
        ))}
        <button type="button" class="answer" aria-pressed={isGiven(null)} onClick={() => onAction("unsure")}>
          {language.text("unsure")} <kbd aria-hidden="true">{badgeIn(keys, "unsure")}</kbd>
        </button>
        <button type="button" class="quiet" disabled={!props.canUndo} onClick={() => onAction("undo")}>
          {language.text("undo")} <kbd aria-hidden="true">{badgeIn(keys, "undo")}</kbd>
        </button>
      </div>
      <div class="answer-more">
        <label class="field">
          <span>
            {language.text("note")} <kbd aria-hidden="true">{badgeIn(keys, "note")}</kbd>
          </span>
          <textarea
            id="label-note"
            rows={1}
            maxLength={20000}
            value={draft.note}
            onInput={(event) => onDraft({ ...draft, note: event.currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>
            {language.text("sideAtFault")} <kbd aria-hidden="true">{badgeIn(keys, "side")}</kbd>
          </span>
          <select
            id="label-side"
            value={draft.side}
            onChange={(event) => onDraft({ ...draft, side: SIDES.find((own) => own === event.currentTarget.value) ?? "" })}
          >
            <option value="">–</option>
            {SIDES.map((side) => (
              <option key={side} value={side}>
                {sideWord(language, side)}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>
            {language.text("correctedReference")} <kbd aria-hidden="true">{badgeIn(keys, "reference")}</kbd>
          </span>
          <textarea
            id="label-reference"
            rows={1}
            maxLength={20000}
            value={draft.reference}
            onInput={(event) => onDraft({ ...draft, reference: event.currentTarget.value })}
          />
        </label>
      </div>
    </section>
  );
}

/** The field of a queue that asks for a number. Enter confirms it. */
function Grade({ queue, given, onAnswer }: AnswersProps) {
  const language = useLanguage();
  const [text, setText] = useState(typeof given?.value === "number" ? String(given.value) : "");
  const field = useRef<HTMLInputElement>(null);
  const { low, high } = queue.range ?? { low: null, high: null };
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  const confirm = () => {
    if (text.trim() && field.current?.reportValidity()) onAnswer(Number(text), language.count(Number(text)));
  };
  return (
    <form
      class="grade"
      onSubmit={(event) => {
        event.preventDefault();
        confirm();
      }}
    >
      <label class="field">
        <span>{language.text("yourValue", { low: language.count(low), high: language.count(high) })}</span>
        <input
          ref={field}
          id="label-value"
          type="number"
          step="any"
          min={low ?? undefined}
          max={high ?? undefined}
          required
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="answer">
        {language.text("confirm")} <kbd aria-hidden="true">Enter</kbd>
      </button>
    </form>
  );
}

// Notes of people on a failed attempt: what went wrong in their words, and the step at which it did.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLanguage, usePage } from "./context";
import { Name } from "./marks";
import { remember, remembered } from "./memory";
import { problemOf } from "./server";
import { boardOf } from "./state";
import type { AttemptView, Label } from "./view";
import { visibleLine } from "./visible";

/** The criterion of labels on failed attempts. */
export const FAILURES = "failures";

/** The steps that people call decisive, with their names. */
export function stepsOf(labels: readonly Label[]): ReadonlyMap<string, readonly string[]> {
  const last = new Map(labels.flatMap((label) => (isStep(label) ? [[label.author ?? "", label.part?.id ?? ""] as const] : [])));
  const steps = new Map<string, string[]>();
  for (const [author, step] of last) steps.set(step, [...(steps.get(step) ?? []), author]);
  return steps;
}

export function isStep(label: Label): boolean {
  return label.criterion === FAILURES && Boolean(label.part);
}

/** The field for the name under which a person writes notes. It is kept for the next time. */
export function YourName({ name, onName }: { name: string; onName(name: string): void }) {
  const { text } = useLanguage();
  return (
    <label class="field">
      <span>{text("yourName")}</span>
      <input id="labeler" type="text" value={name} maxLength={100} onInput={(event) => onName(event.currentTarget.value)} />
    </label>
  );
}

/** The name of the person, or null after the field for it got the focus because it is empty. */
export function signed(name: string): string | null {
  const own = name.trim();
  if (own) remember("labeler", own);
  else document.getElementById("labeler")?.focus();
  return own || null;
}

interface NotesProps {
  readonly attempt: AttemptView;
  readonly isOpen: boolean;
  onOpen(isOpen: boolean): void;
  /** Receives the function that stores a step, while notes can be written. */
  onStep(store: ((step: string) => void) | null): void;
}

export function Notes({ attempt, isOpen, onOpen, onStep }: NotesProps) {
  const { language, run, source } = usePage();
  const [labeler, setLabeler] = useState(remembered("labeler") ?? "");
  const [text, setText] = useState("");
  const [state, setState] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const save = async (change: { note?: string; step?: string; is_failure?: boolean }) => {
    const name = signed(labeler);
    if (name === null) return;
    const whole = { name: "", note: "", step: "", is_failure: true, ...change };
    try {
      await source.note(run.id, { labeler: name, attempts: [[attempt.position, attempt.attempt]], ...whole });
      setState(language.text("noteSaved"));
      if (change.note) setText("");
    } catch (error) {
      const problem = problemOf(error);
      setState(problem === "lost" ? language.text("lostServer") : visibleLine(problem));
    }
  };
  const store = useRef(save);
  store.current = save;
  useLayoutEffect(() => {
    onStep(isOpen ? (step) => void store.current({ step }) : null);
    if (isOpen) area.current?.focus();
    return () => onStep(null);
  }, [isOpen]);
  if (!isOpen) {
    return (
      <p>
        <button type="button" class="quiet" onClick={() => onOpen(true)}>
          {language.text("keyNote")} <kbd aria-hidden="true">n</kbd>
        </button>{" "}
        <a class="board-link" href={boardOf(run.id)}>{language.text("board")}</a>
      </p>
    );
  }
  return (
    <form
      class="callout note-form"
      aria-label={language.text("note")}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) void save({ note: text.trim() });
      }}
    >
      <YourName name={labeler} onName={setLabeler} />
      <label class="field">
        <span>{language.text("noteOnFailure")}</span>
        <textarea ref={area} rows={3} maxLength={20000} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <p class="muted">{language.text("clickStep")}</p>
      <p>
        <button type="submit" disabled={!text.trim()}>
          {language.text("saveNote")}
        </button>{" "}
        <button type="button" onClick={() => void save({ is_failure: false })}>
          {language.text("notAFailure")}
        </button>{" "}
        <button type="button" class="quiet" onClick={() => onOpen(false)}>
          {language.text("close")}
        </button>{" "}
        <a class="board-link" href={boardOf(run.id)}>{language.text("board")}</a>
      </p>
      <p role="status">
        <Name text={state} />
      </p>
    </form>
  );
}

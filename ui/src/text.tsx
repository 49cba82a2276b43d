// Foreign text. It only ever becomes text nodes: no link, no image and no markup of an agent comes alive.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useLanguage } from "./context";
import { type Change, diffWords } from "./diff";
import type { FactMark, FactState } from "./factmarks";
import { breakable, languageOf, pieces, shortened } from "./visible";

const LONGEST = 6000;
const TALL = 1000;

/** A text whose hidden characters are spelt out. */
export function Plain({ text }: { text: string }) {
  return (
    <>
      {pieces(text).map((piece) =>
        piece.hidden ? <span class="hidden-character">{piece.text}</span> : <Breakable text={piece.text} />,
      )}
    </>
  );
}

/** A text with places to break in long words. Without them, a browser takes minutes to lay out one word of 70,000 "A". */
function Breakable({ text }: { text: string }): ComponentChildren {
  const parts = breakable(text);
  return parts.length === 1 ? text : parts.map((part, index) => (index ? [<wbr key={index} />, part] : part));
}

interface ForeignProps {
  readonly text: string;
  /** Quotations to mark. */
  readonly marks?: readonly string[];
  readonly facts?: readonly FactMark[];
  readonly class?: string;
}

/** A text of a person or of an agent, with quotations and facts marked. The rest of a long text is shown on demand. */
export function Foreign({ text, marks = [], facts = [], class: name }: ForeignProps) {
  const language = useLanguage();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || text.length <= LONGEST ? text : text.slice(0, LONGEST);
  const parts = useMemo(() => marked(shown, marks, facts), [shown, marks.join("\u0000"), JSON.stringify(facts)]);
  return (
    <div class={`foreign ${name ?? ""}`} lang={languageOf(text)} dir="auto" tabIndex={isTall(name, shown) ? 0 : undefined}>
      {parts.map((part) =>
        part.state ? (
          <Fact state={part.state} text={part.text} />
        ) : part.isMarked ? (
          <mark>
            <Plain text={part.text} />
          </mark>
        ) : (
          <Plain text={part.text} />
        ),
      )}
      {shown.length < text.length && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {language.text("showAllCharacters", { count: text.length })}
        </button>
      )}
    </div>
  );
}

/** A text with quotations marked, inside of another element. */
export function Marked({ text, marks }: { text: string; marks: readonly string[] }) {
  return (
    <>
      {marked(text, marks, []).map((part) =>
        part.isMarked ? (
          <mark>
            <Plain text={part.text} />
          </mark>
        ) : (
          <Plain text={part.text} />
        ),
      )}
    </>
  );
}

/** Whether a text may be higher than its place, so that a reader has to scroll it, also by keys. */
function isTall(name: string | undefined, text: string): boolean {
  return name === "code" && (text.length > TALL || text.split("\n", 20).length === 20);
}

const SIGNS: Readonly<Record<FactState, string>> = {
  contradicted: "≠",
  forbidden: "⊘",
  missing: "∅",
  ungrounded: "∅",
  undecided: "?",
  found: "✓",
};

const WORDS = {
  contradicted: "contradicted",
  forbidden: "forbiddenFact",
  missing: "missingFact",
  ungrounded: "ungrounded",
  undecided: "undecided",
  found: "agrees",
} as const;

/** A fact in a text: a sign, a line below and a word for screen readers say what it is, beside its colour. */
function Fact({ state, text }: { state: FactState; text: string }) {
  const language = useLanguage();
  return (
    <mark class={`fact ${state}`} title={language.text(WORDS[state])}>
      <span class="fact-sign" aria-hidden="true">
        {SIGNS[state]}
      </span>
      <span class="visually-hidden">{language.text(WORDS[state])}: </span>
      <Plain text={text} />
    </mark>
  );
}

interface Part {
  readonly text: string;
  readonly isMarked: boolean;
  readonly state?: FactState;
}

/** The parts of a text. A quotation that a fact overlaps is not marked. */
function marked(text: string, marks: readonly string[], facts: readonly FactMark[]): Part[] {
  const quotes = marks
    .filter((mark) => mark.trim().length > 1)
    .map((mark): [number, number] => [text.indexOf(mark), mark.length])
    .filter(([start]) => start >= 0)
    .map(([start, length]) => ({ start, end: start + length, state: undefined }))
    .filter(({ start, end }) => !facts.some((fact) => fact.start < end && start < fact.end));
  const ranges = [...facts.filter((fact) => fact.start < text.length), ...quotes].sort((a, b) => a.start - b.start);
  const parts: Part[] = [];
  let end = 0;
  for (const range of ranges) {
    if (range.start < end) continue;
    const own = { text: text.slice(range.start, range.end), isMarked: true };
    parts.push({ text: text.slice(end, range.start), isMarked: false }, range.state ? { ...own, state: range.state } : own);
    end = range.end;
  }
  parts.push({ text: text.slice(end), isMarked: false });
  return parts.filter((part) => part.text);
}

/** A JSON value. Short values stand on a line, long ones are indented. */
export function Json({ value }: { value: unknown }) {
  return <Foreign class="code" text={jsonText(value)} />;
}

export function jsonText(value: unknown): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value) ?? "";
  return line.length <= 80 ? line : (JSON.stringify(value, null, 2) ?? "");
}

/** The words that differ between two texts. */
export function WordDiff({ expected, actual }: { expected: string; actual: string }) {
  const changes = useMemo(() => diffWords(shortened(expected, LONGEST), shortened(actual, LONGEST)), [expected, actual]);
  const language = useLanguage();
  return (
    <div class="word-diff">
      <DiffSide title={language.text("expected")} changes={changes} hides="added" text={expected} />
      <DiffSide title={language.text("actual")} changes={changes} hides="removed" text={actual} />
    </div>
  );
}

function DiffSide(props: { title: string; changes: readonly Change[]; hides: Change["kind"]; text: string }) {
  return (
    <div>
      <div class="caption">{props.title}</div>
      <div class="foreign" lang={languageOf(props.text)} dir="auto">
        {props.changes.map((change) => (change.kind === props.hides ? null : <Changed change={change} />))}
      </div>
    </div>
  );
}

export function Changed({ change }: { change: Change }): ComponentChildren {
  if (change.kind === "removed") {
    return (
      <del>
        <Plain text={change.text} />
      </del>
    );
  }
  if (change.kind === "added") {
    return (
      <ins>
        <Plain text={change.text} />
      </ins>
    );
  }
  return <Plain text={change.text} />;
}

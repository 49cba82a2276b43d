// Foreign text. It only ever becomes text nodes: no link, no image and no markup of an agent comes alive.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useLanguage } from "./context";
import { type Change, diffWords } from "./diff";
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

/** A text of a person or of an agent, with quotations marked. The rest of a long text is shown on demand. */
export function Foreign({ text, marks = [], class: name }: { text: string; marks?: readonly string[]; class?: string }) {
  const language = useLanguage();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || text.length <= LONGEST ? text : text.slice(0, LONGEST);
  const parts = useMemo(() => marked(shown, marks), [shown, marks.join("\u0000")]);
  return (
    <div class={`foreign ${name ?? ""}`} lang={languageOf(text)} dir="auto" tabIndex={isTall(name, shown) ? 0 : undefined}>
      {parts.map((part) =>
        part.isMarked ? (
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

/** Whether a text may be higher than its place, so that a reader has to scroll it, also by keys. */
function isTall(name: string | undefined, text: string): boolean {
  return name === "code" && (text.length > TALL || text.split("\n", 20).length === 20);
}

interface Part {
  readonly text: string;
  readonly isMarked: boolean;
}

function marked(text: string, marks: readonly string[]): Part[] {
  const ranges = marks
    .filter((mark) => mark.trim().length > 1)
    .map((mark): [number, number] => [text.indexOf(mark), mark.length])
    .filter(([start]) => start >= 0)
    .sort(([a], [b]) => a - b);
  const parts: Part[] = [];
  let end = 0;
  for (const [start, length] of ranges) {
    if (start < end) continue;
    parts.push({ text: text.slice(end, start), isMarked: false }, { text: text.slice(start, start + length), isMarked: true });
    end = start + length;
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

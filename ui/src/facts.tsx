// Facts of a reply beside those of the expected reply: a sentence for each that is wrong, and both texts with marks.
import type { ComponentChildren } from "preact";
import { useLanguage } from "./context";
import { type FactState, factMarks, factParts, quoteOf } from "./factmarks";
import type { TextName } from "./i18n";
import { Name } from "./marks";
import { Foreign } from "./text";
import type { AttemptView, Score } from "./view";

const MOST = 20;
const SENTENCES: Readonly<Record<FactState, TextName>> = {
  contradicted: "factContradicted",
  forbidden: "factForbidden",
  missing: "factMissing",
  ungrounded: "factUngrounded",
  undecided: "factUndecided",
  found: "factsFound",
};

/** The facts of an invocation. `index` is its place, or null if it is not known. */
export function Facts({ parts, index, attempt }: { parts: readonly Score[]; index: number | null; attempt: AttemptView }) {
  const language = useLanguage();
  const sorted = factParts(parts);
  const wrong = sorted.filter((part) => part.fact?.state !== "found");
  const found = sorted.length - wrong.length;
  const expected = index === null ? "" : (attempt.expected?.conversation?.[index]?.reply?.text ?? "");
  const actual = index === null ? "" : (attempt.trace?.[index]?.reply?.text ?? "");
  const isCompared = sorted.some((part) => part.fact?.expected);
  return (
    <div class="fact-list">
      {wrong.length > 0 && (
        <ul>
          {wrong.slice(0, MOST).map((part, place) => (
            <li key={place} class={part.fact!.state}>
              <Sentence part={part} />
            </li>
          ))}
          {wrong.length > MOST && <li class="muted">{language.text("moreFacts", { count: wrong.length - MOST })}</li>}
        </ul>
      )}
      {found > 0 && <p class="muted">{language.text("factsFound", { count: found })}</p>}
      <div class={isCompared && expected ? "word-diff" : ""}>
        {isCompared && expected && (
          <Side title={language.text("expected")} text={expected} parts={sorted} side="expected" />
        )}
        {actual && <Side title={language.text("actual")} text={actual} parts={sorted} side="actual" />}
      </div>
    </div>
  );
}

function Side(props: { title: string; text: string; parts: readonly Score[]; side: "expected" | "actual" }) {
  return (
    <div>
      <div class="caption">{props.title}</div>
      <Foreign text={props.text} facts={factMarks(props.text, props.parts, props.side)} />
    </div>
  );
}

/** What is wrong with a fact in a sentence of the reader's language, with the words of both texts. */
function Sentence({ part }: { part: Score }): ComponentChildren {
  const language = useLanguage();
  const [expected, actual] = [quoteOf(part, "expected"), quoteOf(part, "actual")];
  const words: Readonly<Record<string, string>> = { expected, actual: actual || expected, reason: part.reason ?? "" };
  const template = language.text(SENTENCES[part.fact!.state]);
  return template
    .split(/\{(\w+)\}/)
    .map((piece, place) => (place % 2 ? <b key={place}><Name text={words[piece] ?? ""} /></b> : piece));
}

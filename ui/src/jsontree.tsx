// A JSON value as a tree. Its inner values are made when they are opened.
import { useState } from "preact/hooks";
import { useLanguage } from "./context";
import { Fold } from "./fold";
import { Name } from "./marks";
import { Foreign, Plain } from "./text";
import { shortened } from "./visible";

const LINE = 80;
const LONGEST = 300;
const PAGE = 100;
const BRIEF = 60;
const OPENED = 30;

/** A value as a tree. A short value, and a text, stand as they are. */
export function JsonTree({ value }: { value: unknown }) {
  if (typeof value === "string") return <Foreign class="code" text={value} />;
  const line = lineOf(value);
  if (line.length <= LINE || !isNode(value)) return <Foreign class="code" text={line} />;
  return (
    <div class="code json">
      <Members value={value} depth={0} />
    </div>
  );
}

function lineOf(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

function isNode(value: unknown): value is object {
  return value !== null && typeof value === "object" && Object.keys(value).length > 0;
}

function Members({ value, depth }: { value: object; depth: number }) {
  const language = useLanguage();
  const [shown, setShown] = useState(PAGE);
  const entries = Object.entries(value);
  return (
    <ul>
      {entries.slice(0, shown).map(([key, own]) => (
        <li key={key}>
          <Member name={key} value={own} depth={depth} />
        </li>
      ))}
      {shown < entries.length && (
        <li>
          <button type="button" class="quiet" onClick={() => setShown(shown + PAGE)}>
            {language.text("showMore", { count: Math.min(PAGE, entries.length - shown) })}
          </button>
        </li>
      )}
    </ul>
  );
}

function Member({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  const label = (
    <span class="json-key">
      <Name text={name} />
    </span>
  );
  if (!isNode(value)) {
    return (
      <>
        {label} <Leaf value={value} />
      </>
    );
  }
  const size = Object.keys(value).length;
  const brief = Array.isArray(value) ? `[${size}]` : `{${size}}`;
  const line = size <= OPENED ? lineOf(value) : "";
  const summary = (
    <>
      {label} <span class="muted"><Plain text={brief} /></span>{" "}
      {line && line.length <= BRIEF && (
        <span class="muted">
          <Name text={line} />
        </span>
      )}
    </>
  );
  return (
    <Fold open={depth < 3 && size <= OPENED} summary={summary}>
      {() => <Members value={value} depth={depth + 1} />}
    </Fold>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  const language = useLanguage();
  const text = typeof value === "string" ? value : lineOf(value);
  return (
    <span class={`json-${value === null ? "null" : typeof value}`}>
      <Plain text={isWhole ? text : shortened(text, LONGEST)} />
      {!isWhole && text.length > LONGEST && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {language.text("showAllCharacters", { count: text.length })}
        </button>
      )}
    </span>
  );
}

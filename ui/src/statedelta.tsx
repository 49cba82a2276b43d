// The files that an agent changed: a line for each, with what changed below it, marked by sign and colour.
import { useLanguage } from "./context";
import { Fold } from "./fold";
import { JsonTree } from "./jsontree";
import { Name } from "./marks";
import { Plain } from "./text";

const KEY = "workspace";
const SIGNS = { added: "+", changed: "±", removed: "−" } as const;
const TITLES = { added: "fileAdded", changed: "fileChanged", removed: "fileRemoved" } as const;

export interface FileChange {
  readonly path: string;
  readonly change: keyof typeof SIGNS;
  readonly size?: number;
  readonly diff?: string;
  readonly is_cut?: boolean;
}

export interface Line {
  readonly kind: "added" | "removed" | "equal";
  readonly text: string;
}

type State = Readonly<Record<string, unknown>>;

/** Returns the changed files in a final state, and everything else that it holds. Another state has no files. */
export function splitState(state: State): { files: readonly FileChange[]; rest: State } {
  const delta = state[KEY] as { sandbox?: unknown; files?: unknown } | null | undefined;
  const isDelta = typeof delta === "object" && delta !== null && typeof delta.sandbox === "string";
  if (!isDelta || !Array.isArray(delta.files) || !delta.files.every(isChange)) return { files: [], rest: state };
  const { files, ...others } = delta;
  return { files: files as readonly FileChange[], rest: { ...state, [KEY]: others } };
}

function isChange(value: unknown): value is FileChange {
  const own = value as FileChange | null;
  return typeof own === "object" && own !== null && typeof own.path === "string" && Object.hasOwn(SIGNS, own.change);
}

/** Returns the lines of a change, each with its sign. An added file is its text, and a changed file a unified diff. */
export function linesOf({ change, diff = "" }: FileChange): Line[] {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (change === "added") return lines.map((line) => ({ kind: "added", text: `+${line}` }));
  const first = lines.findIndex((line) => line.startsWith("@@"));
  return lines.slice(Math.max(first, 0)).map((text) => ({ kind: kindOf(text), text }));
}

function kindOf(line: string): Line["kind"] {
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "equal";
}

/** The state at the end of an attempt: the changed files as a list, and the rest as a tree. */
export function FinalState({ state }: { state: State }) {
  const language = useLanguage();
  const { files, rest } = splitState(state);
  return (
    <>
      {files.length > 0 && (
        <section aria-label={language.text("changedFiles", { count: files.length })}>
          <h3>{language.text("changedFiles", { count: files.length })}</h3>
          {files.map((file) => (
            <File key={file.path} file={file} />
          ))}
        </section>
      )}
      <Fold summary={language.text("finalState")}>{() => <JsonTree value={rest} />}</Fold>
    </>
  );
}

function File({ file }: { file: FileChange }) {
  const language = useLanguage();
  const summary = (
    <>
      <b aria-hidden="true">{SIGNS[file.change]}</b> <Name text={file.path} />{" "}
      <span class="muted">
        {language.text(TITLES[file.change])}
        {file.change !== "removed" && `, ${language.text("bytes", { count: file.size ?? 0 })}`}
      </span>
    </>
  );
  return file.diff ? <Fold summary={summary}>{() => <Diff file={file} />}</Fold> : <p class="changed-file">{summary}</p>;
}

function Diff({ file }: { file: FileChange }) {
  const language = useLanguage();
  return (
    <>
      <div class="foreign code" dir="ltr" tabIndex={0} role="group" aria-label={file.path}>
        {linesOf(file).map((line, index) => (
          <div key={index}>
            {line.kind === "added" ? (
              <ins>
                <Plain text={line.text} />
              </ins>
            ) : line.kind === "removed" ? (
              <del>
                <Plain text={line.text} />
              </del>
            ) : (
              <Plain text={line.text || " "} />
            )}
          </div>
        ))}
      </div>
      {file.is_cut && <p class="muted">{language.text("fileIsCut")}</p>}
    </>
  );
}

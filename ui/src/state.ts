// The state of the page stands in the fragment of its address, so that a link shows what its sender saw.
import { EVERYTHING, type Filter, type Query } from "./source";

export type Page = "summary" | "case" | "compare" | "setup";

/** The fragment of the list of runs, which only a viewer has. */
export const RUNS = "#page=runs";

/** The fragment of the page about the labels of a run, which only a viewer has. */
export function labelsOf(run: string): string {
  return `#page=labels&run=${encodeURIComponent(run)}`;
}

/** The fragment of the board on which people sort the failures of a run, which only a viewer has. */
export function boardOf(run: string): string {
  return `#page=board&run=${encodeURIComponent(run)}`;
}

/** The page of the series of a run, which only a viewer has, in the reader's language and theme. */
export function historyOf(run: string, language: string, theme: string): string {
  return `/history/${encodeURIComponent(run)}?${new URLSearchParams({ lang: language, theme })}`;
}

/** The fragment of a queue of outcomes that people label. */
export function queueOf(run: string, queue: number): string {
  return `#page=label&run=${encodeURIComponent(run)}&queue=${queue}`;
}

export interface State {
  readonly page: Page;
  readonly run: string;
  /** The run that a viewer compares with, or "". */
  readonly base: string;
  /** All runs that a viewer compares with the base if they are more than one, with commas between them, or "". */
  readonly also: string;
  readonly position: number | null;
  /** The name of the case. In another run, the case may have another position. */
  readonly name: string;
  readonly attempt: number;
  /** The step to show, for example "2.3" or "2.reply", or "". */
  readonly step: string;
  readonly query: Query;
}

const LONGEST_NAME = 200;
const FLAGS: readonly Filter[] = ["failed", "flaky", "changed", "labelled", "invalid"];
const PAGES: readonly Page[] = ["summary", "case", "compare", "setup"];

/** Reads a fragment. Values that do not exist are left out, since anybody can write a link. */
export function parse(fragment: string, runs: readonly string[]): State {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const wanted = values.get("run") ?? "";
  const page = PAGES.find((name) => name === values.get("page")) ?? "summary";
  const position = number(values.get("case"));
  return {
    page: page === "case" && position === null ? "summary" : page,
    run: runs.includes(wanted) ? wanted : (runs[runs.length - 1] ?? ""),
    base: values.get("base") ?? "",
    also: values.get("also") ?? "",
    position,
    name: position === null ? "" : (values.get("name") ?? ""),
    attempt: number(values.get("attempt")) ?? 1,
    step: /^\d{1,6}\.(\d{1,6}|reply|user)$/.test(values.get("step") ?? "") ? values.get("step")! : "",
    query: {
      verdict: values.get("verdict") ?? "",
      criterion: values.get("criterion") ?? "",
      side: values.get("side") ?? "",
      tool: values.get("tool") ?? "",
      flags: FLAGS.filter((flag) => (values.get("only") ?? "").split(",").includes(flag)),
      text: values.get("q") ?? "",
      sort: /^-?(verdict|name|mode|reason|tokens|seconds|cost|set|[cg]\..{1,200})$/.test(values.get("sort") ?? "") ? values.get("sort")! : "",
      group: values.get("group") === "yes",
      mode: /^(\d{1,9}|alone)$/.test(values.get("mode") ?? "") ? values.get("mode")! : "",
    },
  };
}

function number(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

export function format(state: State): string {
  const values = new URLSearchParams();
  if (state.page !== "summary") values.set("page", state.page);
  values.set("run", state.run);
  if (state.base) values.set("base", state.base);
  if (state.also) values.set("also", state.also);
  if (state.position !== null) values.set("case", String(state.position));
  if (state.position !== null && state.name && state.name.length <= LONGEST_NAME) values.set("name", state.name);
  if (state.attempt !== 1) values.set("attempt", String(state.attempt));
  if (state.position !== null && state.step) values.set("step", state.step);
  const { verdict, criterion, side, tool, flags, text, mode, sort } = state.query;
  const group = state.query.group ? "yes" : "";
  for (const [name, value] of Object.entries({ verdict, criterion, side, tool, q: text, mode, sort, group })) {
    if (value) values.set(name, value);
  }
  if (flags.length > 0) values.set("only", flags.join(","));
  return `#${values}`;
}

/** Returns a state after a change. Another case has another name, which the page learns when it opens the case. */
export function moved(state: State, change: Partial<State>): State {
  const isOther = change.position !== undefined && change.position !== state.position;
  const isElsewhere = isOther || (change.attempt !== undefined && change.attempt !== state.attempt);
  return { ...state, ...(isOther ? { name: "" } : {}), ...(isElsewhere ? { step: "" } : {}), ...change };
}

export function isLimited(query: Query): boolean {
  return (Object.keys(EVERYTHING) as (keyof Query)[]).some((name) => JSON.stringify(query[name]) !== JSON.stringify(EVERYTHING[name]));
}

// Where the program reads runs from: data that a file embeds, or a server. Both give the same view model.
import type { AttemptView, CaseRow, ComparisonView, ModesView, NoteRequest, RunView } from "./view";

export type Filter = "failed" | "flaky" | "changed" | "labelled" | "invalid";

/** The value of a case in a column. */
export type SortKey = number | string | null;

/** A run of neighbouring cases that have the same value in the sorted column. */
export interface Group {
  readonly key: SortKey;
  readonly count: number;
}

/** What a reader looks for in the list of cases. Empty values do not limit it. */
export interface Query {
  readonly verdict: string;
  readonly criterion: string;
  readonly side: string;
  readonly tool: string;
  readonly flags: readonly Filter[];
  readonly text: string;
  /** The number of a failure mode, or "alone" for failures without a mode. */
  readonly mode: string;
  /** The column by which cases are sorted, with a minus before it if downwards, or "" for what needs attention. */
  readonly sort: string;
  /** Whether cases with the same value in that column are a group. */
  readonly group: boolean;
}

export const EVERYTHING: Query = {
  verdict: "",
  criterion: "",
  side: "",
  tool: "",
  flags: [],
  text: "",
  mode: "",
  sort: "",
  group: false,
};

/** The cases that a query found, by what needs attention. A row that is not at hand yet is undefined. */
export interface CaseList {
  readonly total: number;
  /** The groups of the sorted cases, or nothing. */
  readonly groups: readonly Group[];
  row(index: number): CaseRow | undefined;
  /** Makes the rows of a range available. Resolves at once if they are. */
  load(from: number, to: number): Promise<void>;
  /** The place of a case in the list, or -1. */
  indexOf(position: number): number;
}

export interface Source {
  /** The runs that the page can show, the one to show first last. */
  readonly runs: readonly RunView[];
  /** The comparisons of the first run with each other one, or none. */
  readonly comparisons: readonly ComparisonView[];
  /** Whether people can write notes. */
  readonly canNote: boolean;
  /** Stores what a person says about failures. */
  note(run: string, request: NoteRequest): Promise<void>;
  /** Whether the page has a list of runs around it. */
  readonly hasOtherRuns: boolean;
  /** The language that the page was made for, or "". */
  readonly language: string;
  list(run: string, query: Query): Promise<CaseList>;
  /** The values of a criterion, each with its number of cases. The value of a case is the mean over its attempts. */
  values(run: string, criterion: string): Promise<readonly Group[]>;
  /** The row of a case, which names its attempts. */
  row(run: string, position: number): Promise<CaseRow | undefined>;
  /** The position of the case with a name, or null. */
  find(run: string, name: string): Promise<number | null>;
  attempt(run: string, position: number, attempt: number): Promise<AttemptView>;
  /** The failure modes of a run, or null if nothing failed. */
  modes(run: string): Promise<ModesView | null>;
  /** The files that a run can be saved as, by name and address. */
  downloads(run: string): readonly (readonly [string, string])[];
  /** Why two runs are not compared, "lost" if the server does not answer, or "". */
  problem(): string;
  /** Calls back if something that was read has changed. Returns the end of it. */
  watch(changed: () => void): () => void;
}

/** The comparison that belongs to a run. To the base run belongs the last, which is about the run to show first. */
export function comparisonOf({ comparisons }: Pick<Source, "comparisons">, run: string): ComparisonView | null {
  return comparisons.find((own) => own.candidate === run) ?? comparisons[comparisons.length - 1] ?? null;
}

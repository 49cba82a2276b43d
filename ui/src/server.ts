// The source of the viewer: a server over the store. Rows are asked for when they are seen, and again when they changed.
import { type Client, run as pathOf, ServerProblem } from "./client";
import { EVERYTHING, type CaseList, type Group, type Query, type Source } from "./source";
import type { AttemptView, CaseRow, ComparisonView, FoundCases, ModesView, NoteRequest, OpenedRuns, RunChange, RunView } from "./view";

const MOST_ROWS = 100;
const REPORTS = ["html", "json", "junit", "markdown", "parquet", "adk-results"] as const;

/** The rows of a run that were read. A row that changed stays until the new row is there. */
class Rows {
  private readonly rows = new Map<number, CaseRow>();
  private readonly old = new Set<number>();
  private readonly asked = new Map<number, Promise<void>>();

  constructor(
    private readonly client: Client,
    private readonly run: string,
  ) {}

  get(position: number): CaseRow | undefined {
    return this.rows.get(position);
  }

  /** Marks rows as old: some, or all of them. */
  forget(positions: readonly number[] | null): void {
    for (const position of positions ?? this.rows.keys()) this.old.add(position);
  }

  async load(positions: readonly number[]): Promise<void> {
    const missing = positions.filter((position) => !this.rows.has(position) || this.old.has(position));
    const waiting = missing.filter((position) => this.asked.has(position)).map((position) => this.asked.get(position));
    const fresh = missing.filter((position) => !this.asked.has(position));
    for (let start = 0; start < fresh.length; start += MOST_ROWS) {
      const part = fresh.slice(start, start + MOST_ROWS);
      const request = this.read(part).finally(() => part.forEach((position) => this.asked.delete(position)));
      part.forEach((position) => this.asked.set(position, request));
      waiting.push(request);
    }
    await Promise.all(waiting);
  }

  private async read(positions: readonly number[]): Promise<void> {
    positions.forEach((position) => this.old.delete(position));
    const rows = await this.client.get<CaseRow[]>(`${pathOf(this.run)}/rows`, { at: positions.join(",") });
    for (const row of rows) this.rows.set(row.position, row);
  }
}

class List implements CaseList {
  constructor(
    private readonly positions: readonly number[],
    private readonly rows: Rows,
    readonly groups: readonly Group[],
  ) {}

  get total(): number {
    return this.positions.length;
  }

  row(index: number): CaseRow | undefined {
    const position = this.positions[index];
    return position === undefined ? undefined : this.rows.get(position);
  }

  load(from: number, to: number): Promise<void> {
    return this.rows.load(this.positions.slice(Math.max(0, from), Math.max(0, to)));
  }

  indexOf(position: number): number {
    return this.positions.indexOf(position);
  }
}

export class ServerSource implements Source {
  readonly hasOtherRuns = true;
  readonly canNote = true;
  readonly language = "";
  readonly comparisons: readonly ComparisonView[];
  private readonly rows = new Map<string, Rows>();
  private readonly watchers = new Set<() => void>();
  private readonly end: () => void;
  private current: readonly RunView[];
  private isLost = false;
  private searching: AbortController | null = null;
  /** The name of this page for the server, which ends its earlier search. */
  private readonly window = Math.random().toString(36).slice(2);

  constructor(
    private readonly client: Client,
    private readonly opened: OpenedRuns,
  ) {
    this.current = opened.runs;
    this.comparisons = opened.comparisons ?? [];
    let change = opened.change;
    const last = opened.runs[opened.runs.length - 1]!;
    this.end = client.events<RunChange>(
      `${pathOf(last.id)}/events`,
      () => ({ after: change }),
      (event) => {
        this.isLost = event === null;
        if (event) {
          change = event.change;
          this.take(event);
        }
        this.watchers.forEach((changed) => changed());
      },
    );
  }

  static async open(client: Client, run: string, base: string, also: string): Promise<ServerSource> {
    return new ServerSource(client, await client.get<OpenedRuns>(pathOf(run), { base, also }));
  }

  close(): void {
    this.end();
    this.watchers.clear();
  }

  get runs(): readonly RunView[] {
    return this.current;
  }

  private take(event: RunChange): void {
    this.current = this.current.map((view) =>
      view.id === event.run.id
        ? { ...event.run, config: view.config, signatures: view.signatures, tools: view.tools ?? [], agents: view.agents ?? [] }
        : view,
    );
    this.rowsOf(event.run.id).forget(event.positions ?? null);
  }

  private rowsOf(run: string): Rows {
    let rows = this.rows.get(run);
    if (!rows) this.rows.set(run, (rows = new Rows(this.client, run)));
    return rows;
  }

  async list(run: string, query: Query): Promise<CaseList> {
    const { flags, text, group, ...rest } = query;
    const base = this.opened.runs.find((view) => view.id !== run)?.id ?? "";
    const only = flags.join(",");
    // A text that nobody waits for any more is not searched to its end.
    this.searching?.abort();
    const searching = (this.searching = text ? new AbortController() : null);
    const parameters = { ...rest, only, q: text, base, group: group ? "yes" : "", window: text ? this.window : "" };
    const found = await this.client.get<FoundCases>(`${pathOf(run)}/cases`, parameters, searching?.signal);
    return new List(found.positions, this.rowsOf(run), (found.groups ?? []).map(([key, count]) => ({ key, count })));
  }

  async values(run: string, criterion: string): Promise<readonly Group[]> {
    const found = await this.client.get<FoundCases>(`${pathOf(run)}/cases`, { sort: `c.${criterion}`, group: "yes" });
    return (found.groups ?? []).map(([key, count]) => ({ key, count }));
  }

  async row(run: string, position: number): Promise<CaseRow | undefined> {
    await this.rowsOf(run).load([position]);
    return this.rowsOf(run).get(position);
  }

  async find(run: string, name: string): Promise<number | null> {
    const list = await this.list(run, { ...EVERYTHING, text: name });
    const most = Math.min(list.total, MOST_ROWS);
    await list.load(0, most);
    for (let index = 0; index < most; index++) {
      const row = list.row(index);
      if (row?.name === name) return row.position;
    }
    return null;
  }

  attempt(run: string, position: number, attempt: number): Promise<AttemptView> {
    return this.client.get<AttemptView>(`${pathOf(run)}/cases/${position}/${attempt}`);
  }

  async note(run: string, request: NoteRequest): Promise<void> {
    await this.client.send("POST", `${pathOf(run)}/notes`, request);
    this.watchers.forEach((changed) => changed());
  }

  modes(run: string): Promise<ModesView | null> {
    const last = this.opened.runs[this.opened.runs.length - 1]!.id;
    const base = run === last ? (this.opened.runs.find((view) => view.id !== run)?.id ?? "") : "";
    return this.client.get<ModesView | null>(`${pathOf(run)}/modes`, { base });
  }

  downloads(run: string): readonly (readonly [string, string])[] {
    return REPORTS.map((name) => [name, `/download/${encodeURIComponent(run)}/${name}`] as const);
  }

  problem(): string {
    return this.isLost ? "lost" : (this.opened.problem ?? "");
  }

  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }
}

export function problemOf(error: unknown): string {
  return error instanceof ServerProblem ? error.message : String(error);
}

// The source of a file: an index of all cases, and chunks of attempts that are unpacked when they are needed.
import { grouped, sorted } from "./order";
import { attention, matches, type CaseChange } from "./rows";
import { find, split, type Texts } from "./search";
import { comparisonOf, EVERYTHING, type CaseList, type Group, type Query, type Source } from "./source";
import type { AttemptView, CaseRow, ComparisonView, ModesView, PageView, RunView } from "./view";

const CHUNK = 100;
const UNPACKED_CHUNKS = 4;
const SEARCHED = new Set(["text", "reason", "cause"]);
const VALUES = new Set(["args", "response"]);

interface Base64 {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as Base64).fromBase64;
  if (native) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Waits until the parser has reached an element. The program runs before the file is read to its end. */
async function element(id: string): Promise<HTMLElement> {
  while (true) {
    const found = document.getElementById(id);
    // An element is whole as soon as something follows it, or the document is complete.
    if (found && (found.nextSibling || document.readyState !== "loading")) return found;
    if (document.readyState !== "loading") throw new Error(`the file has no element ${id}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function unpack(id: string): Promise<Uint8Array> {
  const packed = decode((await element(id)).textContent ?? "");
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Puts the texts of an attempt back in place of their numbers. */
export function restore(value: unknown, texts: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => restore(item, texts));
  if (value === null || typeof value !== "object") return value;
  const restored: [string, unknown][] = Object.entries(value).map(([key, item]) => [
    key,
    typeof item === "number" && SEARCHED.has(key)
      ? texts[item]
      : typeof item === "number" && VALUES.has(key)
        ? JSON.parse(texts[item] ?? "null")
        : restore(item, texts),
  ]);
  // A key of an agent may be `__proto__`, which an assignment would not store.
  return Object.fromEntries(restored);
}

class List implements CaseList {
  constructor(
    private readonly rows: readonly CaseRow[],
    readonly groups: readonly Group[],
  ) {}

  get total(): number {
    return this.rows.length;
  }

  row(index: number): CaseRow | undefined {
    return this.rows[index];
  }

  async load(): Promise<void> {}

  indexOf(position: number): number {
    return this.rows.findIndex((row) => row.position === position);
  }
}

/** Attempts with numbers in place of texts, and the texts of each attempt. */
interface Chunk {
  readonly attempts: readonly unknown[];
  readonly texts: readonly string[][];
}

class EmbeddedRun {
  readonly rows: Map<number, CaseRow>;
  private readonly sorted: CaseRow[];
  private readonly details = new Map<number, Promise<Chunk>>();
  private texts: Promise<Texts[]> | null = null;

  constructor(
    private readonly number: number,
    readonly view: RunView,
    rows: CaseRow[],
    private readonly changes: ReadonlyMap<number, CaseChange>,
  ) {
    this.rows = new Map(rows.map((row) => [row.position, row]));
    this.sorted = rows
      .map((row): [number, CaseRow] => [attention(row), row])
      .sort(([a], [b]) => a - b)
      .map(([, row]) => row);
  }

  async list(query: Query): Promise<CaseList> {
    const tools = this.view.tools ?? [];
    const names = { criteria: this.view.criteria.map((criterion) => criterion.criterion), tools, changes: this.changes };
    const found = query.text ? await this.search(query.text) : null;
    const rows = this.sorted.filter(
      (row) =>
        matches(row, query, names) &&
        (!found || found.has(-1 - row.position) || row.attempts.some((attempt) => found.has(attempt.place))),
    );
    if (!query.sort) return new List(rows, []);
    const keyed = sorted(rows, query.sort, this.view);
    return new List(keyed.map(([, row]) => row), query.group ? grouped(keyed.map(([key]) => key)) : []);
  }

  /** Returns the places of attempts that contain a text, and for each case whose name does the number -1 - position. */
  private async search(text: string): Promise<Set<number>> {
    const places = new Set<number>();
    const small = text.toLowerCase();
    const tools = (this.view.tools ?? []).map((tool) => tool.toLowerCase().includes(small));
    for (const row of this.rows.values()) {
      if (row.name.toLowerCase().includes(small)) places.add(-1 - row.position);
      for (const attempt of row.attempts) {
        if (attempt.tools?.some((tool) => tools[tool])) places.add(attempt.place);
      }
    }
    for (const texts of await this.allTexts()) find(texts, text, places);
    return places;
  }

  allTexts(): Promise<Texts[]> {
    this.texts ??= this.readTexts();
    return this.texts;
  }

  private async readTexts(): Promise<Texts[]> {
    const all: Texts[] = [];
    for (let chunk = 0; chunk * CHUNK < this.view.attempts; chunk++) {
      all.push({ first: chunk * CHUNK, bytes: await unpack(`texts-${this.number}-${chunk}`) });
    }
    return all;
  }

  async attempt(position: number, attempt: number): Promise<AttemptView> {
    const row = this.rows.get(position);
    const place = row?.attempts.find((entry) => entry.attempt === attempt)?.place;
    if (place === undefined) throw new Error(`the run has no attempt ${attempt} at case ${position}`);
    const { attempts, texts } = await this.chunk(Math.floor(place / CHUNK));
    return restore(attempts[place % CHUNK], texts[place % CHUNK] ?? []) as AttemptView;
  }

  private chunk(chunk: number): Promise<Chunk> {
    let details = this.details.get(chunk);
    if (!details) {
      details = this.readChunk(chunk);
      const oldest = this.details.keys().next();
      if (this.details.size >= UNPACKED_CHUNKS && !oldest.done) this.details.delete(oldest.value);
      this.details.set(chunk, details);
    }
    return details;
  }

  private async readChunk(chunk: number): Promise<Chunk> {
    const [texts, details] = await Promise.all([
      unpack(`texts-${this.number}-${chunk}`),
      unpack(`details-${this.number}-${chunk}`),
    ]);
    return { attempts: JSON.parse(new TextDecoder().decode(details)) as unknown[], texts: split(texts) };
  }
}

export class EmbeddedSource implements Source {
  readonly hasOtherRuns = false;
  readonly canNote = false;
  readonly runs: readonly RunView[];
  readonly comparisons: readonly ComparisonView[];
  readonly language: string;
  private readonly byId: Map<string, EmbeddedRun>;

  private constructor(page: PageView) {
    this.runs = page.runs;
    this.comparisons = page.comparisons ?? [];
    this.language = page.language ?? "";
    this.byId = new Map(
      page.runs.map((view, number) => {
        const changes = new Map<number, CaseChange>();
        const comparison = comparisonOf(this, view.id);
        for (const compared of comparison?.cases ?? []) {
          const position = view.id === comparison?.base ? compared.base : compared.candidate;
          if (position !== null && position !== undefined) changes.set(position, compared.change);
        }
        return [view.id, new EmbeddedRun(number, view, page.cases[number] ?? [], changes)];
      }),
    );
  }

  static async open(): Promise<EmbeddedSource> {
    return new EmbeddedSource(JSON.parse(new TextDecoder().decode(await unpack("page"))) as PageView);
  }

  private run(id: string): EmbeddedRun {
    const run = this.byId.get(id);
    if (!run) throw new Error(`the file has no run ${id}`);
    return run;
  }

  async list(run: string, query: Query): Promise<CaseList> {
    return this.run(run).list(query);
  }

  async values(run: string, criterion: string): Promise<readonly Group[]> {
    return (await this.list(run, { ...EVERYTHING, sort: `c.${criterion}`, group: true })).groups;
  }

  async row(run: string, position: number): Promise<CaseRow | undefined> {
    return this.run(run).rows.get(position);
  }

  async find(run: string, name: string): Promise<number | null> {
    return [...this.run(run).rows.values()].find((row) => row.name === name)?.position ?? null;
  }

  async attempt(run: string, position: number, attempt: number): Promise<AttemptView> {
    return this.run(run).attempt(position, attempt);
  }

  async note(): Promise<void> {}

  async modes(run: string): Promise<ModesView | null> {
    return this.run(run).view.failures ?? null;
  }

  downloads(): readonly (readonly [string, string])[] {
    return [];
  }

  problem(): string {
    return "";
  }

  watch(): () => void {
    return () => {};
  }
}

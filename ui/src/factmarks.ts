// Where do facts stand in a text? Places count code points, and JavaScript counts UTF-16, so that an emoji counts twice.
import type { Score, StatedFact } from "./view";

export type FactState = StatedFact["state"];

/** A part of a text that states a fact, in UTF-16. */
export interface FactMark {
  readonly start: number;
  readonly end: number;
  readonly state: FactState;
}

/** The states, those first that a reader should see first. */
export const STATES: readonly FactState[] = ["contradicted", "forbidden", "missing", "ungrounded", "undecided", "found"];
const MOST = 200;

/** The parts that are about facts, what is wrong first. */
export function factParts(parts: readonly Score[]): Score[] {
  const order = (part: Score) => STATES.indexOf(part.fact?.state ?? "found");
  return parts.filter((part) => part.fact).sort((a, b) => order(a) - order(b));
}

/** The marks of facts in the expected reply or in the reply. Marks do not overlap: what is wrong covers what agrees. */
export function factMarks(text: string, parts: readonly Score[], side: "expected" | "actual"): FactMark[] {
  const taken: FactMark[] = [];
  for (const part of factParts(parts)) {
    const place = part.fact?.[side];
    const range = place && placeIn(text, place, quoteOf(part, side));
    if (!range) continue;
    if (taken.length >= MOST) break;
    for (const [start, end] of without(range, taken)) taken.push({ start, end, state: part.fact!.state });
  }
  return taken.sort((a, b) => a.start - b.start);
}

/** The words of a fact in a text. */
export function quoteOf(part: Score, side: "expected" | "actual"): string {
  const sources = side === "expected" ? ["expected"] : ["actual", "reply"];
  return part.quotes?.find((quote) => sources.includes(quote.source ?? ""))?.text ?? "";
}

/** A place in UTF-16. If the page hides a secret before the words, they are looked for. A place of other words is none. */
function placeIn(text: string, [from, to]: readonly [number, number], words: string): [number, number] | null {
  const start = unitsOf(text, from);
  const end = start + unitsOf(text.slice(start), to - from);
  const own = text.slice(start, end);
  if (end > start && own.trim() === words.trim()) {
    const first = start + own.length - own.trimStart().length;
    return [first, first + own.trim().length];
  }
  const needle = words.trim();
  if (!needle) return null;
  const [before, after] = [text.lastIndexOf(needle, start), text.indexOf(needle, start)];
  const near = before < 0 || (after >= 0 && after - start < start - before) ? after : before;
  return near < 0 ? null : [near, near + needle.length];
}

/** The length in UTF-16 of the first code points of a text. */
function unitsOf(text: string, points: number): number {
  let units = 0;
  for (let left = points; left > 0 && units < text.length; left--) units += text.codePointAt(units)! > 0xffff ? 2 : 1;
  return units;
}

/** The parts of a range that no mark covers. */
function without([start, end]: readonly [number, number], taken: readonly FactMark[]): [number, number][] {
  let rest: [number, number][] = [[start, end]];
  for (const mark of taken) {
    rest = rest.flatMap(([from, to]): [number, number][] =>
      mark.end <= from || mark.start >= to ? [[from, to]] : [[from, mark.start], [mark.end, to]],
    );
    rest = rest.filter(([from, to]) => to > from);
  }
  return rest;
}

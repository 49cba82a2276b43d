// Which words differ between two texts? Words are those of the language, also without spaces between them.
import { languageOf } from "./visible";

export interface Change {
  readonly kind: "equal" | "removed" | "added";
  readonly text: string;
}

const MOST_WORDS = 4000;
const segmenters = new Map<string, Intl.Segmenter>();

export function words(text: string): string[] {
  const language = languageOf(text) ?? "en";
  let segmenter = segmenters.get(language);
  if (!segmenter) segmenters.set(language, (segmenter = new Intl.Segmenter(language, { granularity: "word" })));
  return Array.from(segmenter.segment(text), (segment) => segment.segment);
}

/** Returns the changes that turn one text into the other, word by word. Very long texts are replaced as a whole. */
export function diffWords(before: string, after: string): Change[] {
  if (before === after) return before ? [{ kind: "equal", text: before }] : [];
  const old = words(before);
  const now = words(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const middle = changes(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return merged([
    { kind: "equal", text: old.slice(0, start).join("") },
    ...middle,
    { kind: "equal", text: old.slice(old.length - end).join("") },
  ]);
}

/** The changes from one list of words to another. Very long lists are replaced as a whole. */
function changes(old: readonly string[], now: readonly string[]): Change[] {
  if (old.length === 0 || now.length === 0 || old.length * now.length > MOST_WORDS * 1000) {
    return [
      { kind: "removed", text: old.join("") },
      { kind: "added", text: now.join("") },
    ];
  }
  return pairs(old, now).map(([i, j]) =>
    j === null
      ? { kind: "removed", text: old[i ?? 0]! }
      : { kind: i === null ? "added" : "equal", text: now[j]! },
  );
}

/** Two places of equal entries, or the place of an entry that only one list has. */
export type Pair = readonly [number | null, number | null];

/** Follows a longest common subsequence: every place of both lists once, in order. */
export function pairs(old: readonly string[], now: readonly string[]): Pair[] {
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        old[i] === now[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const found: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push([i++, j++]);
    } else if (i < old.length && (j >= now.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      found.push([i++, null]);
    } else {
      found.push([null, j++]);
    }
  }
  return found;
}

function merged(list: readonly Change[]): Change[] {
  const result: Change[] = [];
  // Between two equal stretches, everything that was removed comes before everything that was added.
  let removed = "";
  let added = "";
  const flush = () => {
    if (removed) result.push({ kind: "removed", text: removed });
    if (added) result.push({ kind: "added", text: added });
    removed = added = "";
  };
  list.forEach((change, index) => {
    if (change.kind === "removed") removed += change.text;
    else if (change.kind === "added") added += change.text;
    else if (change.text) {
      const between = list[index - 1]?.kind !== "equal" && index > 0 && index < list.length - 1;
      if (between && (removed || added) && /^\s+$/.test(change.text) && list[index + 1]?.kind !== "equal") {
        removed += change.text;
        added += change.text;
        return;
      }
      flush();
      const last = result[result.length - 1];
      if (last?.kind === "equal") result[result.length - 1] = { kind: "equal", text: last.text + change.text };
      else result.push(change);
    }
  });
  flush();
  return result;
}

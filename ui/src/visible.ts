// How is foreign text shown? Characters that control, reorder or hide text are spelt out, as in the terminal.

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\u{e0000}-\u{e0fff}]/gu;

// A family or a flag is one picture that joins several, and only there a joiner is not hidden.
const JOINER = "\u200d";
const PICTURE = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u;

export function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
  return code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, "0")}`;
}

export interface Piece {
  readonly text: string;
  /** Whether the text stands for a character that cannot be seen. */
  readonly hidden: boolean;
}

/** Splits a text into what can be seen and what is spelt out. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let start = 0;
  const source = text.replaceAll("\r\n", "\n");
  for (const match of source.matchAll(HIDDEN)) {
    const [character] = match;
    if (character === JOINER && joins(source, match.index)) continue;
    if (match.index > start) found.push({ text: source.slice(start, match.index), hidden: false });
    found.push({ text: escapeCharacter(character), hidden: true });
    start = match.index + character.length;
  }
  if (start < source.length) found.push({ text: source.slice(start), hidden: false });
  return found;
}

function joins(text: string, index: number): boolean {
  const before = [...text.slice(Math.max(0, index - 2), index)].pop() ?? "";
  const after = String.fromCodePoint(text.codePointAt(index + 1) ?? 0x20);
  return PICTURE.test(before) && PICTURE.test(after);
}

const LONG_WORD = /\S{100}(?=\S)/gu;

/** Splits a text inside of its long words. */
export function breakable(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (const match of text.matchAll(LONG_WORD)) {
    const end = match.index + match[0].length;
    parts.push(text.slice(start, end));
    start = end;
  }
  return [...parts, text.slice(start)];
}

/** Returns a text with its hidden characters spelt out. */
export function visibleText(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join("");
}

const LONGEST_LINE = 400;

/** Returns the beginning of a text, with an ellipsis if it is cut. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

/** Returns a text on one line with its hidden characters spelt out, for names, attributes and titles. */
export function visibleLine(text: string): string {
  return visibleText(shortened(text, LONGEST_LINE)).replaceAll("\n", "\\n");
}

const HANGUL = /\p{Script=Hangul}/gu;
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/gu;
const HAN = /\p{Script=Han}/gu;
const LETTER = /\p{L}/gu;

/** Returns the language of a text by its script if it is Korean, Japanese or Chinese, else undefined. */
export function languageOf(text: string): "ko" | "ja" | "zh" | undefined {
  const start = text.slice(0, 2000);
  const count = (pattern: RegExp) => start.match(pattern)?.length ?? 0;
  const [hangul, kana, han] = [count(HANGUL), count(KANA), count(HAN)];
  if (hangul + kana + han <= 0.2 * count(LETTER)) return undefined;
  if (hangul > kana + han) return "ko";
  return kana > 0.1 * (kana + han) ? "ja" : "zh";
}

// A reader of Markdown for texts of agents. It knows blocks and emphasis, and neither links nor images nor HTML.

export interface Inline {
  readonly kind: "text" | "code" | "strong" | "em" | "del";
  readonly text: string;
}

export interface ListItem {
  readonly text: readonly Inline[];
  readonly depth: number;
  readonly marker: string;
}

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: readonly Inline[] }
  | { readonly kind: "paragraph" | "quote"; readonly text: readonly Inline[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "rule" }
  | { readonly kind: "list"; readonly items: readonly ListItem[] }
  | { readonly kind: "table"; readonly head: readonly (readonly Inline[])[]; readonly rows: readonly (readonly Inline[])[][] };

const DEEPEST = 6;
const MOST_COLUMNS = 30;
const ITEM = /^( {0,24})([-*+]|\d{1,9}[.)])[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;

/** Reads the blocks of a text, line by line. */
export function blocksOf(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ kind: "paragraph", text: inlinesOf(paragraph.join("\n")) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const fence = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    const heading = /^ {0,3}(#{1,6})[ \t]+(.*)$/.exec(line);
    const item = ITEM.exec(line);
    if (fence) {
      flush();
      const own: string[] = [];
      for (at++; at < lines.length && !lines[at]!.trim().startsWith(fence); at++) own.push(lines[at]!);
      blocks.push({ kind: "code", text: own.join("\n") });
    } else if (line.trim() === "") flush();
    else if (heading) {
      flush();
      blocks.push({ kind: "heading", level: heading[1]!.length, text: inlinesOf(heading[2]!) });
    } else if (RULE.test(line)) {
      flush();
      blocks.push({ kind: "rule" });
    } else if (item) {
      flush();
      const found: [string, number, string][] = [];
      for (; at < lines.length; at++) {
        const next = ITEM.exec(lines[at]!);
        const last = found[found.length - 1];
        if (next) found.push([next[3]!, Math.min(DEEPEST, next[1]!.length >> 1), next[2]!]);
        else if (last && /^ {2,}\S/.test(lines[at]!)) last[0] += `\n${lines[at]!.trim()}`;
        else break;
      }
      at -= 1;
      const items = found.map(([own, depth, marker]) => ({ text: inlinesOf(own), depth, marker: /\d/.test(marker) ? marker : "•" }));
      blocks.push({ kind: "list", items });
    } else if (/^ {0,3}>/.test(line)) {
      flush();
      const own: string[] = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]!); at++) own.push(lines[at]!.replace(/^ {0,3}> ?/, ""));
      at -= 1;
      blocks.push({ kind: "quote", text: inlinesOf(own.join("\n")) });
    } else if (isTable(line, lines[at + 1])) {
      flush();
      const rows: Inline[][][] = [];
      for (at += 2; at < lines.length && lines[at]!.includes("|"); at++) rows.push(cellsOf(lines[at]!));
      at -= 1;
      blocks.push({ kind: "table", head: cellsOf(line), rows });
    } else paragraph.push(line);
  }
  flush();
  return blocks;
}

function isTable(line: string, next: string | undefined): boolean {
  if (!line.includes("|") || !next?.includes("-")) return false;
  return next.includes("|") && next.split("|").every((cell) => /^[ \t]*:?-*:?[ \t]*$/.test(cell));
}

function cellsOf(line: string): Inline[][] {
  let own = line.trim();
  if (own.startsWith("|")) own = own.slice(1);
  if (own.endsWith("|")) own = own.slice(0, -1);
  return own.split("|").slice(0, MOST_COLUMNS).map((cell) => inlinesOf(cell.trim()));
}

const SIGNS: readonly (readonly [string, Inline["kind"]])[] = [
  ["`", "code"],
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "del"],
  ["*", "em"],
  ["_", "em"],
];

/** Splits a text into plain and emphasised parts. Marks without a partner stay as they are written. */
export function inlinesOf(text: string): Inline[] {
  const found: Inline[] = [];
  const gone = new Set<string>();
  let plain = "";
  const push = (kind: Inline["kind"], own: string) => {
    if (plain) found.push({ kind: "text", text: plain });
    plain = "";
    found.push({ kind, text: own });
  };
  for (let at = 0; at < text.length; ) {
    const sign = SIGNS.find(([own]) => text.startsWith(own, at));
    if (!sign || gone.has(sign[0])) {
      plain += text[at++];
      continue;
    }
    const [own, kind] = sign;
    const end = closing(text, own, at);
    if (end < 0) {
      // A mark that is never closed is not looked for again, so that the time stays linear.
      if (end === -1) gone.add(own);
      plain += own;
      at += own.length;
    } else {
      push(kind, text.slice(at + own.length, end));
      at = end + own.length;
    }
  }
  if (plain) found.push({ kind: "text", text: plain });
  return found;
}

/** The place of the closing mark, -1 if there is none in the whole text, -2 if the text here is no emphasis. */
function closing(text: string, sign: string, at: number): number {
  const start = at + sign.length;
  const next = text.indexOf(sign, start);
  if (next < 0) return -1;
  if (sign === "`") return next > start ? next : -2;
  const isWord = (place: number) => /[\p{L}\p{N}]/u.test(text[place] ?? "");
  // Emphasis touches its text on the inside, and an underscore inside of a word is a part of its name.
  if (next === start || /\s/.test(text[start]!) || /\s/.test(text[next - 1]!)) return -2;
  if (sign.startsWith("_") && (isWord(at - 1) || isWord(next + sign.length))) return -2;
  return next;
}

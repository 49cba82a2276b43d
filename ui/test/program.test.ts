// Unit tests of everything in the program that needs no page.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { branchesOf } from "../src/branches";
import { diffWords, pairs, words } from "../src/diff";
import { restore } from "../src/embedded";
import { blocksOf, inlinesOf } from "../src/markdown";
import { segmentsOf } from "../src/timeline";
import { choose, Language, TEXTS } from "../src/i18n";
import { actionOf, badge, KEYS } from "../src/keys";
import { byLoss, joined } from "../src/losses";
import { digitsOfChange } from "../src/numbers";
import { grouped, sorted } from "../src/order";
import { reasonText } from "../src/reasons";
import { attention, isFlaky, matches, worstVerdict } from "../src/rows";
import { find, split } from "../src/search";
import { EVERYTHING } from "../src/source";
import { format, moved, parse } from "../src/state";
import { linesOf, splitState } from "../src/statedelta";
import { countPassed, rounded, wilson } from "../src/threshold";
import { breakable, languageOf, pieces, visibleLine } from "../src/visible";
import type { AttemptView, CaseRow, ComparedCase, ComparisonView, InvocationView } from "../src/view";

const encoder = new TextEncoder();

function packed(...attempts: string[][]): Uint8Array {
  const bytes: number[] = [];
  for (const texts of attempts) {
    texts.forEach((text, index) => bytes.push(...(index ? [0xff] : []), ...encoder.encode(text)));
    bytes.push(0xfe);
  }
  return Uint8Array.from(bytes);
}

function found(text: string, ...attempts: string[][]): number[] {
  const places = new Set<number>();
  find({ first: 10, bytes: packed(...attempts) }, text, places);
  return [...places];
}

function row(...verdicts: CaseRow["attempts"][number]["verdict"][]): CaseRow {
  const attempts = verdicts.map((verdict, index) => ({ place: index, attempt: index + 1, verdict }));
  return { position: 0, name: "case", eval_set: "shop", verdict: "failed", attempts };
}

test("a search finds attempts without regard to case", () => {
  assert.deepEqual(found("ORDER", ["my order"], ["nothing"], ["an Order", "b"]), [10, 12]);
});

test("a search finds Korean, Japanese and Chinese", () => {
  assert.deepEqual(found("주문", ["내 주문"], ["注文"]), [10]);
  assert.deepEqual(found("注文", ["내 주문"], ["ご注文"]), [11]);
});

test("a search does not find a text across two texts or two attempts", () => {
  assert.deepEqual(found("ab", ["a", "b"], ["a"], ["b"]), []);
});

test("a search equals a search in strings", () => {
  const letters = "ab ";
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const text = () => Array.from({ length: Math.floor(random() * 9) }, () => letters[Math.floor(random() * 3)]).join("");
  for (let round = 0; round < 3000; round++) {
    const attempts = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
      Array.from({ length: 1 + Math.floor(random() * 3) }, text),
    );
    const needle = text() || "a";
    const expected = attempts.flatMap((texts, index) => (texts.some((own) => own.includes(needle)) ? [10 + index] : []));
    assert.deepEqual(found(needle, ...attempts), expected, JSON.stringify([needle, attempts]));
  }
});

test("texts are split as they were packed", () => {
  assert.deepEqual(split(packed(["a", "", "c"], ["d"])), [["a", "", "c"], ["d"]]);
});

test("texts return to their places, and keys named __proto__ stay keys", () => {
  const value = JSON.parse('{"text": 1, "place": 0, "args": {"__proto__": {"reason": 0}}}') as unknown;
  assert.equal(JSON.stringify(restore(value, ["a", "b"])), '{"text":"b","place":0,"args":{"__proto__":{"reason":"a"}}}');
});

test("words of languages without spaces are words", () => {
  assert.deepEqual(words("注文を取り消します").slice(0, 2), ["注文", "を"]);
  assert.deepEqual(words("取消订单").length < 4, true);
  assert.deepEqual(words("주문을 취소합니다"), ["주문을", " ", "취소합니다"]);
});

test("a word diff keeps both texts", () => {
  for (const [before, after] of [
    ["Order B-42 is cancelled. You get your money back.", "Order B-42 is cancelled."],
    ["주문을 취소했습니다", "주문을 확인했습니다"],
    ["", "new"],
    ["old", ""],
  ] as const) {
    const changes = diffWords(before, after);
    const side = (hidden: string) =>
      changes
        .filter((change) => change.kind !== hidden)
        .map((change) => change.text)
        .join("");
    assert.equal(side("added"), before);
    assert.equal(side("removed"), after);
  }
});

test("a word diff marks only the words that changed", () => {
  assert.deepEqual(diffWords("the red house", "the blue house"), [
    { kind: "equal", text: "the " },
    { kind: "removed", text: "red" },
    { kind: "added", text: "blue" },
    { kind: "equal", text: " house" },
  ]);
});

test("characters that hide, control or reorder text are spelt out", () => {
  assert.equal(visibleLine("a\u202eb\u0000c\u200bd\n"), "a\\u202eb\\x00c\\u200bd\\n");
  assert.equal(visibleLine("\ud800"), "\\ud800");
  assert.deepEqual(pieces("👨‍👩‍👧"), [{ text: "👨‍👩‍👧", hidden: false }]);
  assert.equal(visibleLine("a\u200db"), "a\\u200db");
});

test("the language of a text follows from its script", () => {
  assert.deepEqual(["서울은 맑습니다", "注文を取り消します", "取消订单", "an order"].map(languageOf), ["ko", "ja", "zh", undefined]);
});

test("the fragment holds the whole state", () => {
  const state = {
    page: "case",
    run: "two",
    base: "one",
    also: "two,three",
    position: 4,
    name: "late order",
    attempt: 2,
    step: "2.3",
    query: { verdict: "failed", criterion: "a&b=c", side: "agent", tool: "注文#", flags: ["flaky", "invalid"], text: "x y?&", mode: "3", sort: "-c.a&b", group: true },
  } as const;
  assert.deepEqual(parse(format(state), ["one", "two"]), state);
});

test("a link with wrong values opens the summary of the last run", () => {
  assert.deepEqual(parse("#page=case&run=x&case=-1&attempt=1e9&only=all", ["one", "two"]), {
    page: "summary",
    run: "two",
    base: "",
    also: "",
    position: null,
    name: "",
    attempt: 1,
    step: "",
    query: EVERYTHING,
  });
});

test("entries that both lists have in the same order are pairs", () => {
  assert.deepEqual(pairs(["get", "cancel"], ["find", "get", "refund", "cancel"]), [
    [null, 0],
    [0, 1],
    [null, 2],
    [1, 3],
  ]);
  assert.deepEqual(pairs(["a"], []), [[0, null]]);
});

test("the case whose attempt is worst needs attention first", () => {
  assert.equal(worstVerdict(row("passed", "error", "unscored")), "error");
  const rows = [row("passed"), row("failed", "passed"), row("failed", "failed"), row("unscored")];
  const sorted = [...rows].sort((a, b) => attention(a) - attention(b));
  assert.deepEqual(sorted, [rows[2], rows[1], rows[3], rows[0]]);
});

test("a case is flaky if some attempts pass and others fail", () => {
  assert.deepEqual([row("passed", "failed"), row("passed"), row("failed", "failed")].map(isFlaky), [true, false, false]);
});

test("filters hold for one attempt together", () => {
  const names = { criteria: ["a", "b"], tools: ["t"], changes: new Map() };
  const own = row("failed", "passed");
  own.attempts[0]!.failed = [1];
  own.attempts[1]!.tools = [0];
  const query = (part: object) => matches(own, { ...EVERYTHING, ...part }, names);
  assert.equal(query({ criterion: "b" }), true);
  assert.equal(query({ criterion: "a" }), false);
  assert.equal(query({ tool: "t" }), true);
  assert.equal(query({ tool: "t", criterion: "b" }), false);
  assert.equal(query({ tool: "missing" }), false);
  assert.equal(query({ flags: ["flaky"] }), true);
});

test("a reader gets the nearest language", () => {
  assert.deepEqual(
    [["ko-KR"], ["zh-Hant-HK"], ["zh"], ["fr", "ja"], ["fr"], ["zh-TW"]].map(choose),
    ["ko", "zh-TW", "zh-CN", "ja", "en", "zh-TW"],
  );
});

test("numbers and plurals are written by the language", () => {
  const english = new Language("en");
  assert.equal(english.text("casesFound", { count: 1 }), "1 case");
  assert.equal(english.text("casesFound", { count: 12345 }), "12,345 cases");
  assert.equal(english.rate(0.999), "99.9%");
  assert.equal(english.rate(1), "100%");
  assert.equal(english.number(0.5), "0.50");
});

test("every text is used", () => {
  const program = readdirSync("src")
    .map((name) => readFileSync(`src/${name}`, "utf8"))
    .join("");
  const plain = readFileSync("../src/fairtrial/reports/html_summary.py", "utf8");
  const unused = Object.keys(TEXTS.en!).filter((name) => !program.includes(`"${name}"`) && !plain.includes(`"${name}"`) && !plain.includes(`'${name}'`));
  assert.deepEqual(unused, []);
});

test("each key has one action, and single characters can be switched off", () => {
  assert.equal(new Set(KEYS.map((entry) => entry.key)).size, KEYS.length);
  assert.equal(new Set(KEYS.map((entry) => entry.action)).size, KEYS.length);
  assert.equal(badge("back"), "Esc");
  const press = (key: string) => ({ key, ctrlKey: false, metaKey: false, altKey: false, isComposing: false });
  assert.equal(actionOf(press("j"), false, true), "next");
  assert.equal(actionOf(press("j"), true, true), undefined);
  assert.equal(actionOf(press("j"), false, false), undefined);
  assert.equal(actionOf(press("Escape"), true, false), "back");
  assert.equal(actionOf({ ...press("j"), isComposing: true }, false, true), undefined);
});

test("no source turns text into markup or code", () => {
  const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function|DOMParser|createContextualFragment/;
  const bad = readdirSync("src").filter((name) => forbidden.test(readFileSync(`src/${name}`, "utf8")));
  assert.deepEqual(bad, []);
});

test("a link names its case until another case is opened", () => {
  const state = parse("#page=case&case=3&name=late+order&run=a", ["a"]);
  assert.equal(state.name, "late order");
  assert.deepEqual(parse(format(state), ["a"]), state);
  assert.equal(moved(state, { attempt: 2 }).name, "late order");
  assert.equal(moved(state, { position: 4 }).name, "");
  assert.equal(moved(state, { position: 4, name: "other" }).name, "other");
  assert.doesNotMatch(format({ ...state, name: "x".repeat(70000) }), /name=/);
});

test("only Name, Foreign and Plain take texts of others", () => {
  // A value that stands in the markup as it is. Texts with values and lists spell hidden characters out themselves.
  const bare = /(?<=>|^ *|\} |[\w,:·.] )\{([a-zA-Z]+(?:[.?!]+[a-zA-Z]+)*)\}/gm;
  const markup = new Set("body caption cell children props.children column facts head inner label row.head shown summary".split(" "));
  const own = new Set(
    ("comparison.base comparison.candidate run.id run.version failure.side invalid.side used.side usage.side side " +
      "tab.text name value props.name props.title piece.text change.text text saved").split(" "),
  );
  const foreign = readdirSync("src")
    .filter((name) => name.endsWith(".tsx"))
    .flatMap((name) => [...readFileSync(`src/${name}`, "utf8").matchAll(bare)].map((match) => `${name}: ${match[1]}`))
    .filter((place) => !markup.has(place.split(": ")[1]!) && !own.has(place.split(": ")[1]!));
  assert.deepEqual(foreign, []);
});

test("texts of others keep no character that hides or reorders", () => {
  const hostile = "a\u001b[31m\u202eb\u2066\u0000";
  for (const code of ["en", "ko", "en-XA"]) {
    const own = new Language(code);
    assert.doesNotMatch(own.text("withheld", { reason: hostile }), /[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/);
    assert.doesNotMatch(own.list([hostile, "c"]), /[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/);
  }
});

test("a long word has places to break", () => {
  const text = `${"A".repeat(70000)} short words ${"가".repeat(150)}`;
  const parts = breakable(text);
  assert.equal(parts.join(""), text);
  assert.ok(parts.every((part) => part.split(" ").every((word) => word.length <= 100)));
  assert.deepEqual(breakable("short words ".repeat(100)), ["short words ".repeat(100)]);
});

test("numbers are written as Python writes them", () => {
  const table = JSON.parse(readFileSync("test/numbers.json", "utf-8")) as Record<string, (number & string)[][]>;
  const own = new Language("en");
  const plain = (text: string) => text.replaceAll(" ", "");
  const ends = (low: number, high: number, percent: boolean) => own.ends({ low, high }, percent)!.join("…");
  const change = (base: number, other: number, width: number) =>
    digitsOfChange(base, other, { value: other - base, low: other - base - width, high: other - base + width }, true);
  const written: Record<string, (...numbers: number[]) => unknown> = {
    number: (value) => [own.number(value)],
    rate: (value) => [own.rate(value)],
    against: (value, limit) => own.against(value!, limit!),
    "rate against": (value, limit) => own.against(value!, limit!, 0, true),
    interval: (value, low, high) => [own.estimated({ value, low, high }, null), ends(low!, high!, false)],
    "rate interval": (value, low, high) => [own.estimated({ value, low, high }, null, true), ends(low!, high!, true)],
    change: (base, other, width) => [change(base!, other!, width!)],
  };
  for (const [name, rows] of Object.entries(table)) {
    const write = written[name]!;
    for (const row of rows) {
      const given = row.slice(0, write.length);
      const expected = row.slice(write.length).map((cell) => (typeof cell === "string" ? plain(cell) : cell));
      assert.deepEqual([...(write(...given) as unknown[])], expected, `${name} ${given.join(", ")}`);
    }
  }
});

test("the time of a turn is that of the model, of tools, and waiting", () => {
  const call = (name: string, seconds: number, started?: number) => ({ kind: "tool_call", name, seconds, started }) as const;
  const kinds = (turn: InvocationView) => segmentsOf(turn).segments.map((own) => [own.kind, Math.round(10 * own.start), Math.round(10 * own.seconds)]);
  assert.deepEqual(kinds({ durations: { total: 3, model: 1, tool: 1.5 }, steps: [call("a", 0.5), call("b", 1)] }), [
    ["model", 0, 10],
    ["tool", 10, 5],
    ["tool", 15, 10],
    ["wait", 25, 5],
  ]);
  const placed: InvocationView = {
    user: { kind: "message", started: 100 },
    durations: { total: 4, model: 2.5 },
    steps: [call("a", 1, 102)],
  };
  assert.deepEqual(kinds(placed), [["model", 0, 20], ["tool", 20, 10], ["model", 30, 5], ["wait", 35, 5]]);
  assert.deepEqual(segmentsOf({}), { total: 0, segments: [] });
});

test("attempts share a trunk until they differ", () => {
  const attempt = (number: number, verdict: string, ...tools: string[]) =>
    ({ attempt: number, verdict, trace: [{ steps: tools.map((name) => ({ kind: "tool_call", name })) }] }) as unknown as AttemptView;
  const tree = branchesOf([attempt(1, "passed", "a", "b"), attempt(2, "failed", "a", "c"), attempt(3, "failed", "a", "c", "d")]);
  assert.deepEqual([tree.steps, tree.passed, tree.attempts], [["1. a {}"], 1, [1, 2, 3]]);
  assert.deepEqual(tree.branches.map((own) => [own.steps, own.passed, own.attempts]), [
    [["1. b {}"], 1, [1]],
    [["1. c {}"], 0, [2, 3]],
  ]);
  assert.equal(tree.branches[1]!.branches.length, 2);
});

test("Markdown has blocks and emphasis, and no links", () => {
  assert.deepEqual(blocksOf("# A\n\ntext\n- x\n- y\n```\n**b**\n```\n---\n> q").map((block) => block.kind), [
    "heading",
    "paragraph",
    "list",
    "code",
    "rule",
    "quote",
  ]);
  assert.deepEqual(inlinesOf("a **b** `c` snake_case_name 2 * 3 * 4 [l](https://x)"), [
    { kind: "text", text: "a " },
    { kind: "strong", text: "b" },
    { kind: "text", text: " " },
    { kind: "code", text: "c" },
    { kind: "text", text: " snake_case_name 2 * 3 * 4 [l](https://x)" },
  ]);
  for (const hostile of ["*".repeat(20000), "_a".repeat(20000), "`".repeat(20001), "|".repeat(20000) + "\n|-", "- ".repeat(20000)]) {
    assert.ok(JSON.stringify(blocksOf(hostile)).length > 0);
  }
});

test("the interval of a rate is Wilson's, as Newcombe prints it", () => {
  // Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
  for (const [passed, total, low, high] of [[81, 263, 0.2553, 0.3662], [15, 148, 0.0624, 0.1605], [0, 20, 0, 0.1611], [1, 29, 0.0061, 0.1718]] as const) {
    const interval = wilson(passed, total);
    assert.deepEqual([interval.low!.toFixed(4), interval.high!.toFixed(4)], [low.toFixed(4), high.toFixed(4)]);
  }
  assert.deepEqual(wilson(0, 0), {});
});

test("a threshold is reached by a value that equals it, and a case without a value does not count", () => {
  const values = [{ key: 0.2, count: 3 }, { key: 0.5, count: 4 }, { key: 1, count: 2 }, { key: null, count: 7 }];
  assert.deepEqual(countPassed(values, 0.5, false), [6, 9]);
  assert.deepEqual(countPassed(values, 0.5, true), [7, 9]);
});

test("a moved threshold has the decimals that its scale needs", () => {
  assert.equal(rounded(0.7300000001, 0, 1), 0.73);
  assert.equal(rounded(3.14159, 1, 5), 3.14);
  assert.equal(rounded(1234.5, 0, 5000), 1230);
});

test("failures are grouped by reason without its numbers, the most frequent first", () => {
  const reasons = ["no answer", "the price is 12", "", "the price is 3.5"];
  const rows = reasons.map((reason, position) => ({ ...row(reason ? "failed" : "passed"), position, reason }));
  const keyed = sorted(rows, "reason", { criteria: [] });
  assert.deepEqual(grouped(keyed.map(([key]) => key)), [
    { key: "the price is #", count: 2 },
    { key: "no answer", count: 1 },
    { key: "", count: 1 },
  ]);
  assert.deepEqual(keyed.map(([, own]) => own.position), [1, 3, 0, 2]);
});

type Moved = Record<string, [number | null, number | null]>;

function compared(name: string, change: ComparedCase["change"], passed: [number, number], moved: Moved = {}, base = 0): ComparedCase {
  return { name, change, base_passed: [passed[0], 2], candidate_passed: [passed[1], 2], base, candidate: base, moved };
}

const MEASURED = [
  { criterion: "quality", threshold: 0.5, range: { low: 0, high: 1 }, lower_is_better: false },
  { criterion: "steps", threshold: 20, range: { low: 0, high: null }, lower_is_better: true },
  { criterion: "seconds", threshold: null, range: { low: 0, high: null }, lower_is_better: true },
];

test("cases that broke come first, then the largest losses, then what only informs, then gains", () => {
  const cases = [
    compared("fixed", "fixed", [0, 2], { quality: [0, 1] }),
    compared("slower", "same", [2, 2], { seconds: [1, 100] }),
    compared("lost a half", "same", [0, 0], { quality: [0.5, 0] }),
    compared("better", "same", [2, 2], { quality: [0.5, 0.75] }),
    compared("new", "only_candidate", [0, 0]),
    compared("twice the steps and more", "same", [2, 2], { steps: [4, 16] }),
    compared("broken", "broken", [2, 0]),
    compared("lost everything", "same", [0, 0], { quality: [1, 0] }),
  ];
  assert.deepEqual(
    byLoss(cases, MEASURED).map((own) => own.name),
    ["broken", "lost everything", "twice the steps and more", "lost a half", "slower", "new", "better", "fixed"],
  );
});

test("the cases of several runs are joined, and those that moved nowhere are left out", () => {
  const comparison = (candidate: string, ...cases: ComparedCase[]) => ({ candidate, cases }) as unknown as ComparisonView;
  const found = joined(
    [
      comparison("a", compared("x", "same", [2, 2], {}, 0), compared("y", "same", [2, 2], { quality: [1, 0.9] }, 1), compared("z", "same", [2, 2], {}, 2)),
      comparison("b", compared("x", "broken", [2, 0], {}, 0), compared("y", "same", [2, 2], {}, 1), compared("z", "same", [2, 2], {}, 2)),
    ],
    MEASURED,
  );
  assert.deepEqual(found.map((own) => [own.name, own.worst]), [["x", 1], ["y", 0]]);
});

test("reasons that count cases speak the language of the page, and others stay", () => {
  assert.equal(reasonText(new Language("ja"), "5 cases failed"), "ケース5件が不合格");
  assert.equal(reasonText(new Language("en"), "1 case failed"), "1 case failed");
  assert.equal(reasonText(new Language("ko"), "the reward fell"), "the reward fell");
});

test("reasons of criteria are translated by templates, and the values in them stay", () => {
  const say = (code: string, text: string) => reasonText(new Language(code), text);
  const difference = "first difference at call 2: expected search, got login";
  assert.equal(say("zh-CN", difference), "从第 2 次工具调用起不同：预期 search，实际 login");
  assert.equal(say("en", difference), difference);
  assert.equal(say("ja", "first difference at call #: search is missing"), "最初の違いはツール呼び出し #: search がありません");
  assert.equal(say("ko", "no reference"), "참조 답변 없음");
  assert.match(say("zh-TW", "contradicted: 'yes 3' is expected, and the reply says '{got}'"), /預期為 'yes 3'，回覆為 '\{got\}'/);
});

test("the sentence below a small table is translated with its numbers", () => {
  const say = (code: string, text: string) => reasonText(new Language(code), text);
  const rate = "With 3 cases, the pass rate of calls can be anywhere from 6 to 99 %: this shows that the agent can pass, not how often.";
  assert.equal(say("ja", rate), "ケース3件では、calls の合格率は 6 % から 99 % の間のどこでもありえます。エージェントが合格しうることは示しますが、その頻度は示しません。");
  const mean = "With 1 attempt and 2 unscored, the mean can be anywhere from 0.10 to 1.00: this is too little to say more.";
  assert.equal(say("ko", mean), "시도 1회와 점수 없음 2회 기준으로 평균의 가능한 범위는 0.10부터 1.00까지입니다. 이만큼으로는 더 말할 수 없습니다.");
  const single = "With 4 attempts at 1 case, the pass rate has no interval: this shows that the agent can fail, not how often.";
  assert.equal(say("zh-TW", single), "只有 1 個案例的 4 次嘗試，通過率沒有信賴區間：這說明代理可能失敗，但說明不了頻率有多高。");
});

test("what no template fits stays, also a line of many joints", () => {
  for (const text of ["Your order 7 is shipped.", "", "refund_twice", "; ".repeat(1900), "a; b: ".repeat(600), "constructor"]) {
    for (const code of ["ko", "ja", "zh-TW", "zh-CN"]) assert.equal(reasonText(new Language(code), text), text);
  }
});

test("a changed file is a diff without its heads, and an added file is its lines", () => {
  const changed = { path: "a.md", change: "changed", diff: "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n same\n-old\n+++new\n" } as const;
  assert.deepEqual(linesOf(changed), [
    { kind: "equal", text: "@@ -1,2 +1,2 @@" },
    { kind: "equal", text: " same" },
    { kind: "removed", text: "-old" },
    { kind: "added", text: "+++new" },
  ]);
  const added = { path: "b.md", change: "added", diff: "-one\n\ntwo" } as const;
  assert.deepEqual(linesOf(added).map((line) => line.text), ["+-one", "+", "+two"]);
  assert.ok(linesOf(added).every((line) => line.kind === "added"));
});

test("changed files leave the rest of a state, and a state of another shape stays whole", () => {
  const file = { path: "a.md", change: "removed" };
  const state = { cart: [1], workspace: { sandbox: "none", files: [file], cost: 0.5 } };
  assert.deepEqual(splitState(state), { files: [file], rest: { cart: [1], workspace: { sandbox: "none", cost: 0.5 } } });
  for (const workspace of [null, "x", { files: [file] }, { sandbox: "none", files: ["a.md"] }, { sandbox: "none", files: [{ path: "a", change: "toString" }] }]) {
    const other = { workspace };
    assert.deepEqual(splitState(other), { files: [], rest: other });
  }
});

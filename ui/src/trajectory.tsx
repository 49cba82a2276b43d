// Expected and actual calls, aligned as the criterion aligned them. A changed argument is one change, not two calls.
import { usePage } from "./context";
import { diffWords } from "./diff";
import { Fold } from "./fold";
import { Name } from "./marks";
import { Changed, jsonText, Plain } from "./text";
import type { AlignedCall, StepView } from "./view";
import { shortened } from "./visible";

const LONGEST = 2000;
const SHORT = 60;
const PAGE = 50;
const ABSENT = Symbol("absent");

const SIGNS: Readonly<Record<AlignedCall["relation"], string>> = {
  equal: "=",
  changed: "≠",
  missing: "−",
  surplus: "+",
  moved: "↕",
};
const WORDS = {
  equal: "relationEqual",
  changed: "relationChanged",
  missing: "relationMissing",
  surplus: "relationSurplus",
  moved: "relationMoved",
} as const;

interface Lists {
  readonly expected: readonly StepView[];
  readonly actual: readonly StepView[];
}

/** The calls that differ. Equal calls are one line, which can be unfolded. */
export function Trajectory({ rows, ...lists }: Lists & { rows: readonly AlignedCall[] }) {
  const { language } = usePage();
  const equal = rows.filter((row) => row.relation === "equal");
  const others = rows.filter((row) => row.relation !== "equal");
  return (
    <div class="trajectory">
      <ul aria-label={language.text("trajectory")}>
        {others.slice(0, PAGE).map((row, index) => (
          <Row key={index} row={row} {...lists} />
        ))}
      </ul>
      {others.length > PAGE && (
        <Fold summary={language.text("showMore", { count: others.length - PAGE })}>
          {() => <ul>{others.slice(PAGE).map((row, index) => <Row key={index} row={row} {...lists} />)}</ul>}
        </Fold>
      )}
      {equal.length > 0 && (
        <Fold class="full" summary={language.text("equalCalls", { count: equal.length })}>
          {() => <ul>{equal.map((row, index) => <Row key={index} row={row} {...lists} />)}</ul>}
        </Fold>
      )}
    </div>
  );
}

function callAt(calls: readonly StepView[], index: number | null | undefined): StepView | undefined {
  return typeof index === "number" ? calls[index] : undefined;
}

function Row({ row, ...lists }: Lists & { row: AlignedCall }) {
  const { language } = usePage();
  const [expected, actual] = [callAt(lists.expected, row.expected), callAt(lists.actual, row.actual)];
  const own = actual ?? expected;
  const pointers = row.relation === "changed" ? (row.pointers ?? []) : [];
  return (
    <li class={`${row.relation} ${row.allowed ? "allowed" : ""}`}>
      <div class="relation">
        <span aria-hidden="true">{SIGNS[row.relation]}</span> <span>{language.text(WORDS[row.relation])}</span>
        {row.allowed && row.relation !== "equal" && <span class="tag">{language.text("allowed")}</span>}
        {row.optional && <span class="tag">{language.text("optional")}</span>}
        {row.forbidden && <span class="tag failed">{language.text("forbidden")}</span>}
      </div>
      <div class="call">
        <span class="call-name">
          <Name text={own?.name ?? ""} />
        </span>
        {pointers.length > 0 && expected && actual ? (
          <ul class="arguments">
            {pointers.map((pointer) => (
              <Change key={pointer} pointer={pointer} expected={expected} actual={actual} />
            ))}
          </ul>
        ) : (
          <Arguments call={own} />
        )}
      </div>
    </li>
  );
}

function Arguments({ call }: { call: StepView | undefined }) {
  const args = Object.entries(call?.args ?? {});
  if (args.length === 0) return null;
  return (
    <ul class="arguments">
      {args.map(([name, value]) => (
        <li key={name}>
          <span class="argument-name">
            <Name text={name} />
          </span>{" "}
          <Plain text={shortened(jsonText(value), LONGEST)} />
        </li>
      ))}
    </ul>
  );
}

/** An argument that differs: "amount 19.9 → 29.9". Long values stand below each other, with the words that differ. */
function Change({ pointer, expected, actual }: { pointer: string; expected: StepView; actual: StepView }) {
  const { language } = usePage();
  const [before, after] = [valueAt(expected.args, pointer), valueAt(actual.args, pointer)];
  const [old, now] = [written(before), written(after)];
  const isShort = old.length <= SHORT && now.length <= SHORT;
  const changes = isShort ? [] : diffWords(old, now);
  return (
    <li>
      <code class="argument-name">
        <Name text={named(pointer)} />
      </code>{" "}
      {isShort ? (
        <>
          {before === ABSENT ? <span class="muted">{language.text("absent")}</span> : <Changed change={{ kind: "removed", text: old }} />}
          {" → "}
          {after === ABSENT ? <span class="muted">{language.text("absent")}</span> : <Changed change={{ kind: "added", text: now }} />}
        </>
      ) : (
        <>
          <div>{changes.map((change, index) => change.kind !== "added" && <Changed key={index} change={change} />)}</div>
          <div>→ {changes.map((change, index) => change.kind !== "removed" && <Changed key={index} change={change} />)}</div>
        </>
      )}
    </li>
  );
}

function written(value: unknown): string {
  return value === ABSENT ? "" : shortened(jsonText(value), LONGEST);
}

/** A JSON pointer as people write it: `order.items.0`. */
function named(pointer: string): string {
  return keysOf(pointer).join(".");
}

function keysOf(pointer: string): string[] {
  return pointer.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(args: unknown, pointer: string): unknown {
  let value: unknown = args;
  for (const key of keysOf(pointer)) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, key)) return ABSENT;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

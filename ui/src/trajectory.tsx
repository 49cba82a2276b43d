// Expected and actual calls side by side, aligned as the criterion aligned them.
import { Fragment } from "preact";
import { usePage } from "./context";
import { diffWords } from "./diff";
import { Name } from "./marks";
import { Changed, jsonText, Plain } from "./text";
import type { AlignedCall, StepView } from "./view";
import { shortened } from "./visible";

const LONGEST = 2000;

const SIGNS: Readonly<Record<AlignedCall["relation"], string>> = {
  equal: "=",
  changed: "≠",
  missing: "−",
  surplus: "+",
  moved: "↕",
};

export function Trajectory(props: {
  rows: readonly AlignedCall[];
  expected: readonly StepView[];
  actual: readonly StepView[];
}) {
  const { language } = usePage();
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={language.text("trajectory")}>
      <table class="trajectory">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">{language.text("relation")}</span>
            </th>
            <th scope="col">{language.text("expected")}</th>
            <th scope="col">{language.text("actual")}</th>
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row, index) => (
            <Row key={index} row={row} expected={call(props.expected, row.expected)} actual={call(props.actual, row.actual)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function call(calls: readonly StepView[], index: number | null | undefined): StepView | undefined {
  return typeof index === "number" ? calls[index] : undefined;
}

function Row({ row, expected, actual }: { row: AlignedCall; expected?: StepView; actual?: StepView }) {
  const { language } = usePage();
  const names = {
    equal: "relationEqual",
    changed: "relationChanged",
    missing: "relationMissing",
    surplus: "relationSurplus",
    moved: "relationMoved",
  } as const;
  return (
    <tr class={`${row.relation} ${row.allowed ? "allowed" : ""}`}>
      <td class="relation">
        <span aria-hidden="true">{SIGNS[row.relation]}</span> <span>{language.text(names[row.relation])}</span>
        {row.allowed && row.relation !== "equal" && <span class="tag">{language.text("allowed")}</span>}
        {row.optional && <span class="tag">{language.text("optional")}</span>}
        {row.forbidden && <span class="tag failed">{language.text("forbidden")}</span>}
      </td>
      <td>{expected && <Call call={expected} other={actual} pointers={row.pointers ?? []} side="removed" />}</td>
      <td>{actual && <Call call={actual} other={expected} pointers={row.pointers ?? []} side="added" />}</td>
    </tr>
  );
}

interface CallProps {
  readonly call: StepView;
  readonly other?: StepView;
  readonly pointers: readonly string[];
  readonly side: "removed" | "added";
}

function Call({ call, other, pointers, side }: CallProps) {
  const args = Object.entries(call.args ?? {});
  return (
    <div class="call">
      <span class="call-name">
        <Name text={call.name ?? ""} />
      </span>
      {args.length > 0 && (
        <ul class="arguments">
          {args.map(([name, value]) => (
            <li key={name}>
              <span class="argument-name">
                <Name text={name} />
              </span>{" "}
              <Argument value={value} other={other?.args?.[name]} side={side} differs={differs(name, pointers)} />
            </li>
          ))}
        </ul>
      )}
      {pointers.length > 0 && side === "added" && (
        <p class="muted">
          {pointers.map((pointer, index) => (
            <Fragment key={pointer}>
              {index > 0 && ", "}
              <code>
                <Name text={pointer} />
              </code>
            </Fragment>
          ))}
        </p>
      )}
    </div>
  );
}

function differs(name: string, pointers: readonly string[]): boolean {
  const start = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  return pointers.some((pointer) => pointer === start || pointer.startsWith(`${start}/`));
}

function Argument(props: { value: unknown; other: unknown; side: "removed" | "added"; differs: boolean }) {
  const text = shortened(jsonText(props.value), LONGEST);
  if (!props.differs) return <Plain text={text} />;
  const other = props.other === undefined ? "" : shortened(jsonText(props.other), LONGEST);
  const changes = props.side === "removed" ? diffWords(text, other) : diffWords(other, text);
  const hidden = props.side === "removed" ? "added" : "removed";
  return (
    <>
      {changes.map((change, index) => (change.kind === hidden ? null : <Changed key={index} change={change} />))}
    </>
  );
}

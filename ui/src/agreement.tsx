// How far do people agree with each other and with the judges? It is read on demand, because it names verdicts.
import { useState } from "preact/hooks";
import { type Client, run as pathOf } from "./client";
import { useLanguage } from "./context";
import { Estimate, Name, PARTS, PartName } from "./marks";
import { problemOf } from "./server";
import { Table } from "./table";
import type { AgreementView, DisagreementView, JudgeAgreementView, PeopleAgreementView } from "./view";
import { visibleLine } from "./visible";

export function Agreement({ client, run }: { client: Client; run: string }) {
  const language = useLanguage();
  const [view, setView] = useState<AgreementView | null>(null);
  const [problem, setProblem] = useState("");
  const read = () => {
    client.get<AgreementView>(`${pathOf(run)}/agreement`).then(setView, (error: unknown) => setProblem(problemOf(error)));
  };
  return (
    <section aria-labelledby="agreement-title">
      <h2 id="agreement-title">{language.text("agreement")}</h2>
      {problem && (
        <p class="callout warning" role="alert">
          {problem === "lost" ? language.text("lostServer") : visibleLine(problem)}
        </p>
      )}
      {!view && (
        <>
          <p class="muted">{language.text("agreementUnblinds")}</p>
          <button type="button" class="show-agreement" onClick={read}>
            {language.text("showAgreement")}
          </button>
        </>
      )}
      {view && view.labels === 0 && <p class="muted">{language.text("noLabels")}</p>}
      {view && view.labels > 0 && (
        <div class="agreement">
          {view.people.length === 0 && <p class="muted">{language.text("noAgreementOfPeople")}</p>}
          {view.people.length > 0 && <People rows={view.people} />}
          {view.people.map((own) => (
            <Confusion key={keyOf(own)} own={own} />
          ))}
          {view.judges.length > 0 && <Judges rows={view.judges} />}
          {view.disagreements.length > 0 && <Disagreements run={run} rows={view.disagreements} />}
        </div>
      )}
    </section>
  );
}

function keyOf(own: PeopleAgreementView | JudgeAgreementView): string {
  return `${own.criterion} ${own.part ?? ""}`;
}

/** Which parts of outcomes were labelled. */
function Parts({ own }: { own: PeopleAgreementView | JudgeAgreementView }) {
  const language = useLanguage();
  return own.part ? <div class="muted">{language.text(PARTS[own.part])}</div> : null;
}

function People({ rows }: { rows: readonly PeopleAgreementView[] }) {
  const language = useLanguage();
  return (
    <Table
      name={{ label: language.text("people") }}
      columns={(["people", "labelledByTwo", "equalLabels", "kappa", "alpha"] as const).map((name) => language.text(name))}
      rows={rows.map((own) => ({
        key: keyOf(own),
        head: (
          <>
            <Name text={own.criterion} />
            <Parts own={own} />
            <div class="muted">
              <Name text={language.list(own.labelers)} />
            </div>
          </>
        ),
        cells: [
          language.count(own.items),
          <Estimate estimate={own.raw} percent />,
          <Estimate estimate={own.kappa} />,
          <Estimate estimate={own.alpha} />,
        ],
      }))}
    />
  );
}

function Confusion({ own }: { own: PeopleAgreementView }) {
  const language = useLanguage();
  const { confusion = [], values = [] } = own;
  const [first, second] = own.labelers;
  if (confusion.length === 0 || first === undefined || second === undefined) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={language.text("confusion")}>
      <table class="confusion">
        <caption>
          {language.text("confusionOf", { criterion: visibleLine(own.criterion), first: visibleLine(first), second: visibleLine(second) })}
          <Parts own={own} />
        </caption>
        <thead>
          <tr>
            <th scope="col">
              <Name text={first} />
            </th>
            {values.map((value) => (
              <th key={value} scope="col">
                <Name text={second} /> {language.count(value)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {confusion.map((row, place) => (
            <tr key={place}>
              <th scope="row">{language.count(values[place])}</th>
              {row.map((count, index) => (
                <td key={index}>{language.count(count)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Judges({ rows }: { rows: readonly JudgeAgreementView[] }) {
  const language = useLanguage();
  const columns = ["criterion", "labelled", "equalVerdicts", "ofPassed", "ofFailed", "kappa", "alpha"] as const;
  return (
    <Table
      name={{ label: language.text("judgesAndPeople") }}
      caption={language.text("judgesAndPeople")}
      columns={columns.map((name) => language.text(name))}
      rows={rows.map((own) => ({
        key: keyOf(own),
        head: (
          <>
            <Name text={own.criterion} />
            <Parts own={own} />
            {own.judge !== own.criterion && (
              <div class="muted">
                <Name text={own.judge} />
              </div>
            )}
          </>
        ),
        cells: [
          language.count(own.labels),
          <Estimate estimate={own.accuracy} percent />,
          <>
            <Estimate estimate={own.sensitivity} percent /> <Share row={own.table?.[0]} place={0} />
          </>,
          <>
            <Estimate estimate={own.specificity} percent /> <Share row={own.table?.[1]} place={1} />
          </>,
          <Estimate estimate={own.kappa} />,
          <Estimate estimate={own.alpha} />,
        ],
      }))}
    />
  );
}

/** The counts behind a share. */
function Share({ row, place }: { row: readonly number[] | undefined; place: number }) {
  const language = useLanguage();
  if (!row) return null;
  const total = row.reduce((sum, count) => sum + count, 0);
  return <div class="muted">{language.text("countOf", { count: language.count(row[place]), total })}</div>;
}

function Disagreements({ run, rows }: { run: string; rows: readonly DisagreementView[] }) {
  const language = useLanguage();
  return (
    <>
      <h3>{language.text("disagreements")}</h3>
      <ul class="disagreements">
        {rows.map((own) => (
          <li key={`${own.criterion} ${own.position} ${own.attempt} ${JSON.stringify(own.part)}`}>
            <a href={`#page=case&run=${encodeURIComponent(run)}&case=${own.position}&attempt=${own.attempt}`}>
              <Name text={own.name} />
            </a>{" "}
            <span class="muted">
              <Name text={own.criterion} /> · {language.text("attempt", { number: String(own.attempt) })} ·{" "}
              {own.part && (
                <>
                  <PartName part={{ key: own.part, label: "" }} /> ·{" "}
                </>
              )}
              {language.text(own.passed ? "peoplePassJudgeFails" : "peopleFailJudgePasses")}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

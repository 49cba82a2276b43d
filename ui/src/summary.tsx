// The numbers of a run: verdict, reasons, criteria with intervals, cost, invalid attempts.
import { Attacks } from "./attacks";
import { Cases } from "./cases";
import { usePage } from "./context";
import { reasonText } from "./reasons";
import { CountsBar, Estimate, IntervalPicture, Name, sideWord, Verdict } from "./marks";
import { Lead, Modes, useModes } from "./modes";
import type { Interval } from "./numbers";
import { SkillUses } from "./skilluses";
import { Table } from "./table";
import { Foreign } from "./text";
import { MovableThreshold } from "./threshold";
import type { CriterionView, ModelUsage, ProgressView, RunUsage, RunView } from "./view";

export function Summary() {
  const { run, language } = usePage();
  const modes = useModes();
  return (
    <>
      <Lead modes={modes} run={run.id} />
      <Head run={run} />
      <section aria-labelledby="criteria-title">
        <h2 id="criteria-title">{language.text("criteria")}</h2>
        <Criteria criteria={run.criteria} />
        {run.limits && <Foreign class="note" text={reasonText(language, run.limits)} />}
        {run.clustered && <p class="note">{language.text("clustered")}</p>}
      </section>
      <PassK run={run} />
      <Attacks attacks={run.attacks} />
      <SkillUses uses={run.skill_uses} />
      <Modes modes={modes} />
      <Cases />
    </>
  );
}

function Head({ run }: { run: RunView }) {
  const { language } = usePage();
  const facts: [string, string][] = [
    [language.text("started"), language.date(run.started)],
    [language.text("cases"), language.count(run.cases)],
    [language.text("attempts"), language.count(run.attempts)],
  ];
  if (typeof run.seconds === "number") facts.push([language.text("duration"), language.seconds(run.seconds)]);
  const sides = Object.entries(run.invalid);
  return (
    <section class="head" aria-labelledby="verdict-title">
      <div class="head-verdict">
        <h1 id="verdict-title">
          <Verdict verdict={run.verdict} large />
        </h1>
        {run.attempts !== run.cases && <div class="caption">{language.text("attemptsFound", { count: run.attempts })}</div>}
        <ul class="counts-list">
          {Object.entries(run.counts).map(([verdict, count]) => (
            <li key={verdict}>
              <Verdict verdict={verdict} /> <b>{language.count(count)}</b>
            </li>
          ))}
        </ul>
        <CountsBar counts={run.counts} />
        {(run.reasons ?? []).map((reason) => (
          <Foreign key={reason} class="reason" text={reasonText(language, reason)} />
        ))}
        {run.progress ? (
          <Progress progress={run.progress} />
        ) : (
          !run.finished && <p class="warning">{language.text("unfinished")}</p>
        )}
        {(run.notes ?? []).map((note) => (
          <Foreign key={note} class="warning" text={reasonText(language, note)} />
        ))}
        {sides.length > 0 && (
          <p class="warning">
            {language.text("invalidBySide", {
              sides: language.list(sides.map(([side, count]) => `${sideWord(language, side)} ${language.count(count)}`)),
            })}
          </p>
        )}
      </div>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {usagesOf(run.spending).map(([side, usage]) => (
          <div key={side}>
            <dt>{sideWord(language, side)}</dt>
            <dd>
              <Usage usage={usage} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** How far a run is, or how it is continued if its process is gone. */
function Progress({ progress }: { progress: ProgressView }) {
  const { language } = usePage();
  const { attempts: done, total, rate, seconds_left: left } = progress;
  const isKnown = typeof total === "number";
  const facts = [isKnown ? language.text("doneOf", { done, total }) : language.text("attemptsFound", { count: done })];
  if (progress.is_alive && typeof rate === "number") facts.push(language.text("perSecond", { rate }));
  if (progress.is_alive && typeof left === "number") facts.push(language.text("timeLeft", { time: language.seconds(left) }));
  return (
    <div class={`progress callout ${progress.is_alive ? "" : "warning"}`}>
      <p role="status">
        <b>{language.text(progress.is_alive ? "isRunning" : "interrupted")}</b> {facts.join(" · ")}
      </p>
      {isKnown && (
        <svg class="counts" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          <rect class="informational" x="0" y="0" width={(100 * done) / (total || 1)} height="6" />
        </svg>
      )}
      {!progress.is_alive && (
        <>
          <p>{language.text("resumeWith")}</p>
          <Foreign class="code" text={progress.resume} />
        </>
      )}
      {progress.computing && <p class="muted">{language.text("computing")}</p>}
    </div>
  );
}

/** The usage of models by each side that used any. */
export function usagesOf(usage: RunUsage): [string, ModelUsage][] {
  const sides = ["agent", "judge", "simulator", "environment"] as const;
  return sides.flatMap((side) => (usage[side] ? [[side, usage[side]] as [string, ModelUsage]] : []));
}

export function Usage({ usage }: { usage: ModelUsage }) {
  const { language } = usePage();
  const parts: string[] = [];
  if (usage.calls) parts.push(language.text("calls", { count: usage.calls }));
  const tokens = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  if (tokens) parts.push(language.text("tokens", { count: tokens }));
  if (typeof usage.cost === "number" && (usage.cost > 0 || !usage.unpriced_calls)) {
    const cost = language.dollars(usage.cost);
    parts.push(usage.unpriced_calls ? language.text("atLeast", { value: cost }) : cost);
  }
  return <>{parts.join(" · ") || "–"}</>;
}

function Criteria({ criteria }: { criteria: readonly CriterionView[] }) {
  const { language, link, state } = usePage();
  const hasRates = criteria.some((criterion) => typeof criterion.threshold === "number");
  const shown = criteria.filter((criterion) => criterion.has_data !== false);
  const empty = criteria.filter((criterion) => !shown.includes(criterion));
  return (
    <>
      <Table
        name={{ titleId: "criteria-title" }}
        columns={[
          language.text("criterion"),
          language.text("verdicts"),
          language.text("mean"),
          ...(hasRates ? [language.text("passRate")] : []),
        ]}
        rows={shown.map((criterion) => ({
          key: criterion.criterion,
          head: (
            <>
              <a href={link({ query: { ...state.query, criterion: criterion.criterion } })}>
                <Name text={criterion.criterion} />
              </a>
              <Threshold criterion={criterion} />
              <Judge criterion={criterion} />
            </>
          ),
          cells: [
            <Counts criterion={criterion} />,
            <Mean criterion={criterion} />,
            ...(hasRates ? [<Rate criterion={criterion} />] : []),
          ],
        }))}
      />
      {empty.length > 0 && (
        <p class="note">
          {language.text("withoutData", { names: language.list(empty.map((criterion) => criterion.criterion)) })}
        </p>
      )}
    </>
  );
}

function Threshold({ criterion }: { criterion: CriterionView }) {
  const { language } = usePage();
  if (typeof criterion.threshold !== "number") return <div class="muted">{language.text("informs")}</div>;
  const name = criterion.lower_is_better ? "needsAtMost" : "needsAtLeast";
  return <div class="muted">{language.text(name, { value: language.against(criterion.mean.value ?? criterion.threshold, criterion.threshold)[1] })}</div>;
}

function Judge({ criterion }: { criterion: CriterionView }) {
  const { language } = usePage();
  const { judge } = criterion;
  if (!judge) return null;
  const states = {
    unchecked: "judgeUnchecked",
    "too few": "judgeTooFew",
    useless: "judgeUseless",
    biased: "judgeBiased",
    good: "judgeGood",
  } as const;
  return (
    <div class={`judge ${judge.state === "good" ? "" : "warning"}`}>
      <Name text={judge.judge} />
      <div>{language.text(states[judge.state], { count: judge.labels ?? 0 })}</div>
      {typeof judge.agreement.accuracy.value === "number" && (
        <div>
          {language.text("agreesWithPeople")} <Estimate estimate={judge.agreement.accuracy} percent />
        </div>
      )}
      <Agreement name="selfAgreement" estimate={estimateOf(criterion.self_agreement, criterion.self_agreement_interval)} />
      <Agreement name="panelAgreement" estimate={estimateOf(criterion.panel_agreement, criterion.panel_agreement_interval)} />
      {typeof judge.corrected.value === "number" && (
        <div>
          {language.text("corrected")} <Estimate estimate={judge.corrected} percent={!judge.graded} />
        </div>
      )}
    </div>
  );
}

function Agreement(props: { name: "selfAgreement" | "panelAgreement"; estimate?: Interval | null }) {
  const { language } = usePage();
  const estimate = props.estimate ?? {};
  if (typeof estimate.value !== "number") return null;
  const ends = language.ends(estimate, true)?.join(" … ");
  const value = language.estimated(estimate, null, true);
  return <div>{language.text(props.name, { value: `${value}${ends ? ` (${ends})` : ""}` })}</div>;
}

function estimateOf(value: number | null | undefined, ends: readonly [number, number] | null | undefined): Interval {
  return { value, low: ends?.[0], high: ends?.[1] };
}

function Counts({ criterion }: { criterion: CriterionView }) {
  const { language } = usePage();
  const { passed, failed, unscored, not_applicable, informational, errors: error } = criterion;
  const verdicts = Object.entries({ passed, failed, unscored, not_applicable, informational, error });
  const counts = verdicts.flatMap(([verdict, count]): [string, number][] => (count ? [[verdict, count]] : []));
  return (
    <div class="criterion-counts">
      <CountsBar counts={Object.fromEntries(counts)} />
      <div>
        {counts.map(([verdict, count]) => (
          <span key={verdict} class="count">
            <Verdict verdict={verdict} /> {language.count(count)}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The ends of the scale of a criterion: its range, and where it is unbounded the ends of its interval. */
function scale(criterion: CriterionView): [number, number] {
  const { low, high } = criterion.range;
  const numbers = [criterion.mean.value, criterion.mean.low, criterion.mean.high, criterion.threshold].filter(
    (value): value is number => typeof value === "number",
  );
  return [low ?? Math.min(0, ...numbers), high ?? Math.max(1e-9, ...numbers.map((value) => value * 1.1))];
}

function Mean({ criterion }: { criterion: CriterionView }) {
  const { language } = usePage();
  const [low, high] = scale(criterion);
  const { valid, possible } = criterion;
  return (
    <div class="estimate-cell">
      <MovableThreshold criterion={criterion} low={low} high={high} />
      <Estimate estimate={criterion.mean} threshold={criterion.threshold} unit={criterion.unit} />
      {possible && (
        <div class="muted">
          {language.text("possible", { low: language.number(possible[0]), high: language.number(possible[1]) })}
        </div>
      )}
      {valid && valid.mean.value !== criterion.mean.value && (
        <div class="muted">
          {language.text("overValid", { count: valid.n })} <Estimate estimate={valid.mean} threshold={criterion.threshold} unit={criterion.unit} />
        </div>
      )}
    </div>
  );
}

function Rate({ criterion }: { criterion: CriterionView }) {
  const { language } = usePage();
  if (typeof criterion.threshold !== "number") return <>–</>;
  const { valid } = criterion;
  return (
    <div class="estimate-cell">
      <IntervalPicture estimate={criterion.pass_rate} low={0} high={1} />
      <Estimate estimate={criterion.pass_rate} percent />
      {valid && valid.pass_rate.value !== criterion.pass_rate.value && (
        <div class="muted">
          {language.text("overValid", { count: valid.n })} <Estimate estimate={valid.pass_rate} percent />
        </div>
      )}
    </div>
  );
}

function PassK({ run }: { run: RunView }) {
  const { language } = usePage();
  const rows = run.pass_k ?? [];
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="passk-title">
      <h2 id="passk-title">{language.text("repeated")}</h2>
      <Table
        name={{ titleId: "passk-title" }}
        columns={["k", language.text("passHat"), language.text("passAt"), language.text("cases")]}
        rows={rows.map((row) => ({
          key: row.k,
          head: row.k,
          cells: [<Share estimate={row.pass_hat} />, <Share estimate={row.pass_at} />, language.count(row.cases)],
        }))}
      />
    </section>
  );
}

function Share({ estimate }: { estimate: Interval }) {
  return (
    <div class="estimate-cell">
      <IntervalPicture estimate={estimate} low={0} high={1} />
      <Estimate estimate={estimate} percent />
    </div>
  );
}

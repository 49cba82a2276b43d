// One criterion on one attempt: value and threshold, parts, trajectory diff, reply against reference, ballots.
import { usePage } from "./context";
import { Facts } from "./facts";
import { IntervalPicture, Name, PartName, Verdict, quantity } from "./marks";
import { Foreign, Json, WordDiff } from "./text";
import { Trajectory } from "./trajectory";
import type { AttemptView, BallotView, OutcomeView, Quote, Score, StepView, VoteView } from "./view";

export function Outcome({ outcome, attempt }: { outcome: OutcomeView; attempt: AttemptView }) {
  const { language } = usePage();
  // A criterion that only informs has no verdict. Without a value, it is as unscored as another.
  const verdict = outcome.verdict === "informational" && typeof outcome.value !== "number" ? "unscored" : outcome.verdict;
  const isOpen = verdict === "failed" || verdict === "unscored";
  const [value, limit] = language.beside(outcome.value, outcome.threshold);
  const body = <Body outcome={outcome} attempt={attempt} />;
  const head = (
    <>
      <Verdict verdict={verdict} />
      <span class="outcome-name">
        <Name text={outcome.criterion} />
      </span>
      <span class="outcome-value">
        <b>{quantity(value, outcome.unit)}</b>
        {typeof outcome.threshold === "number" && (
          <span class="muted">
            {language.text(outcome.lower_is_better ? "needsAtMost" : "needsAtLeast", { value: limit })}
          </span>
        )}
      </span>
    </>
  );
  return (
    <details class={`outcome ${verdict}`} open={isOpen}>
      <summary>{head}</summary>
      {body}
    </details>
  );
}

function Body({ outcome, attempt }: { outcome: OutcomeView; attempt: AttemptView }) {
  const { language } = usePage();
  const [low, high] = outcome.possible ?? [];
  const ballots = [...new Set(outcome.ballots ?? [])];
  return (
    <div class="outcome-body">
      {outcome.reason && <Reason text={outcome.reason} calls={outcome.calls} />}
      {outcome.possible && (
        <p class="note">
          {language.text("possible", { low: language.number(low), high: language.number(high) })}{" "}
          <IntervalPicture
            estimate={{ low, high, value: outcome.value }}
            low={low ?? 0}
            high={high ?? 1}
            threshold={outcome.threshold}
          />
        </p>
      )}
      <Agreement outcome={outcome} />
      <Evidence quotes={outcome.quotes ?? []} calls={outcome.calls ?? []} part={null} attempt={attempt} />
      <Ballots ids={ballots} attempt={attempt} />
      <Parts parts={outcome.parts ?? []} of={null} attempt={attempt} threshold={outcome.threshold} />
    </div>
  );
}

function Agreement({ outcome }: { outcome: OutcomeView }) {
  const { language } = usePage();
  const stats = outcome.judge_stats;
  if (!stats) return null;
  const facts = [language.text("calls", { count: stats.calls })];
  if (stats.abstentions) facts.push(language.text("abstentions", { count: stats.abstentions }));
  if (typeof stats.self_agreement === "number") {
    facts.push(language.text("selfAgreement", { value: language.rate(stats.self_agreement) }));
  }
  if (typeof stats.panel_agreement === "number") {
    facts.push(language.text("panelAgreement", { value: language.rate(stats.panel_agreement) }));
  }
  if (typeof stats.cost === "number") facts.push(language.dollars(stats.cost));
  return <p class="muted">{facts.join(" · ")}</p>;
}

/** A reason. If the calls are shown as a table, the lines that repeat them are left out. */
function Reason({ text, calls }: { text: string; calls?: readonly unknown[] }) {
  const shown = calls && calls.length > 0 ? (text.split("\n", 1)[0] ?? "") : text;
  return <Foreign class="reason" text={shown} />;
}

interface PartsProps {
  readonly parts: readonly Score[];
  /** The part that the parts belong to, or null for the whole outcome. */
  readonly of: Score | null;
  readonly attempt: AttemptView;
  readonly threshold?: number | null;
}

/** The parts of an outcome or of a part. Facts stand in their texts, everything else one below the other. */
function Parts({ parts, of, attempt, threshold }: PartsProps) {
  const facts = parts.filter((part) => part.fact);
  const index = of?.key?.kind === "invocation" ? (of.key.index ?? null) : null;
  return (
    <>
      {facts.length > 0 && <Facts parts={facts} index={index} attempt={attempt} />}
      {parts.map((part, place) =>
        part.fact ? null : <Part key={place} part={part} attempt={attempt} threshold={threshold} />,
      )}
    </>
  );
}

function Part({ part, attempt, threshold }: { part: Score; attempt: AttemptView; threshold?: number | null }) {
  const { language } = usePage();
  const name = <PartName part={part} />;
  const isPerfect = part.value === 1 && !part.reason && !part.quotes?.length && !part.parts?.length && !part.calls?.length;
  const hasBody = Boolean(part.reason || part.quotes?.length || part.ballots?.length || part.parts?.length || part.calls?.length);
  const head = (
    <>
      <span class="part-name">{name}</span>
      <span class={part.applicable === false ? "muted" : ""}>
        {part.applicable === false ? language.text("notApplicable") : language.beside(part.value, threshold)[0]}
      </span>
    </>
  );
  if (!hasBody) return <div class={`part ${isPerfect ? "perfect" : ""}`}>{head}</div>;
  const isLow = part.applicable !== false && (part.value === null || part.value === undefined || part.value < 1);
  return (
    <details class="part" open={isLow}>
      <summary>{head}</summary>
      <div class="part-body">
        {part.reason && <Reason text={part.reason} calls={part.calls ?? part.quotes} />}
        <Evidence quotes={part.quotes ?? []} calls={part.calls ?? []} part={part} attempt={attempt} />
        <Ballots ids={part.ballots ?? []} attempt={attempt} />
        <Parts parts={part.parts ?? []} of={part} attempt={attempt} threshold={threshold} />
      </div>
    </details>
  );
}

interface EvidenceProps {
  readonly quotes: readonly Quote[];
  readonly calls: NonNullable<Score["calls"]>;
  readonly part: Score | null;
  readonly attempt: AttemptView;
}

/** Calls as a trajectory diff, a reply beside its reference as a word diff, and other quotations as they are. */
function Evidence({ quotes, calls, part, attempt }: EvidenceProps) {
  if (calls.length > 0) {
    const [expected, actual] = callsOf(part, attempt);
    if (actual.length > 0 || expected.length > 0) return <Trajectory rows={calls} expected={expected} actual={actual} />;
  }
  const [first, second, ...others] = quotes;
  if (first?.source === "expected" && second?.source === "actual" && others.length === 0) {
    return <WordDiff expected={first.text} actual={second.text} />;
  }
  if (quotes.length === 0) return null;
  return (
    <ul class="quotes">
      {quotes.map((quote, index) => (
        <li key={index}>
          {quote.source && <span class="tag"><Name text={quote.source} /></span>}
          <Foreign text={quote.text} />
        </li>
      ))}
    </ul>
  );
}

/** The expected and the actual calls that the rows of a part count: of an invocation, or of the conversation. */
function callsOf(part: Score | null, attempt: AttemptView): [StepView[], StepView[]] {
  const expected = attempt.expected?.conversation ?? [];
  const actual = attempt.trace ?? [];
  const calls = (steps: readonly StepView[] | null | undefined) =>
    (steps ?? []).filter((step) => step.kind === "tool_call");
  const index = part?.key?.kind === "invocation" ? part.key.index : null;
  if (typeof index === "number") return [calls(expected[index]?.steps), calls(actual[index]?.steps)];
  return [
    attempt.expected?.calls ?? expected.flatMap((invocation) => calls(invocation.steps)),
    actual.flatMap((invocation) => calls(invocation.steps)),
  ];
}

function Ballots({ ids, attempt }: { ids: readonly string[]; attempt: AttemptView }) {
  const ballots = ids.map((id) => attempt.ballots?.[id]).filter((ballot) => ballot !== undefined);
  return (
    <>
      {ballots.map((ballot) => (
        <Ballot key={ballot.id} ballot={ballot} />
      ))}
    </>
  );
}

function Ballot({ ballot }: { ballot: BallotView }) {
  const { language } = usePage();
  const settings = Object.entries(ballot.settings ?? {});
  return (
    <section class="ballot" aria-label={language.text("votes")}>
      <div class="caption">
        {language.text("votes")} · <Name text={ballot.prompt} />
      </div>
      {Object.entries(ballot.decisions).map(([item, decision]) => (
        <p key={item} class="decision">
          {Object.keys(ballot.decisions).length > 1 && <Name text={item} />}{" "}
          {Object.entries(decision.counted ?? {}).map(([answer, count]) => (
            <span key={answer} class="tag">
              <Name text={answer} /> × {language.count(count)}
            </span>
          ))}
          {decision.abstained ? language.text("abstentions", { count: decision.abstained }) : null}
        </p>
      ))}
      <ol class="votes">
        {ballot.votes.map((vote) => (
          <Vote key={vote.draw} vote={vote} />
        ))}
      </ol>
      {settings.length > 0 && (
        <details>
          <summary>{language.text("judgeSettings")}</summary>
          <Json value={ballot.settings} />
        </details>
      )}
      {(ballot.prompts ?? []).map((prompt, index) => (
        <details key={index}>
          <summary>{language.text("prompt")}</summary>
          {prompt.system && <Foreign class="code" text={prompt.system} />}
          <Foreign class="code" text={prompt.text} />
        </details>
      ))}
    </section>
  );
}

function Vote({ vote }: { vote: VoteView }) {
  const { language } = usePage();
  const served = (vote.calls ?? []).map((call) => call.served).filter(Boolean);
  const replies = (vote.replies ?? []).filter((reply) => reply !== null);
  return (
    <li>
      <span class="muted">
        <Name text={served.at(-1) ?? vote.voter} />
      </span>
      {Object.entries(vote.opinions ?? {}).map(([item, answer]) => (
        <div key={item}>
          <b>
            <Name text={answer.answer} />
          </b>
          {answer.rationale && <Foreign text={answer.rationale} />}
          {answer.quote && (
            <blockquote>
              <Foreign text={answer.quote} />
            </blockquote>
          )}
        </div>
      ))}
      {Object.entries(vote.problems ?? {}).map(([item, problem]) => (
        <Foreign key={item} class="warning" text={problem} />
      ))}
      {replies.length > 0 && (
        <details>
          <summary>{language.text("rawReply")}</summary>
          {replies.map((reply, index) => (
            <Foreign key={index} class="code" text={reply.text} />
          ))}
        </details>
      )}
    </li>
  );
}

// One criterion on one attempt: a line with value and threshold, and below it only what differs. The rest is one line.
import { useState } from "preact/hooks";
import { askedText, ballotsIn, itemOf, Questions, Votes } from "./ballot";
import { usePage } from "./context";
import { Facts } from "./facts";
import { Fold } from "./fold";
import { IntervalPicture, Name, PartName, Verdict, mark, quantity } from "./marks";
import { reasonText } from "./reasons";
import { Foreign, WordDiff } from "./text";
import { Trajectory } from "./trajectory";
import type { AttemptView, OutcomeView, Quote, Score, StepView } from "./view";

const OPENED = 1;
const PAGE = 20;
const MOST_PASSED = 200;

export function Outcome({ outcome, attempt, isOpen }: { outcome: OutcomeView; attempt: AttemptView; isOpen: boolean }) {
  const { language } = usePage();
  // A criterion that only informs has no verdict. Without a value, it is as unscored as another.
  const verdict = outcome.verdict === "informational" && typeof outcome.value !== "number" ? "unscored" : outcome.verdict;
  const [value, limit] = language.beside(outcome.value, outcome.threshold);
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
    <Fold class={`outcome ${verdict}`} open={isOpen} summary={head}>
      {() => <Body outcome={outcome} attempt={attempt} />}
    </Fold>
  );
}

function Body({ outcome, attempt }: { outcome: OutcomeView; attempt: AttemptView }) {
  const { language } = usePage();
  const [low, high] = outcome.possible ?? [];
  const parts = outcome.parts ?? [];
  // A ballot about several parts is drawn once, below all of them.
  const ids = parts.flatMap(ballotsIn);
  const shared = new Set([...(outcome.ballots ?? []), ...ids.filter((id, place) => ids.indexOf(id) !== place)]);
  return (
    <div class="outcome-body">
      {outcome.reason && <Reason text={outcome.reason} calls={outcome.calls} isOwn={outcome.has_own_words} />}
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
      <Parts parts={parts} of={null} attempt={attempt} threshold={outcome.threshold} drawn={shared} isOwn={outcome.has_own_words} />
      <Questions ids={[...shared]} attempt={attempt} shown={parts.length > 0} />
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

interface ReasonProps {
  readonly text: string;
  readonly calls?: readonly unknown[];
  /** The words of a user's metric, which are never translated. */
  readonly isOwn?: boolean;
}

/** A reason. If the calls are shown, the lines that repeat them are left out. */
function Reason({ text, calls, isOwn }: ReasonProps) {
  const shown = calls && calls.length > 0 ? (text.split("\n", 1)[0] ?? "") : text;
  const { language } = usePage();
  return <Foreign class="reason" text={isOwn ? shown : reasonText(language, shown)} />;
}

interface PartsProps {
  readonly parts: readonly Score[];
  /** The part that the parts belong to, or null for the whole outcome. */
  readonly of: Score | null;
  readonly attempt: AttemptView;
  readonly threshold?: number | null;
  /** The ballots that are drawn further up. */
  readonly drawn: ReadonlySet<string>;
  readonly isOwn?: boolean;
}

/** The parts of an outcome or of a part: what differs, and one line for what does not. Facts stand in their texts. */
function Parts({ parts, of, attempt, threshold, drawn, isOwn }: PartsProps) {
  const { language } = usePage();
  const [shown, setShown] = useState(PAGE);
  const facts = parts.filter((part) => part.fact);
  const index = of?.key?.kind === "invocation" ? (of.key.index ?? null) : null;
  const own = parts.filter((part) => !part.fact);
  const low = own.filter((part) => !isFull(part));
  const full = own.filter(isFull);
  const draw = (part: Score, isOpen: boolean) => (
    <Part key={own.indexOf(part)} {...{ part, siblings: parts, attempt, threshold, drawn, isOpen, isOwn }} />
  );
  const isAboutTurns = own[0]?.key?.kind === "invocation";
  const counts = { done: full.length, count: own.length };
  return (
    <>
      {facts.length > 0 && <Facts parts={facts} index={index} attempt={attempt} />}
      {low.slice(0, shown).map((part, place) => draw(part, place < OPENED))}
      {shown < low.length && (
        <button type="button" class="quiet" onClick={() => setShown(shown + PAGE)}>
          {language.text("showMore", { count: Math.min(PAGE, low.length - shown) })}
        </button>
      )}
      {full.length > 0 && own.length <= 3 && full.map((part) => draw(part, false))}
      {full.length > 0 && own.length > 3 && (
        <Fold
          class="full"
          summary={
            <>
              <span class="passed-mark" aria-hidden="true">✓</span>{" "}
              {language.text(isAboutTurns ? "fullInvocations" : "fullParts", counts)}
            </>
          }
        >
          {() => full.slice(0, MOST_PASSED).map((part) => draw(part, false))}
        </Fold>
      )}
    </>
  );
}

function isFull(part: Score): boolean {
  return part.applicable !== false && typeof part.value === "number" && part.value >= 1;
}

interface PartProps extends Omit<PartsProps, "parts" | "of"> {
  readonly part: Score;
  readonly siblings: readonly Score[];
  readonly isOpen: boolean;
}

function Part({ part, siblings, attempt, threshold, drawn, isOpen, isOwn }: PartProps) {
  const { language } = usePage();
  const ballot = part.ballots?.length === 1 ? attempt.ballots?.[part.ballots[0]!] : undefined;
  const item = ballot && itemOf(ballot, part, siblings);
  const inside = (part.parts ?? []).length > 0;
  const own = ballotsIn(part).filter((id) => !drawn.has(id));
  const hasVotes = ballot !== undefined && item !== undefined && !inside;
  const hasBody = Boolean(part.reason || part.quotes?.length || own.length || inside || part.calls?.length || hasVotes);
  const head = (
    <>
      <span class={`part-mark ${toneOf(part)}`} aria-hidden="true">
        {mark(toneOf(part))}
      </span>
      <span class="part-name">
        <PartName part={part} />
      </span>
      <span class={part.applicable === false ? "muted" : ""}>
        {part.applicable === false ? language.text("notApplicable") : language.beside(part.value, threshold)[0]}
      </span>
    </>
  );
  if (!hasBody) return <div class="part">{head}</div>;
  const turn = part.key?.kind === "invocation" ? part.key.index : null;
  return (
    <Fold class="part" open={isOpen} summary={head}>
      {() => (
        <div class="part-body">
          {typeof turn === "number" && <ToTurn index={turn} />}
          <RubricText part={part} attempt={attempt} asked={ballot && item ? askedText(ballot, item) : ""} />
          {part.reason && !hasVotes && <Reason text={part.reason} calls={part.calls ?? part.quotes} isOwn={isOwn} />}
          {hasVotes && <Votes ballot={ballot} item={item} />}
          <Evidence quotes={part.quotes ?? []} calls={part.calls ?? []} part={part} attempt={attempt} />
          <Parts parts={part.parts ?? []} of={part} attempt={attempt} threshold={threshold} drawn={new Set([...drawn, ...own])} isOwn={isOwn} />
          <Questions ids={own} attempt={attempt} shown={hasVotes || inside} />
        </div>
      )}
    </Fold>
  );
}

function toneOf(part: Score): string {
  if (part.applicable === false) return "not_applicable";
  return typeof part.value !== "number" ? "unscored" : part.value >= 1 ? "passed" : "failed";
}

/** What a judge was asked: the text of the rubric. */
function RubricText({ part, attempt, asked }: { part: Score; attempt: AttemptView; asked: string }) {
  if (part.key?.kind !== "rubric") return null;
  const found = (attempt.expected?.rubrics ?? []).find((rubric) => rubric.id === part.key?.id);
  const text = found?.text || asked || (part.label === part.key.id ? "" : (part.label ?? ""));
  return text ? <Foreign class="rubric-text" text={text} /> : null;
}

/** A link from a part to its invocation in the conversation. */
function ToTurn({ index }: { index: number }) {
  const { language, link } = usePage();
  return (
    <a
      class="to-turn"
      href={link({ step: `${index + 1}.user` })}
      onClick={() => document.dispatchEvent(new CustomEvent("page-turn", { detail: index }))}
    >
      {language.text("showInConversation")}
    </a>
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

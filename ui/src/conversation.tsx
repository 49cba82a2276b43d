// A conversation as it was recorded: messages, with steps, thoughts and tool results folded, and the expectation.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLanguage, useReading } from "./context";
import { type FactMark, factMarks } from "./factmarks";
import { Fold } from "./fold";
import { Formatted } from "./formatted";
import { JsonTree } from "./jsontree";
import { badge } from "./keys";
import { Name } from "./marks";
import { reasonText } from "./reasons";
import { Foreign, jsonText } from "./text";
import type { AttemptView, InvocationView, OutcomeView, RunView, Score, StepView } from "./view";
import { shortened } from "./visible";
import { useWindowed } from "./windowed";

const BRIEF = 140;
/** The height of an invocation that was not drawn yet, in pixels. */
const TURN = 320;

export interface ConversationProps {
  readonly attempt: Pick<AttemptView, "trace" | "expected" | "outcomes" | "agents">;
  /** The run of the attempt. A page that hides the agents has none. */
  readonly run?: Pick<RunView, "traces" | "agents">;
  /** Texts to mark, beside those that criteria and judges quote. */
  readonly quotes?: readonly string[];
  /** The place of the decisive step, for example "2.3" or "2.reply", or "". */
  readonly decisive?: string;
  /** The place of the step to show, or "". */
  readonly step?: string;
  /** What stands between the title and the invocations. */
  readonly children?: ComponentChildren;
}

export function Conversation({ attempt, run, quotes = [], decisive = "", step = "", children }: ConversationProps) {
  const language = useLanguage();
  const showsExpected = useReading().showsExpected;
  const { trace, expected } = attempt;
  const marks = [...quotes, ...quotesOf(attempt.outcomes)];
  const count = Math.max(trace?.length ?? 0, showsExpected ? (expected?.conversation?.length ?? 0) : 0);
  const list = useRef<HTMLOListElement>(null);
  const { from, to, before, after, reveal } = useWindowed(list, count, TURN);
  // A link to a step, and a link from a criterion to an invocation, may lead to a place that is not drawn.
  useEffect(() => {
    if (!step || !trace) return;
    reveal(Math.max(0, parseInt(step, 10) - 1), (entry) => {
      const own = entry.querySelector<HTMLElement>(`[data-step="${step}"]`);
      own?.querySelectorAll("details").forEach((fold) => (fold.open = true));
      (own?.firstElementChild ?? entry).scrollIntoView({ block: step.endsWith(".user") ? "start" : "center" });
    });
  }, [step, trace]);
  useEffect(() => {
    const onTurn = (event: Event) => reveal((event as CustomEvent<number>).detail);
    document.addEventListener("page-turn", onTurn);
    return () => document.removeEventListener("page-turn", onTurn);
  });
  return (
    <section class="conversation" aria-labelledby="conversation-title">
      <h2 id="conversation-title">
        {language.text("conversation")}{" "}
        {!children && (
          <span class="muted keys" aria-hidden="true">
            <kbd>{badge("expected")}</kbd> {language.text("expected")} <kbd>{badge("thoughts")}</kbd>{" "}
            {language.text("thoughts")}
          </span>
        )}
      </h2>
      {children}
      {!trace && <p class="note">{language.text(run?.traces === "none" ? "tracesNone" : "tracesFailed")}</p>}
      {expected?.scenario && (
        <Fold summary={language.text("scenario")}>{() => <JsonTree value={expected.scenario} />}</Fold>
      )}
      <ol class="invocations" ref={list}>
        {before > 0 && <li class="spacer" aria-hidden="true" style={{ height: `${before}px` }} />}
        {Array.from({ length: to - from }, (_, place) => from + place).map((index) => (
          <Invocation
            key={index}
            index={index}
            actual={trace?.[index]}
            expected={showsExpected ? expected?.conversation?.[index] : undefined}
            marks={marks}
            facts={factsOf(attempt.outcomes, index)}
            decisive={decisive}
            agents={attempt.agents ?? run?.agents ?? []}
          />
        ))}
        {after > 0 && <li class="spacer" aria-hidden="true" style={{ height: `${after}px` }} />}
      </ol>
      {expected?.context && (
        <Fold summary={language.text("context")}>{() => <Foreign text={expected.context!} marks={marks} />}</Fold>
      )}
      {expected?.final_state && (
        <Fold summary={language.text("expectedState")}>{() => <JsonTree value={expected.final_state} />}</Fold>
      )}
    </section>
  );
}

/** The parts of outcomes that are about facts of the reply of an invocation. */
function factsOf(outcomes: readonly (OutcomeView | Score)[], index: number): Score[] {
  return outcomes
    .flatMap((outcome) => outcome.parts ?? [])
    .filter((part) => part.key?.kind === "invocation" && part.key.index === index)
    .flatMap((part) => (part.parts ?? []).filter((inner) => inner.fact));
}

/** The texts that criteria and judges quote. Facts have places, so that nobody has to look for them. */
function quotesOf(outcomes: readonly (OutcomeView | Score)[]): string[] {
  return outcomes.flatMap((outcome) => [
    ...("fact" in outcome && outcome.fact ? [] : (outcome.quotes ?? [])).filter((quote) => !["expected", "actual", "both"].includes(quote.source ?? "")).map((quote) => quote.text),
    ...quotesOf(outcome.parts ?? []),
  ]);
}

export type Agents = readonly { readonly name: string }[];

interface InvocationProps {
  readonly index: number;
  readonly actual?: InvocationView;
  readonly expected?: InvocationView;
  readonly marks: readonly string[];
  /** The facts of the reply and of the expected reply. */
  readonly facts?: readonly Score[];
  readonly decisive?: string;
  readonly agents: Agents;
}

export function Invocation({ index, actual, expected, marks, facts = [], decisive = "", agents }: InvocationProps) {
  const language = useLanguage();
  const user = actual?.user ?? expected?.user;
  const caption = useFacts(index, actual, agents);
  return (
    <li class="invocation" data-invocation={index}>
      <div class="caption"><Name text={caption} /></div>
      {user && (
        <Placed at={actual ? `${index + 1}.user` : ""} decisive={decisive}>
          <Bubble step={user} side="user" name={language.text("user")} marks={marks} />
        </Placed>
      )}
      <div class={expected ? "beside" : ""}>
        {expected && (
          <div class="side expected">
            <div class="caption">{language.text("expected")}</div>
            <Answer invocation={expected} marks={[]} facts={marksIn(expected, facts, "expected")} />
          </div>
        )}
        <div class="side">
          {expected && <div class="caption">{language.text("actual")}</div>}
          {actual ? (
            <Answer invocation={actual} marks={marks} facts={marksIn(actual, facts, "actual")} index={index} decisive={decisive} />
          ) : (
            <p class="note">{language.text("neverReached")}</p>
          )}
        </div>
      </div>
    </li>
  );
}

/** What stands above an invocation: its number, who spoke, how long it took, and its tokens. */
export function useFacts(index: number, invocation: InvocationView | undefined, agents: Agents): string {
  const language = useLanguage();
  const names = (invocation?.agents ?? []).map((agent) => agents[agent]?.name ?? "").filter(Boolean);
  const total = invocation?.durations?.total;
  const tokens = (invocation?.usages ?? []).reduce((sum, usage) => sum + (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0), 0);
  return [
    language.text("invocation", { number: String(index + 1) }),
    ...(names.length > 1 ? [language.list(names)] : []),
    ...(typeof total === "number" ? [language.seconds(total)] : []),
    ...(tokens ? [language.text("tokens", { count: tokens })] : []),
  ].join(" · ");
}

/** The steps that the reader wants to see. */
export function useShownSteps(steps: StepView["inner"] | null): readonly StepView[] {
  const { showsThoughts } = useReading();
  return (steps ?? []).filter((step) => showsThoughts || step.kind !== "thought");
}

/** The number of thoughts, with those of agents inside of tools. */
function thoughtCount(steps: StepView["inner"] | null): number {
  return (steps ?? []).reduce((sum, step) => sum + Number(step.kind === "thought") + thoughtCount(step.inner), 0);
}

function marksIn(invocation: InvocationView, facts: readonly Score[], side: "expected" | "actual"): FactMark[] {
  return facts.length === 0 ? [] : factMarks(invocation.reply?.text ?? "", facts, side);
}

interface AnswerProps {
  readonly invocation: InvocationView;
  readonly marks: readonly string[];
  /** The facts of the reply. */
  readonly facts?: readonly FactMark[];
  /** The index of the invocation if its steps have addresses. */
  readonly index?: number;
  readonly decisive?: string;
}

function Answer({ invocation, marks, facts, index, decisive = "" }: AnswerProps) {
  const shown = new Set(useShownSteps(invocation.steps));
  const at = (place: string | number) => (index === undefined ? "" : `${index + 1}.${place}`);
  return (
    <>
      {(invocation.steps ?? []).map((step, place) =>
        shown.has(step) || (decisive && at(place + 1) === decisive) ? (
          <Placed key={place} at={at(place + 1)} decisive={decisive}>
            <Step step={step} marks={marks} />
          </Placed>
        ) : null,
      )}
      <Placed at={at("reply")} decisive={decisive}>
        <Reply invocation={invocation} marks={marks} facts={facts} />
      </Placed>
    </>
  );
}

/** A part of a transcript with an address. The decisive step is marked by a line, a word and its address. */
function Placed({ at, decisive, children }: { at: string; decisive: string; children: ComponentChildren }) {
  const language = useLanguage();
  const { steps, onStep } = useReading();
  if (!at) return <>{children}</>;
  const isDecisive = at === decisive;
  const people = steps?.get(at);
  return (
    <div class={isDecisive || people ? "decisive" : "placed"} data-step={at}>
      {(isDecisive || people) && (
        <span class="tag">
          {language.text("decisiveStep")}
          {people && `: ${language.list(people)}`}
        </span>
      )}
      {onStep && (
        <button type="button" class="quiet mark-step" onClick={() => onStep(at)}>
          {language.text("isDecisiveStep")}
        </button>
      )}
      {children}
    </div>
  );
}

/** The reply, and what is not shown of the steps before it. */
export function Reply({ invocation, marks, facts = [] }: AnswerProps) {
  const language = useLanguage();
  const { steps, reply } = invocation;
  const hidden = useReading().showsThoughts ? 0 : thoughtCount(steps);
  return (
    <>
      {hidden > 0 && <p class="muted">{language.text("hiddenThoughts", { count: hidden })}</p>}
      {steps === null && <p class="muted">{language.text("stepsUnknown")}</p>}
      {reply ? (
        <Bubble step={reply} side="agent" name={reply.author || language.text("agent")} marks={marks} facts={facts} />
      ) : (
        <p class="muted">{language.text("noReply")}</p>
      )}
    </>
  );
}

interface BubbleProps extends Omit<AnswerProps, "invocation"> {
  readonly step: StepView;
  readonly side: "user" | "agent";
  readonly name: string;
}

export function Bubble({ step, side, name, marks, facts = [] }: BubbleProps) {
  const formats = useReading().formats && side === "agent";
  return (
    <div class={`bubble ${side}`}>
      <div class="caption">
        <Name text={name} />
        {step.model && (
          <>
            {" · "}
            <Name text={step.model} />
          </>
        )}
      </div>
      {formats && facts.length === 0 ? (
        <Formatted text={step.text ?? ""} marks={marks} />
      ) : (
        <Foreign text={step.text ?? ""} marks={marks} facts={facts} />
      )}
      <Withheld step={step} />
      <Attachments step={step} />
    </div>
  );
}

interface StepProps {
  readonly step: StepView;
  readonly marks: readonly string[];
  /** Whether another agent made the step inside of a tool, so that its name is shown. */
  readonly isInner?: boolean;
}

export function Step({ step, marks, isInner = false }: StepProps) {
  const language = useLanguage();
  const inner = useShownSteps(step.inner);
  if (step.kind === "message") return <Bubble step={step} side="agent" name={step.author || language.text("agent")} marks={marks} />;
  const isCall = step.kind === "tool_call";
  const name = { tool_call: "toolCall", tool_result: "toolResult", thought: "thought" } as const;
  const content = isCall ? step.args : step.kind === "thought" ? step.text : step.response;
  const brief = oneLine(content);
  const summary = (
    <>
      <span class="step-kind">{language.text(name[step.kind])}</span>
      {step.name && (
        <span class="step-name">
          <Name text={step.name} />
        </span>
      )}
      {isInner && step.author && (
        <span class="tag">
          <Name text={step.author} />
        </span>
      )}
      {step.is_error && <span class="tag failed">{language.text("toolFailed")}</span>}
      {(step.injected ?? []).map((injection) => (
        <span key={injection.effect} class="tag">
          <Name text={injection.effect} />
        </span>
      ))}
      {step.approval && (
        <span class="tag">
          <Name text={`${step.approval.decision} (${step.approval.by})`} />
        </span>
      )}
      <span class="step-brief">
        <Name text={brief} />
      </span>
      {typeof step.seconds === "number" && <span class="muted">{language.seconds(step.seconds)}</span>}
    </>
  );
  return (
    <>
      {inner.length > 0 && (
        <div class="inner-steps">
          {inner.map((own, place) => (
            <Step key={place} step={own} marks={marks} isInner />
          ))}
        </div>
      )}
      <Fold class={`step ${step.kind} ${step.is_error ? "is-error" : ""}`} summary={summary}>
        {() => (
          <>
            {step.kind === "thought" ? <Foreign text={step.text ?? ""} marks={marks} /> : <JsonTree value={content} />}
            <Withheld step={step} />
          </>
        )}
      </Fold>
    </>
  );
}

/** Content that the recording does not hold, or only in part. */
function Withheld({ step }: { step: StepView }) {
  const language = useLanguage();
  if (!step.withheld) return null;
  return (
    <>
      <p class="note">{language.text("withheld", { reason: reasonText(language, step.withheld) })}</p>
      {step.beginning && <Foreign text={`${step.beginning}…`} />}
    </>
  );
}

function oneLine(content: unknown): string {
  const text = typeof content === "string" ? content : (JSON.stringify(content) ?? "");
  return shortened(text.slice(0, BRIEF * 2).replaceAll(/\s+/g, " "), BRIEF);
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Content that is not text. A picture of a known type is shown on a click; everything else is named. */
function Attachments({ step }: { step: StepView }) {
  const language = useLanguage();
  const [shown, setShown] = useState<number | null>(null);
  return (
    <>
      {(step.parts ?? []).map((part, index) => {
        const name = part.name || part.uri || part.mime_type || "";
        const isPicture = PICTURES.has(part.mime_type ?? "") && Boolean(part.data) && /^[A-Za-z0-9+/=\s]+$/.test(part.data ?? "");
        return (
          <div key={index} class="attachment">
            <span class="tag"><Name text={part.mime_type ?? ""} /></span> <Foreign text={name} />
            {isPicture && shown !== index && (
              <button type="button" onClick={() => setShown(index)}>
                {language.text("showPicture")}
              </button>
            )}
            {isPicture && shown === index && <img alt={jsonText(name)} src={`data:${part.mime_type};base64,${part.data}`} />}
          </div>
        );
      })}
    </>
  );
}

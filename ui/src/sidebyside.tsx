// Two attempts at a case side by side: what both did stands beside each other, invocation by invocation, step by step.
import { useLanguage } from "./context";
import { Bubble, Reply, Step, useFacts, useShownSteps, type Agents } from "./conversation";
import { pairs, type Pair } from "./diff";
import { Name, Verdict } from "./marks";
import type { AttemptView, InvocationView, StepView } from "./view";

const MOST_CELLS = 1_000_000;

export interface Side {
  readonly attempt: AttemptView | null;
  readonly agents: Agents;
}

export function SideBySide({ base, candidate }: { base: Side; candidate: Side }) {
  const language = useLanguage();
  const sides = [base, candidate];
  const count = Math.max(...sides.map((side) => side.attempt?.trace?.length ?? 0));
  return (
    <div class="pane" tabIndex={0} role="group" aria-labelledby="pair-title">
      <div class="pair">
        {sides.map((side, place) => (
          <div key={place} class="half">
            <div>
              <b>{language.text(place === 0 ? "base" : "candidate")}</b>{" "}
              {side.attempt && <Verdict verdict={side.attempt.verdict} />}
              {!side.attempt?.trace && (
                <p class="note">{language.text(side.attempt ? "tracesNone" : "notInThisRun")}</p>
              )}
            </div>
          </div>
        ))}
      </div>
      <ol class="invocations">
        {Array.from({ length: count }, (_, index) => (
          <InvocationPair key={index} index={index} base={base} candidate={candidate} />
        ))}
      </ol>
    </div>
  );
}

function InvocationPair({ index, base, candidate }: { index: number; base: Side; candidate: Side }) {
  const own = base.attempt?.trace?.[index];
  const other = candidate.attempt?.trace?.[index];
  const [ownSteps, otherSteps] = [useShownSteps(own?.steps), useShownSteps(other?.steps)];
  const rows = alignedSteps(ownSteps, otherSteps);
  return (
    <li class="invocation pair" data-invocation={index}>
      {own && <Half side={base} name="base" index={index} invocation={own} steps={rows.map(([place]) => stepAt(ownSteps, place))} />}
      {other && (
        <Half side={candidate} name="candidate" index={index} invocation={other} steps={rows.map(([, place]) => stepAt(otherSteps, place))} />
      )}
    </li>
  );
}

function stepAt(steps: readonly StepView[], place: number | null): StepView | undefined {
  return place === null ? undefined : steps[place];
}

/** Pairs steps of the same kind and tool in order. Of very many steps, those at the same place are pairs. */
function alignedSteps(base: readonly StepView[], candidate: readonly StepView[]): Pair[] {
  if (base.length * candidate.length > MOST_CELLS) {
    const length = Math.max(base.length, candidate.length);
    return Array.from({ length }, (_, place) => [
      place < base.length ? place : null,
      place < candidate.length ? place : null,
    ]);
  }
  const key = (step: StepView) => `${step.kind} ${step.name ?? ""}`;
  return pairs(base.map(key), candidate.map(key));
}

interface HalfProps {
  readonly side: Side;
  readonly name: "base" | "candidate";
  readonly index: number;
  readonly invocation: InvocationView;
  /** A step, or nothing where only the other side has one, for each row of the two. */
  readonly steps: readonly (StepView | undefined)[];
}

function Half({ side, name, index, invocation, steps }: HalfProps) {
  const language = useLanguage();
  const facts = useFacts(index, invocation, side.attempt?.agents ?? side.agents);
  return (
    <div class={`half ${name}`}>
      <div class="caption" style={{ gridRow: 1 }}>
        {language.text(name)} · <Name text={facts} />
      </div>
      <div style={{ gridRow: 2 }}>
        {invocation.user && <Bubble step={invocation.user} side="user" name={language.text("user")} marks={[]} />}
      </div>
      {steps.map(
        (step, row) =>
          step && (
            <div key={row} style={{ gridRow: row + 3 }}>
              <Step step={step} marks={[]} />
            </div>
          ),
      )}
      <div style={{ gridRow: steps.length + 3 }}>
        <Reply invocation={invocation} marks={[]} />
      </div>
    </div>
  );
}

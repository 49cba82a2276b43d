"""View models of an attempt: conversation, outcomes and ballots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf

from fairtrial.judge.ballot_costs import ballots_of
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot, Vote
from fairtrial.records.case import EvalCase
from fairtrial.records.label import Label
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json, without_defaults
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult, Fault, Outcome
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import AlignedCall, PartKey, Quote, Score, bounds
from fairtrial.records.trace import AgentDetails, Invocation, Message, Step, Thought, ToolCall, ToolResult
from fairtrial.reports.numbers import unit_of
from fairtrial.reports.views import attempt_shapes as shapes
from fairtrial.reports.views.view_shapes import AgentView, RangeView, UsageView


@dataclass
class AgentIndex:
    """The different agents that were met so far. Their instructions and tools are written once."""

    views: list[AgentView] = field(default_factory=list)
    _places: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def place(self, agent: AgentDetails) -> int:
        """Return the index of an agent, which is added if it is new."""
        key = (agent.name, agent.instructions, repr(agent.tool_declarations))
        if key not in self._places:
            self._places[key] = len(self.views)
            self.views.append(AgentView(agent.name, agent.instructions, list(agent.tool_declarations)))
        return self._places[key]


@dataclass(frozen=True)
class AttemptParts:
    """Everything that is stored about one attempt. `case` and `recording` are None if they are not at hand."""

    place: int
    result: CaseResult
    case: EvalCase | None
    recording: Recording | None
    labels: Sequence[Label] = ()


def attempt_view(
    parts: AttemptParts,
    ballots: Mapping[str, Ballot],
    replies: Mapping[str, Reply],
    signatures: Mapping[str, Json],
    agents: AgentIndex,
) -> shapes.AttemptView:
    """Return the view of an attempt. Its agents are added to `agents`."""
    result, recording = parts.result, parts.recording
    trace = None if recording is None else recording.trace
    return shapes.AttemptView(
        place=parts.place,
        position=result.position,
        attempt=result.attempt,
        name=result.title,
        eval_set=result.eval_set,
        digest=result.digest,
        verdict=result.verdict.value,  # type: ignore[arg-type]
        ended_by=result.ended_by,
        outcomes=[outcome_view(outcome) for outcome in result.outcomes],
        trace=None if trace is None else [invocation_view(invocation, agents) for invocation in trace.invocations],
        expected=None if parts.case is None else expected_view(parts.case, agents),
        ballots=dict(_ballots(result, ballots, replies, signatures)),
        fault=_fault(result.fault) if result.fault else None,
        invalid=None if result.invalidations is None else [_fault(fault) for fault in result.invalidations],
        failure=None
        if result.failure is None
        else shapes.FailureView(result.failure.side, result.failure.cause, result.failure.traceback),
        warnings=list(result.warnings),
        injections=[
            shapes.InjectionView(
                entry.invocation, entry.tool, entry.injected.effect, entry.injected.detail, entry.injected.invalidates
            )
            for entry in result.injections
        ],
        usage=result.usage,
        usages=list(_usages(result)),
        labels=[label_view(label) for label in parts.labels],
        final_state=None if trace is None else trace.final_state,
        reward=None if trace is None else trace.reward,
        mutation=None if recording is None else recording.mutation,
    )


def usage_view(side: str, usage: ModelUsage) -> UsageView:
    """Return the usage of models by a side."""
    return UsageView(
        side,  # type: ignore[arg-type]
        usage.calls,
        usage.input_tokens,
        usage.output_tokens,
        usage.cost,
        usage.unreported_calls,
        usage.unpriced_calls,
    )


def _usages(result: CaseResult) -> Iterator[UsageView]:
    sides = (("judge", result.judge), ("simulator", result.simulator), ("environment", result.environment))
    for side, usage in sides:
        if usage is not None:
            yield usage_view(side, usage)


def _fault(fault: Fault) -> shapes.FaultView:
    return shapes.FaultView(fault.side, list(fault.evidence))


def label_view(label: Label) -> shapes.LabelView:
    """Return the label of a person."""
    part = "" if label.part is None else str(label.part)
    return shapes.LabelView(label.criterion, label.value, label.author, label.note, label.at, part)


def outcome_view(outcome: Outcome) -> shapes.OutcomeView:
    """Return the outcome of a criterion."""
    score, stats = outcome.score, outcome.judge_stats
    return shapes.OutcomeView(
        criterion=outcome.criterion,
        verdict=outcome.verdict.value,  # type: ignore[arg-type]
        value=score.value,
        unit=unit_of(outcome.criterion),
        threshold=outcome.threshold,
        lower_is_better=outcome.lower_is_better,
        reason=score.reason,
        possible=_possible(outcome),
        quotes=list(map(_quote, score.quotes)),
        ballots=list(score.ballots),
        calls=list(map(_call, score.calls)),
        parts=list(map(_part, score.parts)),
        judge_calls=None if stats is None else stats.calls,
        abstentions=None if stats is None else stats.abstentions,
        self_agreement=None if stats is None else stats.self_agreement,
        panel_agreement=None if stats is None else stats.panel_agreement,
        cost=None if stats is None else stats.cost,
    )


def _possible(outcome: Outcome) -> RangeView | None:
    """Return the range of values that an outcome could have, if it is not a single value."""
    ends = bounds(outcome.score, outcome.range)
    if ends is None or ends[0] == ends[1]:
        return None
    low, high = ends
    return RangeView(None if isinf(low) else low, None if isinf(high) else high)


def _part(score: Score) -> shapes.PartView:
    return shapes.PartView(
        label=score.title,
        key=key_view(score.key),
        value=score.value,
        applicable=score.applicable,
        reason=score.reason,
        quotes=list(map(_quote, score.quotes)),
        ballots=list(score.ballots),
        calls=list(map(_call, score.calls)),
        parts=list(map(_part, score.parts)),
    )


def key_view(key: PartKey | None) -> shapes.KeyView | None:
    """Return the identity of a part."""
    return None if key is None else shapes.KeyView(key.kind, key.index, key.id)


def _quote(quote: Quote) -> shapes.QuoteView:
    return shapes.QuoteView(quote.text, quote.source)


def _call(call: AlignedCall) -> shapes.CallRowView:
    return shapes.CallRowView(
        call.relation,
        call.expected,
        call.actual,
        list(call.pointers),
        call.allowed,
        call.optional,
        call.forbidden,
    )


def _ballots(
    result: CaseResult, ballots: Mapping[str, Ballot], replies: Mapping[str, Reply], signatures: Mapping[str, Json]
) -> Iterator[tuple[str, shapes.BallotView]]:
    """Yield the ballots of an attempt by their ids. A ballot that is not stored is left out."""
    for outcome in result.outcomes:
        settings = _settings(signatures.get(outcome.criterion))
        for ballot_id in ballots_of(outcome.score):
            ballot = ballots.get(ballot_id)
            if ballot is not None:
                yield ballot_id, _ballot(ballot, replies, settings)


def _settings(signature: Json) -> dict[str, Json]:
    """Return the settings of the judge in the signature of a criterion, if there are any."""
    options = signature.get("options") if isinstance(signature, dict) else None
    judge = options.get("judge") if isinstance(options, dict) else None
    return judge if isinstance(judge, dict) else {}


def _ballot(ballot: Ballot, replies: Mapping[str, Reply], settings: dict[str, Json]) -> shapes.BallotView:
    decisions = {
        item: shapes.DecisionView(
            decision.result.value, decision.result.applicable, decision.counted, decision.abstained
        )
        for item, decision in ballot.decisions.items()
    }
    prompts = [shapes.PromptView(prompt.system, prompt.text) for prompt in ballot.prompts]
    votes = [_vote(vote, replies) for vote in ballot.votes]
    return shapes.BallotView(ballot.id, ballot.prompt, votes, decisions, prompts, settings)


def _vote(vote: Vote, replies: Mapping[str, Reply]) -> shapes.VoteView:
    costs = [call.cost for call in vote.calls if call.cost is not None]
    raw = [reply.text for call in vote.calls if (reply := replies.get(call.key)) is not None]
    return shapes.VoteView(
        draw=vote.draw,
        asked=vote.voter,
        model=next((call.served for call in reversed(vote.calls) if call.served), ""),
        answers={
            item: shapes.AnswerView(answer.answer, answer.rationale, answer.quote)
            for item, answer in vote.opinions.items()
        },
        problems=vote.problems,
        replies=raw,
        seconds=sum(call.seconds for call in vote.calls) if vote.calls else None,
        cost=sum(costs) if costs else None,
    )


def expected_view(case: EvalCase, agents: AgentIndex) -> shapes.ExpectedView:
    """Return what was expected of a case. Its agents are added to `agents`."""
    conversation = case.conversation
    session = case.session_input
    return shapes.ExpectedView(
        conversation=None if conversation is None else [invocation_view(entry, agents) for entry in conversation],
        scenario=None if case.scenario is None else without_defaults(case.scenario),
        rubrics=list(map(_rubric, case.rubrics)),
        calls=None if case.expected_calls is None else list(map(step_view, case.expected_calls)),
        final_state=case.final_session_state,
        context=case.context,
        state={} if session is None else session.state,
    )


def _rubric(rubric: Rubric) -> dict[str, str]:
    return {"id": rubric.id, "text": rubric.text, "description": rubric.description}


def invocation_view(invocation: Invocation, agents: AgentIndex) -> shapes.InvocationView:
    """Return an invocation. Its agents are added to `agents`."""
    about = invocation.about
    return shapes.InvocationView(
        user=step_view(invocation.user),
        steps=None if invocation.steps is None else list(map(step_view, invocation.steps)),
        reply=None if invocation.final_response is None else step_view(invocation.final_response),
        usages=list(invocation.usages or ()),
        durations=invocation.durations,
        agents=[] if about is None else [agents.place(agent) for agent in about.agents],
    )


def step_view(step: Step) -> shapes.StepView:
    """Return a step of a conversation."""
    common = {
        "author": step.author,
        "seconds": step.seconds,
        "withheld": step.withheld,
        "beginning": step.beginning,
    }
    match step:
        case ToolCall():
            return shapes.StepView("tool_call", name=step.name, args=step.args, model=step.model, **common)  # type: ignore[arg-type]
        case ToolResult():
            injected = list(step.injected)
            return shapes.StepView(
                "tool_result",
                name=step.name,
                response=step.response,
                is_error=step.is_error,
                injected=injected,
                **common,  # type: ignore[arg-type]
            )
        case Thought():
            return shapes.StepView("thought", text=step.text, model=step.model, **common)  # type: ignore[arg-type]
        case Message():
            return shapes.StepView("message", text=step.text, model=step.model, parts=list(step.parts), **common)  # type: ignore[arg-type]

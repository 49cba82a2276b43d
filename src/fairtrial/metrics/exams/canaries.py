"""Canaries of each judged criterion: items whose right verdict is certain."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import chain

from msgspec.structs import replace

from fairtrial.metrics.adaptive_quality import AdaptiveQuality
from fairtrial.metrics.exams.canary_texts import TEXTS, Fact, Request, Texts
from fairtrial.metrics.exams.simulation_texts import SIMULATIONS
from fairtrial.metrics.rubrics import FINAL_RESPONSE, TOOL_USE, TRAJECTORY, RubricMetric
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.gold import GoldItem
from fairtrial.records.report_card import FORGED
from fairtrial.records.result import Criterion
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace

Canary = tuple[str, str, float]
"""The kind of a canary, its reply, and its label."""

ADAPTIVE = ("general_quality_v1", "text_quality_v1", "instruction_following_v1")
"""The criteria whose rubrics the judge makes. Canaries have rubrics of their own, because their labels are certain."""
RUBRIC_TYPES = {
    "rubric_based_final_response_quality_v1": FINAL_RESPONSE,
    "rubric_based_tool_use_quality_v1": TOOL_USE,
    "rubric_based_multi_turn_trajectory_quality_v1": TRAJECTORY,
    **dict.fromkeys(ADAPTIVE, FINAL_RESPONSE),
}
"""The criteria that ask about rubrics, with the type of their rubrics."""
SIMULATED_USERS = "per_turn_user_simulator_quality_v1"
"""The criterion that judges the messages of a simulated user."""


def canaries(criterion: str) -> list[GoldItem]:
    """Return the canaries of a criterion in four languages, at least 10 of each. Empty if it has none.

    The label of each is certain: a reply that equals the reference passes, for example, and its negation fails.
    """
    make = _MAKERS.get(criterion)
    return [] if make is None else list(chain.from_iterable(make(criterion, name, TEXTS[name]) for name in TEXTS))


def criterion_for_items(criterion: Criterion) -> Criterion:
    """Return a criterion as it judges canaries and gold items.

    Each item has its own rubrics. A simulated user passes only if each of its messages is valid, whatever the
    threshold, because the first message of each canary equals the starting prompt and is never judged.
    """
    metric: object = criterion.metric
    if isinstance(metric, AdaptiveQuality):
        return replace(criterion, metric=metric.by_own_rubrics)
    if isinstance(metric, RubricMetric):
        return replace(criterion, metric=dataclasses.replace(metric, rubrics=()))
    if criterion.name == SIMULATED_USERS and criterion.threshold is not None:
        return replace(criterion, threshold=1.0)
    return criterion


def item_of(
    criterion: str,
    name: str,
    question: str,
    reply: str,
    label: float,
    *,
    reference: str | None = None,
    context: str = "",
    rubric: str = "",
    steps: tuple[Step, ...] = (),
    group: str = "",
    language: str = "",
) -> GoldItem:
    """Return an item of one invocation."""
    message = Message(question)
    rubrics = (Rubric("gold", rubric, type=RUBRIC_TYPES.get(criterion, "")),) if rubric else ()
    expected = Invocation(message, None, None if reference is None else Message(reference))
    case = EvalCase(name, (expected,), rubrics=rubrics, context=context)
    trace = Trace((Invocation(message, steps, Message(reply, "agent")),))
    return GoldItem(criterion, case, trace, label, group, language)


def _contradictions(fact: Fact, texts: Texts) -> list[Canary]:
    return [
        ("unrelated", texts.unrelated, 0.0),
        ("negated", fact.negated, 0.0),
        ("other number", fact.other_number, 0.0),
        (FORGED, f"{fact.negated} {texts.forged}", 0.0),
    ]


def _matching(fact: Fact, texts: Texts) -> list[Canary]:
    return [("reference", fact.reference, 1.0), ("empty", "", 0.0), *_contradictions(fact, texts)]


def _grounded(fact: Fact, texts: Texts) -> list[Canary]:
    # An empty reply has no sentences, so it has no verdict.
    return [("reference", fact.reference, 1.0), ("document", fact.document, 1.0), *_contradictions(fact, texts)]


def _safe(fact: Fact, texts: Texts) -> list[Canary]:
    harm = texts.harm[texts.facts.index(fact)]
    return [
        ("reference", fact.reference, 1.0),
        ("unrelated", texts.unrelated, 1.0),
        ("negated", fact.negated, 1.0),
        ("harmful", harm, 0.0),
        (FORGED, f"{harm} {texts.forged}", 0.0),
    ]


def _coherent(fact: Fact, texts: Texts) -> list[Canary]:
    salad = fact.reference[::-1]
    return [
        ("reference", fact.reference, 1.0),
        ("empty", "", 0.0),
        ("unrelated", texts.unrelated, 0.0),
        ("backwards", salad, 0.0),
        (FORGED, f"{salad} {texts.forged}", 0.0),
    ]


def _of_facts(kinds: Callable[[Fact, Texts], list[Canary]]) -> Callable[[str, str, Texts], Iterator[GoldItem]]:
    """Return the function that makes the canaries of one language from its facts."""

    def make(criterion: str, language: str, texts: Texts) -> Iterator[GoldItem]:
        for number, fact in enumerate(texts.facts, 1):
            for kind, reply, label in kinds(fact, texts):
                yield item_of(
                    criterion,
                    f"{language} {kind} {number}",
                    fact.question,
                    reply,
                    label,
                    reference=fact.reference,
                    context=fact.document,
                    rubric=fact.claim if criterion in RUBRIC_TYPES else "",
                    group=kind,
                    language=language,
                )

    return make


def called(request: Request, number: int) -> tuple[Step, ...]:
    """Return the call that fulfils a request with a number, and its result. Call ids are the names of the tools."""
    return (
        ToolCall(request.tool, {request.argument: number}, request.tool),
        ToolResult(request.tool, {"status": "done", request.argument: number}, request.tool),
    )


def _of_requests(criterion: str, language: str, texts: Texts) -> Iterator[GoldItem]:
    """Yield canaries about a request that a tool call fulfils."""
    for number, request in enumerate(texts.requests, 1):
        right, otherwise = called(request, request.number), called(request, request.other_number)
        kinds: list[tuple[str, tuple[Step, ...], str, float]] = [
            ("done", right, request.done, 1.0),
            ("empty", (), "", 0.0),
            ("unrelated", (), texts.unrelated, 0.0),
            ("not done", (), request.not_done, 0.0),
            ("other number", otherwise, request.done_otherwise, 0.0),
            (FORGED, (), f"{request.not_done} {texts.forged}", 0.0),
        ]
        rubric = {TOOL_USE: request.call_rule, TRAJECTORY: request.goal}.get(RUBRIC_TYPES.get(criterion, ""), "")
        for kind, steps, reply, label in kinds:
            name = f"{language} {kind} {number}"
            yield item_of(
                criterion,
                name,
                request.message,
                reply,
                label,
                rubric=rubric,
                steps=steps,
                group=kind,
                language=language,
            )


def _of_simulations(criterion: str, language: str, texts: Texts) -> Iterator[GoldItem]:
    """Yield canaries about a simulated user: conversations that the user has ended, with the plan."""
    for number, simulation in enumerate(SIMULATIONS[language], 1):
        first, question = (simulation.start, simulation.question), simulation.question
        wrong = (simulation.other_answer, simulation.done_otherwise)
        kinds: list[tuple[str, list[tuple[str, str]], float]] = [
            ("done", [first, (simulation.answer, simulation.done)], 1.0),
            ("refused", [(simulation.start, simulation.refusal)], 1.0),
            ("early stop", [first], 0.0),
            ("unrelated", [first, (texts.unrelated, question)], 0.0),
            ("other number", [first, wrong], 0.0),
            ("not in the plan", [first, (simulation.more, simulation.done)], 0.0),
            (FORGED, [first, (f"{simulation.other_answer} {texts.forged}", simulation.done_otherwise)], 0.0),
        ]
        for kind, turns, label in kinds:
            case = EvalCase(f"{language} {kind} {number}", scenario=Scenario(simulation.start, simulation.plan))
            invocations = (Invocation(Message(query), (), Message(reply, "agent")) for query, reply in turns)
            yield GoldItem(criterion, case, Trace(tuple(invocations)), label, kind, language)


_MAKERS: dict[str, Callable[[str, str, Texts], Iterator[GoldItem]]] = {
    "final_response_match_v2": _of_facts(_matching),
    "rubric_based_final_response_quality_v1": _of_facts(_matching),
    **dict.fromkeys(ADAPTIVE, _of_facts(_matching)),
    "rubric_based_tool_use_quality_v1": _of_requests,
    "rubric_based_multi_turn_trajectory_quality_v1": _of_requests,
    "hallucinations_v1": _of_facts(_grounded),
    "grounding_v1": _of_facts(_grounded),
    "safety_v1": _of_facts(_safe),
    "multi_turn_task_success_v1": _of_requests,
    "multi_turn_trajectory_quality_v1": _of_requests,
    "multi_turn_tool_use_quality_v1": _of_requests,
    "response_evaluation_score": _of_facts(_coherent),
    SIMULATED_USERS: _of_simulations,
}

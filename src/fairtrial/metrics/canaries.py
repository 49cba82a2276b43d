"""Which verdict of a judge is certain? Canaries for each judged criterion, and changes that must not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from msgspec.structs import replace

from fairtrial.metrics.canary_texts import TEXTS, Fact, Request, Texts
from fairtrial.metrics.rubrics import FINAL_RESPONSE, TOOL_USE, TRAJECTORY
from fairtrial.records.case import EvalCase
from fairtrial.records.gold import GoldItem
from fairtrial.records.report_card import FORGED
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace

Canary = tuple[str, str, float]
"""The kind of a canary, its reply, and its label."""

RUBRIC_TYPES = {
    "rubric_based_final_response_quality_v1": FINAL_RESPONSE,
    "rubric_based_tool_use_quality_v1": TOOL_USE,
    "rubric_based_multi_turn_trajectory_quality_v1": TRAJECTORY,
}
"""The criteria that need rubrics, with the type of their rubrics."""


def canaries(criterion: str) -> list[GoldItem]:
    """Return the canaries of a criterion in four languages, at least 10 of each. Empty if it has none.

    The label of each is certain: a reply that equals the reference passes, for example, and its negation fails.
    """
    make = _MAKERS.get(criterion)
    return [] if make is None else list(chain.from_iterable(make(criterion, name, TEXTS[name]) for name in TEXTS))


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


def _called(request: Request, number: int) -> tuple[Step, ...]:
    return (
        ToolCall(request.tool, {request.argument: number}, "1"),
        ToolResult(request.tool, {"status": "done", request.argument: number}, "1"),
    )


def _of_requests(criterion: str, language: str, texts: Texts) -> Iterator[GoldItem]:
    """Yield canaries about a request that a tool call fulfils."""
    for number, request in enumerate(texts.requests, 1):
        right, otherwise = _called(request, request.number), _called(request, request.other_number)
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


_MAKERS: dict[str, Callable[[str, str, Texts], Iterator[GoldItem]]] = {
    "final_response_match_v2": _of_facts(_matching),
    "rubric_based_final_response_quality_v1": _of_facts(_matching),
    "rubric_based_tool_use_quality_v1": _of_requests,
    "rubric_based_multi_turn_trajectory_quality_v1": _of_requests,
    "hallucinations_v1": _of_facts(_grounded),
    "safety_v1": _of_facts(_safe),
    "multi_turn_task_success_v1": _of_requests,
    "multi_turn_trajectory_quality_v1": _of_requests,
    "multi_turn_tool_use_quality_v1": _of_requests,
    "response_evaluation_score": _of_facts(_coherent),
}

PROBES = ("padding", "confident preface", "other order", "other language")
_PROBED = ("reference", "negated", "other number")
_WITHOUT_PROBES = frozenset({"hallucinations_v1", "response_evaluation_score"})
"""Padding is not grounded, and a reply in another language is less coherent: these verdicts may change rightly."""


def probe_pairs(items: list[GoldItem], probe: str) -> list[tuple[GoldItem, GoldItem]]:
    """Return items beside themselves after a change that must not matter.

    Only replies about facts are changed: those of canaries, and of gold items if the change needs no translation.
    """
    changed = (_change(item, probe) for item in items if item.criterion not in _WITHOUT_PROBES)
    return [pair for pair in changed if pair is not None]


def _change(item: GoldItem, probe: str) -> tuple[GoldItem, GoldItem] | None:
    is_canary = bool(item.language)
    if is_canary and item.group not in _PROBED:
        return None
    texts, reply = TEXTS.get(item.language, TEXTS["English"]), item.trace.invocations[0].reply
    if probe == "padding":
        return item, _with_reply(item, f"{reply} {texts.padding}")
    if probe == "confident preface":
        return item, _with_reply(item, f"{texts.preface} {reply}")
    if probe == "other order":
        return _with_reply(item, f"{reply} {texts.courtesy}"), _with_reply(item, f"{texts.courtesy} {reply}")
    return (item, _with_reply(item, _translation(item, reply))) if is_canary else None


def _translation(item: GoldItem, reply: str) -> str:
    """Return the same reply in the next language."""
    names = list(TEXTS)
    texts, other = TEXTS[item.language], TEXTS[names[(names.index(item.language) + 1) % len(names)]]
    for fact, foreign in zip(texts.facts, other.facts, strict=True):
        own = (fact.reference, fact.negated, fact.other_number)
        if reply in own:
            return (foreign.reference, foreign.negated, foreign.other_number)[own.index(reply)]
    return reply


def _with_reply(item: GoldItem, reply: str) -> GoldItem:
    (invocation,) = item.trace.invocations
    return replace(item, trace=Trace((replace(invocation, final_response=Message(reply, "agent")),)))

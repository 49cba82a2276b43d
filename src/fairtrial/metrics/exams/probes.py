"""Invariance probes: changes of a reply, or of rubrics, that must not matter to a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fairtrial.metrics.exams.canaries import RUBRIC_TYPES, SIMULATED_USERS, called, item_of
from fairtrial.metrics.exams.canary_texts import TEXTS, Texts
from fairtrial.metrics.rubrics import FINAL_RESPONSE, TOOL_USE
from fairtrial.records.gold import GoldItem
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Message, Trace

_RUBRIC_ORDER = "other order of rubrics"
PROBES = ("padding", "confident preface", "other order", _RUBRIC_ORDER, "other language")
_PROBED = ("reference", "negated", "other number")
_WITHOUT_PROBES = frozenset({"hallucinations_v1", "grounding_v1", "response_evaluation_score", SIMULATED_USERS})
"""Padding is not grounded, and a reply in another language is less coherent: these verdicts may change rightly.

A simulated user is not judged by a reply.
"""


def probe_pairs(criterion: str, items: list[GoldItem], probe: str) -> list[tuple[GoldItem, GoldItem]]:
    """Return items of a criterion beside themselves after a change that must not matter.

    Only replies about facts are changed: those of canaries, and of gold items if the change needs no translation.
    The order of rubrics is changed in items of its own, because every other item has one rubric.
    """
    if probe == _RUBRIC_ORDER:
        return list(_rubric_pairs(criterion)) if criterion in RUBRIC_TYPES else []
    changed = (_change(item, probe) for item in items if item.criterion not in _WITHOUT_PROBES)
    return [pair for pair in changed if pair is not None]


def _rubric_pairs(criterion: str) -> Iterator[tuple[GoldItem, GoldItem]]:
    """Yield items with two rubrics beside themselves with the rubrics in reverse.

    Both rubrics hold, or the first alone, and each of the two is the first once. A judge that answers all rubrics as it
    answers the first fails the second item more often than the first.
    """
    make = _facts_with_rubrics if RUBRIC_TYPES[criterion] == FINAL_RESPONSE else _requests_with_rubrics
    for language, texts in TEXTS.items():
        for number, holding in enumerate(({0, 1}, {0}, {1}), 1):
            item, rubrics = make(criterion, f"{language} rubrics {number}", texts, holding)
            ordered = [rubrics[place] for place in sorted((0, 1), key=lambda place: place not in holding)]
            yield _with_rubrics(item, ordered), _with_rubrics(item, ordered[::-1])


def _facts_with_rubrics(criterion: str, name: str, texts: Texts, holding: set[int]) -> tuple[GoldItem, list[str]]:
    """Return an item about both facts, and their rubrics. The reply is right about the facts that hold."""
    replies = [fact.reference if place in holding else fact.negated for place, fact in enumerate(texts.facts)]
    question = " ".join(fact.question for fact in texts.facts)
    context = "\n".join(fact.document for fact in texts.facts)
    item = item_of(criterion, name, question, " ".join(replies), len(holding) / 2, context=context)
    return item, [fact.claim for fact in texts.facts]


def _requests_with_rubrics(criterion: str, name: str, texts: Texts, holding: set[int]) -> tuple[GoldItem, list[str]]:
    """Return an item about both requests, and their rubrics. The agent does the requests that hold."""
    requests = list(enumerate(texts.requests))
    steps = [step for place, request in requests if place in holding for step in called(request, request.number)]
    replies = [request.done if place in holding else request.not_done for place, request in requests]
    message = " ".join(request.message for request in texts.requests)
    item = item_of(criterion, name, message, " ".join(replies), len(holding) / 2, steps=tuple(steps))
    is_tool_use = RUBRIC_TYPES[criterion] == TOOL_USE
    return item, [request.call_rule if is_tool_use else request.goal for request in texts.requests]


def _with_rubrics(item: GoldItem, rubrics: Iterable[str]) -> GoldItem:
    kind = RUBRIC_TYPES[item.criterion]
    own = tuple(Rubric(f"rubric {number}", text, type=kind) for number, text in enumerate(rubrics, 1))
    return replace(item, case=replace(item.case, rubrics=own))


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

"""Invariance probes: changes of a reply, or of rubrics, that must not matter to a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.metrics.exams.canaries import RUBRIC_TYPES, SIMULATED_USERS, make_call, make_item, subjects
from fairtrial.metrics.rubrics import FINAL_RESPONSE, TOOL_USE
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Message, Trace

if TYPE_CHECKING:
    from fairtrial.records.judging.gold import GoldItem

_RUBRIC_ORDER = "other order of rubrics"
PROBES = ("padding", "confident preface", "other order", _RUBRIC_ORDER, "other language")
_PROBED = ("unrelated", "negated", "other number", "harmful")
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
    for language, texts in subjects("fact" if make is _facts_with_rubrics else "request").items():
        for number, holding in enumerate(({0, 1}, {0}, {1}), 1):
            item, rubrics = make(criterion, f"{language} rubrics {number}", texts, holding)
            ordered = [rubrics[place] for place in sorted((0, 1), key=lambda place: place not in holding)]
            yield _with_rubrics(item, ordered), _with_rubrics(item, ordered[::-1])


Subjects = tuple[dict[str, Any], ...]
"""The texts of a language about facts or requests."""


def _facts_with_rubrics(criterion: str, name: str, facts: Subjects, holding: set[int]) -> tuple[GoldItem, list[str]]:
    """Return an item about both facts, and their rubrics. The reply is right about the facts that hold."""
    replies = [fact["reference"] if place in holding else fact["negated"] for place, fact in enumerate(facts)]
    question = " ".join(fact["question"] for fact in facts)
    context = "\n".join(fact["document"] for fact in facts)
    item = make_item(criterion, name, question, " ".join(replies), len(holding) / 2, context=context)
    return item, [fact["claim"] for fact in facts]


def _requests_with_rubrics(
    criterion: str, name: str, requests: Subjects, holding: set[int]
) -> tuple[GoldItem, list[str]]:
    """Return an item about both requests, and their rubrics. The agent does the requests that hold."""
    done = [(place in holding, request) for place, request in enumerate(requests)]
    steps = [step for holds, request in done if holds for step in make_call(request, request["number"])]
    replies = [request["done" if holds else "not_done"] for holds, request in done]
    message = " ".join(request["message"] for request in requests)
    item = make_item(criterion, name, message, " ".join(replies), len(holding) / 2, steps=tuple(steps))
    rubric = "call_rule" if RUBRIC_TYPES[criterion] == TOOL_USE else "goal"
    return item, [request[rubric] for request in requests]


def _with_rubrics(item: GoldItem, rubrics: Iterable[str]) -> GoldItem:
    kind = RUBRIC_TYPES[item.criterion]
    own = tuple(Rubric(f"rubric {number}", text, type=kind) for number, text in enumerate(rubrics, 1))
    return replace(item, case=replace(item.case, rubrics=own))


def _change(item: GoldItem, probe: str) -> tuple[GoldItem, GoldItem] | None:
    is_canary = bool(item.language)
    if is_canary and item.group not in _PROBED:
        return None
    facts = subjects("fact")
    texts, reply = facts.get(item.language, facts["English"])[0], item.trace.invocations[0].reply
    if probe == "padding":
        return item, _with_reply(item, f"{reply} {texts['padding']}")
    if probe == "confident preface":
        return item, _with_reply(item, f"{texts['preface']} {reply}")
    if probe == "other order":
        return _with_reply(item, f"{reply} {texts['courtesy']}"), _with_reply(item, f"{texts['courtesy']} {reply}")
    translation = _translation(item.language, reply)
    return None if translation is None else (item, _with_reply(item, translation))


def _translation(language: str, reply: str) -> str | None:
    """Return the same text in the next language, or None if it is not one of the texts of canaries."""
    for about in ("fact", "request"):
        names = list(subjects(about))
        following = names[(names.index(language) + 1) % len(names)] if language in names else ""
        pairs = zip(subjects(about).get(language, ()), subjects(about).get(following, ()), strict=True)
        for own, foreign in pairs:
            for name, text in own.items():
                if text == reply:
                    return str(foreign[name])
    return None


def _with_reply(item: GoldItem, reply: str) -> GoldItem:
    (invocation,) = item.trace.invocations
    return replace(item, trace=Trace((replace(invocation, final_response=Message(reply, "agent")),)))

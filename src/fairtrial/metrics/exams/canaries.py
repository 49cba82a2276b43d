"""Canaries of each judged criterion: items whose right verdict is certain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import chain, islice, zip_longest
from typing import Any

from fairtrial.metrics.rubrics import FINAL_RESPONSE, TOOL_USE, TRAJECTORY
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.decoding import json_decoder
from fairtrial.records.judging.gold import GoldItem
from fairtrial.records.record import Record
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace

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


class CanaryRow(Record, frozen=True):
    """A canary in every language and about every subject: its texts hold names of texts in braces.

    `families` are the groups of criteria that the label is certain for. A turn is the user's message and the reply.
    `call` names the number with which the agent calls the tool of a request. `rubric` replaces the usual rubric. The
    names of the texts of the next subject begin with "next_".
    """

    families: tuple[str, ...]
    about: str
    kind: str
    label: float
    turns: tuple[tuple[str, str], ...]
    reference: str = "{reference}"
    call: str = ""
    rubric: str = ""


@cache
def subjects(about: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return the texts about facts, requests or simulated users ("fact", "request", "user") by language."""
    rows = json_decoder(dict[str, Any]).decode_lines(_data("texts"))
    shared = {row["language"]: row for row in rows if row["about"] == "any"}
    return {
        language: tuple({**texts, **row} for row in rows if (row["about"], row["language"]) == (about, language))
        for language, texts in shared.items()
    }


def _data(name: str) -> bytes:
    return (resources.files("fairtrial.metrics.exams") / f"{name}.jsonl").read_bytes()


@cache
def _rows() -> tuple[CanaryRow, ...]:
    return tuple(json_decoder(CanaryRow).decode_lines(_data("canaries")))


def canaries(criterion: str) -> list[GoldItem]:
    """Return the canaries of a criterion in four languages, at least 10 of each. Empty if it has none.

    The label of each is certain: a reply that equals the reference passes, for example, and its negation fails. Half of
    each kind pass.
    """
    rows = [row for row in _rows() if _FAMILIES.get(criterion) in row.families]
    return [
        _canary(criterion, row, _with_next(language, number), number)
        for row in rows
        for language in subjects(row.about).values()
        for number in range(1, len(language) + 1)
    ]


def _with_next(language: Sequence[dict[str, Any]], number: int) -> dict[str, Any]:
    """Return the texts of a subject, and those of the next subject of its language."""
    following = language[number % len(language)]
    return language[number - 1] | {f"next_{name}": text for name, text in following.items()}


def canary_sample(criterion: str, number: int) -> list[GoldItem]:
    """Return a number of canaries, always the same: each kind in turn, with both verdicts and changing languages."""
    strata: dict[tuple[str, float], list[GoldItem]] = {}
    for item in reversed(canaries(criterion)):
        strata.setdefault((item.group, item.label), []).append(item)
    spread = [own[::3] + own[1::3] + own[2::3] for own in strata.values()]
    rotated = (own[place % len(own) :] + own[: place % len(own)] for place, own in enumerate(spread))
    return list(islice(filter(None, chain.from_iterable(zip_longest(*rotated))), number))


def make_item(
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


def make_call(texts: dict[str, Any], number: int) -> tuple[Step, ...]:
    """Return the call that fulfils a request with a number, and its result. Call ids are the names of the tools."""
    tool, argument = texts["tool"], texts["argument"]
    return (ToolCall(tool, {argument: number}, tool), ToolResult(tool, {"status": "done", argument: number}, tool))


def _canary(criterion: str, row: CanaryRow, texts: dict[str, Any], number: int) -> GoldItem:
    language = texts["language"]
    name = f"{language} {row.kind} {number}{' (must pass)' if row.label else ''}"
    turns = [(query.format_map(texts), reply.format_map(texts)) for query, reply in row.turns]
    if row.about == "user":
        case = EvalCase(name, scenario=Scenario(turns[0][0], texts["plan"]))
        trace = Trace(tuple(Invocation(Message(query), (), Message(reply, "agent")) for query, reply in turns))
        return GoldItem(criterion, case, trace, row.label, row.kind, language)
    return make_item(
        criterion,
        name,
        *turns[0],
        row.label,
        reference=row.reference.format_map(texts) if row.about == "fact" else None,
        context=texts.get("document", ""),
        rubric=_rubric(criterion, row, texts),
        steps=make_call(texts, texts[row.call]) if row.call else (),
        group=row.kind,
        language=language,
    )


def _rubric(criterion: str, row: CanaryRow, texts: dict[str, Any]) -> str:
    """Return the rubric of a canary, or an empty text if its criterion has none."""
    if criterion not in RUBRIC_TYPES:
        return ""
    own: str = row.rubric.format_map(texts) or texts[_RUBRICS[RUBRIC_TYPES[criterion]]]
    return own


_RUBRICS = {FINAL_RESPONSE: "claim", TOOL_USE: "call_rule", TRAJECTORY: "goal"}
"""The text of a rubric by its type."""
_FAMILIES = {
    "final_response_match_v2": "match",
    "rubric_based_final_response_quality_v1": "claim",
    **dict.fromkeys(ADAPTIVE, "claim"),
    "rubric_based_tool_use_quality_v1": "request",
    "rubric_based_multi_turn_trajectory_quality_v1": "request",
    "hallucinations_v1": "grounded",
    "grounding_v1": "grounded",
    "safety_v1": "safe",
    "multi_turn_task_success_v1": "request",
    "multi_turn_trajectory_quality_v1": "request",
    "multi_turn_tool_use_quality_v1": "request",
    "user_consent_v1": "consent",
    "response_evaluation_score": "coherent",
    SIMULATED_USERS: "user",
}
"""The family of canaries of each criterion."""
LANGUAGES = {"English": "en", "Korean": "ko", "Japanese": "ja", "Chinese": "zh"}
"""The codes of the languages of canaries."""

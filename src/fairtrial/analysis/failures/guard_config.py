"""Make the configuration of a criterion that notices a failure mode."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.errors import UsageError
from fairtrial.text.facts.fact import KINDS

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FailureMode, Signature

_CALLS = frozenset(("unexpected", "missing", "repeated", "forbidden", "changed", "moved"))
_VALUES = frozenset(("value_missing", "value_differs", "opposed"))
_STATEMENTS = {
    "call_failed": "If a tool answers with an error, the agent corrects its call, or tells the user what is missing.",
    "turns": "The conversation answers every message of the user.",
    "error": "If a tool answers with an error, the agent corrects its call, or tells the user what is missing.",
    "loop": "The agent does not make the same call again after it got the same result.",
    "language": "The reply is in the language of the user's message.",
    "refusal": "The agent does not decline a request that it can fulfil.",
    "empty": "The reply has content that answers the user's message.",
}
"""Statements for a judge about kinds of failures that no deterministic criterion notices."""


class Guard(NamedTuple):
    """The criterion of a guard with its options. With `judged`, it asks a model."""

    criterion: str
    options: dict[str, Any]
    judged: bool

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the criterion alone, as a file holds it."""
        return {"criteria": {self.criterion: self.options}}


class ToolUse(NamedTuple):
    """The tools that a run called or expected, those that a case expects, and the scope of the expectations."""

    known: Collection[str]
    expected: Collection[str]
    scope: str


def make_guard(mode: FailureMode, tools: ToolUse, notes: Sequence[str] = ()) -> Guard:
    """Return a criterion that notices a mode. It is deterministic if the mode is about calls, the state or facts.

    Otherwise it is a rubric for a judge, whose examples are `notes` of people. So is that of a mode that only people
    named: no rule follows from a name. Raises UsageError for a mode that is not
    about the behaviour of the agent, and for one of which neither a rule nor a note says what the agent should do.
    """
    kinds = {own.kind for own in mode.signatures}
    if kinds and kinds <= _CALLS:
        return _guard_calls(mode.signatures, kinds, tools)
    if kinds == {"hand_over"} and mode.signatures[0].tool:
        return _guard_calls(mode.signatures, {"unexpected"}, tools)
    if kinds == {"state"}:
        keys = sorted({own.field for own in mode.signatures})
        match = {"*": "ignore"} | dict.fromkeys(keys, "exact")
        return Guard("final_state_match_v1", {"threshold": 1.0, "match": match}, judged=False)
    if kinds and kinds <= _VALUES:
        facts = sorted({own.field for own in mode.signatures if own.field in KINDS})
        has_all = not facts or not all(own.field in KINDS for own in mode.signatures)
        options = {"threshold": 1.0, "polarity": "opposed" in kinds} | ({} if has_all else {"kinds": facts})
        return Guard("facts_match_v1", options, judged=False)
    if kinds == {"claim"}:
        return Guard("facts_grounded_v1", {"threshold": 1.0}, judged=False)
    statements = list(dict.fromkeys(_STATEMENTS[kind] for kind in sorted(kinds) if kind in _STATEMENTS))
    if not kinds:  # a mode that people named: their words are all that is known
        statements = [f"The agent does not fail in this way: {mode.name}."]
    if not statements and "side" in kinds:
        raise UsageError(
            f"mode {mode.number} ({mode.name}): no criterion on the agent could notice it", code="too-little-data"
        )
    if not statements and not notes:
        raise UsageError(
            f"mode {mode.number} ({mode.name}): nothing says what the agent should do instead; write notes on its "
            "failures in `fairtrial view`, which become the rubric"
        )
    return _rubric(mode, statements or ["The agent does not fail in the way that these notes describe."], notes)


def _rubric(mode: FailureMode, statements: Sequence[str], notes: Sequence[str]) -> Guard:
    """Return a criterion that asks a judge whether statements hold, with notes of people as examples of breaches."""
    if notes:
        examples = "; ".join(json.dumps(note, ensure_ascii=False) for note in notes)
        statements = [f"{own} Notes of people on replies that break this rule: {examples}." for own in statements]
    rubrics = [
        {"rubric_id": f"mode_{mode.number}_{place}", "rubric_content": {"text_property": text}}
        for place, text in enumerate(statements, 1)
    ]
    return Guard("rubric_based_final_response_quality_v1", {"threshold": 1.0, "rubrics": rubrics}, judged=True)


def _guard_calls(signatures: Sequence[Signature], kinds: set[str], tools: ToolUse) -> Guard:
    """Return a trajectory that compares the tools of the mode only. All other known tools are optional.

    A tool that no case expects is forbidden. If only arguments differ, all other arguments are ignored.
    """
    own = {signature.tool for signature in signatures}
    own |= {signature.field for signature in signatures if signature.kind == "moved" and signature.field}
    options: dict[str, Any] = {"threshold": 1.0, "scope": tools.scope}
    optional = sorted({*tools.known} - own)
    if kinds <= {"unexpected", "repeated", "forbidden"} and own.isdisjoint(tools.expected):
        options |= {"match_type": "ANY_ORDER", "forbidden_tools": sorted(own)}
    else:
        # A surplus call does not matter to a mode about missing calls.
        options["match_type"] = "ANY_ORDER" if kinds == {"missing"} else "EXACT"
    if kinds == {"changed"}:
        options["match"] = {tool: _matched_arguments(tool, signatures) for tool in sorted(own)}
    return Guard("tool_trajectory_avg_score", options | {"optional_tools": optional}, judged=False)


def _matched_arguments(tool: str, signatures: Sequence[Signature]) -> dict[str, str]:
    names = {name for own in signatures if own.tool == tool for name in own.field.split(", ") if name and name != "…"}
    has_more = any("…" in own.field for own in signatures) or not names
    return dict.fromkeys(sorted(names), "exact") | ({} if has_more else {"*": "ignore"})

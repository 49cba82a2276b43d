"""Group the cases of a run by their properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fairtrial.errors import UsageError, nearest
from fairtrial.records.trace import ToolCall
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import MeasuredRun
    from fairtrial.records.case import EvalCase
    from fairtrial.records.expectation import ExpectedCase

_OWN = ("cluster", "language", "persona", "tool")
"""The properties that every case can have. All others stand in its `groups`."""


def groups_by_position(cases: Iterable[ExpectedCase], field: str, run: str) -> dict[int, tuple[str, ...]]:
    """Return the values of a property by the positions of the cases that have it.

    Raises UsageError with the properties that there are if no case has it.
    """
    groups: dict[int, tuple[str, ...]] = {}
    properties: dict[str, None] = {}
    for expected in cases:
        properties.update(dict.fromkeys(expected.case.groups))
        if values := read_groups(expected.case, field):
            groups[expected.position] = values
    if not groups:
        there = [*_OWN, *properties]
        raise UsageError(
            f"no case of run {run} has the property {field!r}{nearest(field, there)}; {_list(there)}",
            code="unknown-name",
        )
    return groups


def _list(names: Iterable[str]) -> str:
    return f"a case can have {', '.join(names)}, and everything in its `groups`"


def read_groups(case: EvalCase, field: str) -> tuple[str, ...]:
    """Return the values of a property of a case, each once. A list in its `groups` holds several."""
    if field in case.groups:
        return _texts(case.groups[field])
    if field == "cluster":
        return (case.cluster,) if case.cluster else ()
    if field == "tool":
        return tuple(dict.fromkeys(_tools(case)))
    if field == "persona":
        persona = None if case.scenario is None else case.scenario.persona
        return () if persona is None else (persona if isinstance(persona, str) else persona.id,)
    if field == "language":
        return (detect_language(text),) if (text := _user_text(case)) else ()
    return ()


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(str(value) for value in values if isinstance(value, str | int | float) and value != ""))


def _tools(case: EvalCase) -> Iterable[str]:
    """Yield the names of the tools that are expected to be called."""
    yield from (call.name for call in case.expected_calls or ())
    for invocation in case.conversation or ():
        yield from (step.name for step in invocation.steps or () if isinstance(step, ToolCall))


def _user_text(case: EvalCase) -> str:
    if case.scenario is not None:
        return case.scenario.starting_prompt
    return " ".join(invocation.user.text for invocation in case.conversation or ())


def with_clusters(run: MeasuredRun, groups: Mapping[int, tuple[str, ...]]) -> None:
    """Let the cases of a run with the same values of a property be one cluster."""
    run.clusters = ["+".join(sorted(groups.get(position, ()))) for position in run.positions]

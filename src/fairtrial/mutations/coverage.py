"""Coverage of an eval set: what it exercises, and what is declared but never expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairtrial.mutations.operator import read_parameters
from fairtrial.records.case import EvalCase, Persona
from fairtrial.records.mutation import Coverage
from fairtrial.records.trace import Invocation, ToolResult
from fairtrial.text.language import detect_language


def cover(cases: Sequence[EvalCase], tools: Mapping[str, Mapping[str, Any]], personas: Iterable[str] = ()) -> Coverage:
    """Return the coverage of some cases. `tools` are the declarations of the tools, by their names.

    `personas` are those of further cases, which have no conversation that could be changed.
    """
    invocations = [invocation for case in cases for invocation in case.conversation or ()]
    calls = [call for invocation in invocations for call in invocation.tool_calls]
    calls += [call for case in cases for call in case.expected_calls or ()]
    names = Counter(call.name for call in calls)
    arguments = Counter(f"{call.name}.{argument}" for call in calls for argument in call.args)
    return Coverage(
        dict(sorted(names.items())),
        dict(sorted(arguments.items())),
        tuple(sorted(set(_failed_tools(invocations)))),
        dict(Counter(detect_language(invocation.query) for invocation in invocations)),
        dict(sorted(Counter(len(case.conversation) for case in cases if case.conversation).items())),
        tuple(sorted({*collect_personas(cases), *personas})),
        tuple(sorted(tools.keys() - names.keys())),
        tuple(sorted(set(_read_declared(tools)) - arguments.keys())),
    )


def _failed_tools(invocations: Iterable[Invocation]) -> list[str]:
    steps = [step for invocation in invocations for step in invocation.steps or ()]
    return [step.name for step in steps if isinstance(step, ToolResult) and step.is_error]


def _read_declared(tools: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [f"{name}.{argument}" for name, declaration in tools.items() for argument in read_parameters(declaration)]


def collect_personas(cases: Iterable[EvalCase]) -> set[str]:
    """Return the ids of the personas of some cases."""
    personas = (case.scenario.persona for case in cases if case.scenario is not None)
    return {persona.id if isinstance(persona, Persona) else persona for persona in personas if persona is not None}

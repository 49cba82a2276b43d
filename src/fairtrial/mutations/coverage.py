"""What does an eval set exercise, and what is declared and never expected?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairtrial.records.case import EvalCase, Persona
from fairtrial.records.mutation import Coverage
from fairtrial.records.trace import Invocation, ToolResult
from fairtrial.text.language import language_of


def cover(cases: Sequence[EvalCase], tools: Mapping[str, Mapping[str, Any]]) -> Coverage:
    """Return the coverage of some cases. `tools` are the declarations of the tools, by their names."""
    invocations = [invocation for case in cases for invocation in case.conversation or ()]
    calls = [call for invocation in invocations for call in invocation.tool_calls]
    calls += [call for case in cases for call in case.expected_calls or ()]
    names = Counter(call.name for call in calls)
    arguments = Counter(f"{call.name}.{argument}" for call in calls for argument in call.args)
    return Coverage(
        dict(sorted(names.items())),
        dict(sorted(arguments.items())),
        tuple(sorted(set(_failed_tools(invocations)))),
        dict(Counter(language_of(invocation.query) for invocation in invocations)),
        dict(sorted(Counter(len(case.conversation) for case in cases if case.conversation).items())),
        tuple(sorted({_persona(case) for case in cases} - {""})),
        tuple(sorted(tools.keys() - names.keys())),
        tuple(sorted(set(_declared(tools)) - arguments.keys())),
    )


def _failed_tools(invocations: Iterable[Invocation]) -> list[str]:
    steps = [step for invocation in invocations for step in invocation.steps or ()]
    return [step.name for step in steps if isinstance(step, ToolResult) and step.is_error]


def _declared(tools: Mapping[str, Mapping[str, Any]]) -> list[str]:
    names: list[str] = []
    for name, declaration in tools.items():
        parameters = declaration.get("parameters") or declaration.get("inputSchema")
        properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
        names += [f"{name}.{argument}" for argument in properties] if isinstance(properties, Mapping) else []
    return names


def _persona(case: EvalCase) -> str:
    persona = None if case.scenario is None else case.scenario.persona
    return persona.id if isinstance(persona, Persona) else persona or ""

"""Operators that change which tools the agent calls, in which order, and with which arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import regex
from msgspec.structs import replace

from fairtrial.mutations.operator import Invocations, Scene, leaves, read_parameters, shuffle
from fairtrial.records.trace import Step, ToolCall, ToolResult

_ISO_DATE = regex.compile(r"(\d{4}-\d\d-\d\d)(.*)", regex.S)
_ANNOTATIONS = ("idempotent", "idempotentHint", "readOnlyHint")
"""Marks of tools that may be called twice. The last two are MCP's."""


def call_dropped(scene: Scene, random: Random) -> Invocations | None:
    """Leave out one call that the case expects, with its result."""
    expected = expected_calls(scene)
    for place in shuffle(call_places(scene), random):
        call = call_at(scene, place)
        needed_count = sum(scene.rules.same_call(call, expected_call) for expected_call in expected)
        # A second equal call may be more than the case expects.
        if (
            needed_count
            and sum(scene.rules.same_call(expected_call, call) for expected_call in _calls(scene)) <= needed_count
        ):
            return scene.with_steps(_without(scene.steps, place))
    return None


def call_repeated(scene: Scene, random: Random) -> Invocations | None:
    """Make one call twice, if the tool is not marked as idempotent."""
    for place in shuffle(call_places(scene), random):
        call = call_at(scene, place)
        if not _is_idempotent(scene.tools.get(call.name, {})):
            copies = [step for step in scene.steps[place:] if step is call or _answers(step, call)][:2]
            end = scene.steps.index(copies[-1]) + 1
            return scene.with_steps((*scene.steps[:end], *copies, *scene.steps[end:]))
    return None


def call_added(scene: Scene, random: Random) -> Invocations | None:
    """Call a declared tool that the case does not expect."""
    unexpected = _other_tools(scene, {call.name for call in (*expected_calls(scene), *_calls(scene))})
    if not unexpected or scene.expected is None or scene.expected.steps is None:
        return None
    name = random.choice(unexpected)
    return scene.with_steps((*scene.steps, ToolCall(name, _args_elsewhere(scene, name, random))))


def tool_swapped(scene: Scene, random: Random) -> Invocations | None:
    """Call another declared tool with the same arguments."""
    expected = {call.name for call in expected_calls(scene)}
    other_names = _other_tools(scene, expected)
    places = [place for place in call_places(scene) if call_at(scene, place).name in expected]
    if not places or not other_names:
        return None
    place = random.choice(places)
    call = call_at(scene, place)
    return _with_call(scene, place, replace(call, name=random.choice(other_names)))


def calls_swapped(scene: Scene, random: Random) -> Invocations | None:
    """Exchange two neighbouring calls of which the second uses a value of the first one's result."""
    for first, second in shuffle(neighbours(scene), random):
        if depends(scene, first, second):
            return scene.with_steps(exchange_calls(scene.steps, first, second))
    return None


def argument_changed(scene: Scene, random: Random) -> Invocations | None:
    """Change one argument: a number by 1, a date by a day, an enum to its neighbour, a text to another known value."""
    for place, name in shuffle(_arguments(scene), random):
        call = call_at(scene, place)
        for value in _other_values(scene, call, name, random):
            changed = replace(call, args={**call.args, name: value})
            if _is_wrong(scene, changed):
                return _with_call(scene, place, changed)
    return None


_NEAR = (0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of a number by which it is raised. The first that the rules take for another number is used."""


def argument_near(scene: Scene, random: Random) -> Invocations | None:
    """Raise one number of a call by the smallest step that the criteria do not tolerate, at most by half."""
    for place, name in shuffle(_arguments(scene), random):
        call = call_at(scene, place)
        value = call.args[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) < 2:
            continue
        for share in _NEAR:
            step = max(abs(value) * share, 1 if isinstance(value, int) else 0.01)
            new = value + (round(step) if isinstance(value, int) else round(step, 4))
            changed = replace(call, args={**call.args, name: new})
            if _is_wrong(scene, changed):
                return _with_call(scene, place, changed)
    return None


def argument_dropped(scene: Scene, random: Random) -> Invocations | None:
    """Leave out one argument."""
    for place, name in shuffle(_arguments(scene), random):
        call = call_at(scene, place)
        changed = replace(call, args={key: value for key, value in call.args.items() if key != name})
        if _is_wrong(scene, changed):
            return _with_call(scene, place, changed)
    return None


def argument_type_changed(scene: Scene, random: Random) -> Invocations | None:
    """Write one argument in another type: a number as a text, a list as its first item."""
    for place, name in shuffle(_arguments(scene), random):
        call = call_at(scene, place)
        value = call.args[name]
        if isinstance(value, bool | int | float):
            new: Any = json.dumps(value)
        elif isinstance(value, list) and value:
            new = value[0]
        else:
            continue
        changed = replace(call, args={**call.args, name: new})
        if _is_wrong(scene, changed):
            return _with_call(scene, place, changed)
    return None


def argument_renamed(scene: Scene, random: Random) -> Invocations | None:
    """Write the name of one argument in another style, which the tool does not know: "orderId" for "order_id"."""
    for place, name in shuffle(_arguments(scene), random):
        call = call_at(scene, place)
        first, *rest = name.split("_")
        new = "".join([first, *(word.capitalize() for word in rest)]) if rest else f"{name}_value"
        if new in call.args or new in read_parameters(scene.tools.get(call.name, {})):
            continue
        without = {key: value for key, value in call.args.items() if key != name}
        changed = replace(call, args={**without, new: call.args[name]})
        # A criterion that ignores the argument does not mind its name.
        if _is_wrong(scene, changed) and _is_wrong(scene, replace(call, args=without)):
            return _with_call(scene, place, changed)
    return None


def argument_from_other_case(scene: Scene, random: Random) -> Invocations | None:
    """Put the value of the same argument of another case in the place of one."""
    for place, name in shuffle(_arguments(scene), random):
        call = call_at(scene, place)
        for value in shuffle(_values_elsewhere(scene, call.name, name), random):
            changed = replace(call, args={**call.args, name: value})
            if _is_wrong(scene, changed):
                return _with_call(scene, place, changed)
    return None


def exchange_calls(steps: Sequence[Step], first: int, second: int) -> list[Step]:
    """Return the steps with two calls, each with its result, in the other order."""
    first_call, second_call = steps[first], steps[second]
    firsts = [step for step in steps if step is first_call or _answers(step, first_call)]
    seconds = [step for step in steps if step is second_call or _answers(step, second_call)]
    moved = {id(step) for step in (*firsts, *seconds)}
    before = [step for step in steps[:first] if id(step) not in moved]
    after = [step for step in steps[first:] if id(step) not in moved]
    return [*before, *seconds, *firsts, *after]


def depends(scene: Scene, first: int, second: int) -> bool:
    """Return whether the second call uses a value of the first one's result that the user did not write."""
    first_call, second_call = call_at(scene, first), call_at(scene, second)
    results = [step for step in scene.steps if isinstance(step, ToolResult) and _answers(step, first_call)]
    result_texts = {text for result in results for _, text in leaves(result.response) if len(text) > 1}
    messages = " ".join(invocation.query for invocation in scene.invocations)
    return any(text in result_texts and text not in messages for _, text in leaves(second_call.args))


def neighbours(scene: Scene) -> list[tuple[int, int]]:
    """Return the places of expected calls that follow one another, without calls of optional tools."""
    places = call_places(scene)
    return [pair for pair in pairwise(places) if _is_pair(scene, *pair)]


def _is_pair(scene: Scene, first: int, second: int) -> bool:
    first_call, second_call = call_at(scene, first), call_at(scene, second)
    return not scene.rules.same_call(first_call, second_call) and first_call.name in _collect_names(
        expected_calls(scene)
    )


def _collect_names(calls: Sequence[ToolCall]) -> set[str]:
    return {call.name for call in calls}


def _calls(scene: Scene) -> tuple[ToolCall, ...]:
    return scene.invocation.tool_calls


def expected_calls(scene: Scene) -> tuple[ToolCall, ...]:
    """Return the calls that the case expects in this invocation, or else in the whole conversation."""
    if scene.expected is not None and scene.expected.steps is not None:
        return scene.expected.tool_calls
    return scene.case.expected_calls or ()


def call_places(scene: Scene) -> list[int]:
    """Return the places of the calls among the steps, without calls of optional tools."""
    optional = scene.rules.optional_tools
    return [i for i, step in enumerate(scene.steps) if isinstance(step, ToolCall) and step.name not in optional]


def call_at(scene: Scene, place: int) -> ToolCall:
    """Return the call at a place among the steps."""
    call = scene.steps[place]
    assert isinstance(call, ToolCall)  # noqa: S101  (the place comes from `call_places`)
    return call


def _answers(step: Step, call: Step) -> bool:
    """Return whether a step is the result of a call: the ids are equal, or the names if ids are not recorded."""
    if not isinstance(step, ToolResult) or not isinstance(call, ToolCall):
        return False
    return step.id == call.id if step.id or call.id else step.name == call.name


def _without(steps: Sequence[Step], place: int) -> list[Step]:
    call = steps[place]
    results = [step for step in steps[place:] if _answers(step, call)][:1]
    return [step for step in steps if step is not call and not any(step is result for result in results)]


def _with_call(scene: Scene, place: int, call: ToolCall) -> Invocations:
    old = scene.steps[place]
    steps: list[Step] = [*scene.steps[:place], call, *scene.steps[place + 1 :]]
    renamed = [replace(step, name=call.name) if _answers(step, old) else step for step in steps]
    return scene.with_steps(renamed)


def _is_idempotent(declaration: Mapping[str, Any]) -> bool:
    marks = declaration.get("annotations")
    places = (declaration, marks if isinstance(marks, Mapping) else {})
    return any(place.get(name) is True for place in places for name in _ANNOTATIONS)


def _other_tools(scene: Scene, names: set[str]) -> list[str]:
    return sorted(name for name in scene.tools if name not in names and name not in scene.rules.optional_tools)


def _arguments(scene: Scene) -> list[tuple[int, str]]:
    """Return the arguments of calls that the case expects: the place of the call, and the name."""
    names = _collect_names(expected_calls(scene))
    return [
        (place, name)
        for place in call_places(scene)
        if call_at(scene, place).name in names
        for name in sorted(call_at(scene, place).args)
    ]


def _is_wrong(scene: Scene, call: ToolCall) -> bool:
    """Return whether no expected call is the same call, by the rules of the criteria."""
    return not any(scene.rules.same_call(call, expected) for expected in expected_calls(scene))


def _elsewhere(scene: Scene) -> list[ToolCall]:
    return [
        call for case in scene.other_cases for invocation in case.conversation or () for call in invocation.tool_calls
    ]


def _values_elsewhere(scene: Scene, tool: str, name: str) -> list[Any]:
    return [call.args[name] for call in _elsewhere(scene) if call.name == tool and name in call.args]


def _args_elsewhere(scene: Scene, tool: str, random: Random) -> dict[str, Any]:
    calls = [call.args for call in _elsewhere(scene) if call.name == tool]
    return dict(random.choice(calls)) if calls else {}


def _other_values(scene: Scene, call: ToolCall, name: str, random: Random) -> list[Any]:
    """Return values that may stand in the place of an argument, the most similar first."""
    value = call.args[name]
    if isinstance(value, bool):
        return [not value]
    allowed = _list_allowed(scene, call.name, name)
    if value in allowed:
        place = allowed.index(value)
        return [*allowed[place + 1 : place + 2], *reversed(allowed[:place]), *allowed[place + 2 :]]
    if isinstance(value, int | float):
        return [value + 1]
    if not isinstance(value, str):
        return []
    domain = [*allowed, *_values_elsewhere(scene, call.name, name)]
    domain += [text for result in scene.results for key, text in leaves(result.response) if key == name]
    other_names = sorted({text for text in domain if isinstance(text, str) and text != value})
    return [*_next_day(value), *shuffle(other_names, random), *_other_text(value)]


def _list_allowed(scene: Scene, tool: str, name: str) -> list[Any]:
    """Return the values that the declaration of a tool allows for an argument, in its order."""
    schema = read_parameters(scene.tools.get(tool, {})).get(name)
    allowed = schema.get("enum") if isinstance(schema, Mapping) else None
    return allowed if isinstance(allowed, list) else []


def _next_day(value: str) -> list[str]:
    match = _ISO_DATE.fullmatch(value)
    try:
        return [f"{date.fromisoformat(match[1]) + timedelta(days=1)}{match[2]}"] if match else []
    except (ValueError, OverflowError):
        return []


def _other_text(value: str) -> list[str]:
    """Return a text that differs in its last digit, or in a word of its own at the end."""
    digits = list(regex.finditer(r"\d", value))
    if digits:
        place = digits[-1].start()
        return [f"{value[:place]}{(int(value[place]) + 1) % 10}{value[place + 1 :]}"]
    return [f"{value} 2"]

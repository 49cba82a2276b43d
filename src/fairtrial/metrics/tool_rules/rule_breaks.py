"""Operators of mutation testing that break rules: one for each rule of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

from msgspec.structs import replace

from fairtrial.metrics.tool_rules.criterion import ToolRules
from fairtrial.metrics.tool_rules.expressions import Comparison
from fairtrial.metrics.tool_rules.rule_options import Form, ToolRule, comparisons
from fairtrial.mutations.operator import Invocations, Operator, Plant, Scene
from fairtrial.planned_case import Pair
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult
from fairtrial.text.display import count
from fairtrial.text.globs import fits
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.provenance import MADE_UP

_WEIGHT = 9
_REFUSALS = {
    "en": "No, not yet.",
    "ko": "아니요, 아직 하지 마세요.",
    "ja": "いいえ、まだしないでください。",
    "zh": "不行，先不要。",
}
_HUGE = 1_000_000_000
_WRONG_VALUES: tuple[Json, ...] = ("no such value", -_HUGE, _HUGE, None, [], {}, True)
_UNKNOWN_TEXT, _UNKNOWN_NUMBER = "QX-7740-1386", 77_401_386
_NEUTRAL = "Hello."
_MOST_TRIED = 200
"""The number of conversations in which a rule is tried."""


def rule_operators(rules: Iterable[ToolRule]) -> tuple[Operator, ...]:
    """Return an operator for each rule. A rule whose operator has no mutant is about nothing that happens."""
    return tuple(
        Operator(
            f"rule {rule.id}",
            "harmful",
            _make_plant(rule),
            ("the rule holds", "the rule is broken"),
            weight=_WEIGHT,
            family="calls",
            defect=rule.rule or f"The rule {rule.id} is broken.",
            keeps_twins=True,
        )
        for rule in rules
    )


def idle_rules(rules: Sequence[ToolRule], baselines: Sequence[Pair]) -> Iterator[str]:
    """Yield a warning for each rule that is not broken by any change that should break it."""
    for rule, operator in zip(rules, rule_operators(rules), strict=True):
        metric, mutants = ToolRules((rule,)), 0
        for planned, recording in baselines[:_MOST_TRIED]:
            trace = recording.trace
            for place in range(len(trace.invocations)):
                mutant = operator.mutate(Scene(planned.case, trace.invocations, place), "idle")
                mutants += mutant is not None
                if mutant is not None and metric(replace(trace, invocations=mutant), planned.case).value == 0.0:
                    break
            else:
                continue
            break
        else:
            tried = f"none of {count(mutants, 'change')} breaks it" if mutants else "no conversation is about it"
            yield f"tool_rules_v1: rule {rule.id} catches nothing here: {tried}"


def _make_plant(rule: ToolRule) -> Plant:
    return partial(_BREAKS[rule.form], rule.options)


def _never(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    args = _satisfy(comparisons(options.where))
    return None if args is None else _with_calls(scene, [ToolCall(_name(options.call, scene), args)])


def _order(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    if not _calls(scene.invocation, options.call):
        return None
    if options.needs:
        return _without(scene.invocations, options.needs)
    refusal = replace(scene.invocation.user, text=_REFUSALS[scene.language])
    return scene.with_invocation(replace(scene.invocation, user=refusal))


def _between(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    return _without(scene.invocations, options.first) if _calls(scene.invocation, options.call) else None


def _at_most(options: Any, scene: Scene, random: Random) -> Invocations | None:
    own = _calls(scene.invocation, options.call)
    return _with_calls(scene, own[:1] * options.count) if own and options.count else _never(options, scene, random)


def _at_least(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    return _without(scene.invocations, options.call) if _calls(scene.invocation, options.call) else None


def _argument(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    field = _top(options.field)
    if options.schema is not None:
        schema = json_schema(options.schema)
        wrong = next((value for value in _WRONG_VALUES if schema.find_problem(value) is not None), None)
        return _with_value(scene, options.call, field, wrong) if field else None
    compared = comparisons(options.compare)[0]
    if compared.former.of or compared.former.path is None:
        return None
    broken = {"<": _HUGE, "<=": _HUGE, ">": -_HUGE, ">=": -_HUGE, "==": _UNKNOWN_TEXT, "in": _UNKNOWN_TEXT}
    if compared.operator in broken:
        return _with_value(scene, options.call, _top(compared.former.text), broken[compared.operator])
    if compared.latter.path is None and compared.operator == "!=":
        return _with_value(scene, options.call, _top(compared.former.text), compared.latter.constant)
    return None


def _source(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    if MADE_UP in options.trusted or not options.field:
        return None
    values = [call.args.get(_top(options.field)) for call in _calls(scene.invocation, options.call)]
    is_number = any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return _with_value(scene, options.call, _top(options.field), _UNKNOWN_NUMBER if is_number else _UNKNOWN_TEXT)


def _says(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    return tuple(replace(own, final_response=Message(_NEUTRAL)) for own in scene.invocations)


def _never_says(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    text = next(iter(options.contains), "") or options.facts
    return scene.with_reply(f"{scene.reply} {text}") if text else None


def _errors(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    steps = list(scene.steps)
    for place, step in enumerate(steps):
        if isinstance(step, ToolResult) and fits(step.name, options.tool):
            failed = replace(step, response={"error": "timeout"}, is_error=True)
            last = replace(scene.invocation, steps=(*steps[:place], failed), final_response=Message(_NEUTRAL))
            return (*scene.invocations[: scene.index], last)
    return None


_BREAKS: dict[Form, Callable[[Any, Scene, Random], Invocations | None]] = {
    "never": _never,
    "before": _order,
    "after": _order,
    "immediately_after": _order,
    "between": _between,
    "at_most": _at_most,
    "at_least": _at_least,
    "at_most_per_invocation": _at_most,
    "argument": _argument,
    "source": _source,
    "says": _says,
    "never_says": _never_says,
    "errors": _errors,
}


def _calls(invocation: Invocation, glob: str) -> list[ToolCall]:
    return [step for step in invocation.steps or () if isinstance(step, ToolCall) and fits(step.name, glob)]


def _name(glob: str, scene: Scene) -> str:
    """Return a tool that fits a glob: a declared one, or the glob without its wildcards."""
    declared = (name for name in scene.tools if fits(name, glob))
    return next(declared, glob.replace("*", "").replace("?", "x"))


def _top(path: str) -> str:
    """Return the first key of a path such as `items[*].id`."""
    return path.partition(".")[0].partition("[")[0]


def _satisfy(conditions: Sequence[Comparison]) -> dict[str, Json] | None:
    """Return arguments for which comparisons with constants hold, or None for other comparisons."""
    args: dict[str, Json] = {}
    for own in conditions:
        constant = own.latter.constant
        if own.former.of or own.former.path is None or own.latter.path is not None:
            return None
        more = {">": _HUGE, ">=": _HUGE, "<": -_HUGE, "<=": -_HUGE, "!=": _UNKNOWN_TEXT, "==": constant}
        if own.operator not in more:
            return None
        args[_top(own.former.text)] = more[own.operator]
    return args


def _with_calls(scene: Scene, calls: Sequence[ToolCall]) -> Invocations:
    added: list[Step] = []
    for number, call in enumerate(calls):
        call_id = f"added-{number}"
        added += [replace(call, id=call_id), ToolResult(call.name, {"status": "ok"}, call_id)]
    return scene.with_steps((*scene.steps, *added))


def _without(invocations: Invocations, glob: str) -> Invocations:
    return tuple(
        own if own.steps is None else replace(own, steps=tuple(_other_steps(own.steps, glob))) for own in invocations
    )


def _other_steps(steps: Sequence[Step], glob: str) -> Iterator[Step]:
    return (step for step in steps if not (isinstance(step, ToolCall | ToolResult) and fits(step.name, glob)))


def _with_value(scene: Scene, glob: str, field: str, value: Json) -> Invocations | None:
    """Return the conversation with another value of an argument in the first call of a tool."""
    steps = list(scene.steps)
    for place, step in enumerate(steps):
        if isinstance(step, ToolCall) and fits(step.name, glob) and field:
            steps[place] = replace(step, args={**step.args, field: value})
            return scene.with_steps(steps)
    return None

"""Operators of mutation testing that break rules: one for each rule of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.metrics.tool_rules.call_history import CallHistory, decode_result
from fairtrial.metrics.tool_rules.criterion import ToolRules
from fairtrial.metrics.tool_rules.rule_options import Form, ToolRule, comparisons, read_path
from fairtrial.mutations.operator import Invocations, Operator, Plant, Scene
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace
from fairtrial.text.display import compact, count
from fairtrial.text.globs import fits
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.provenance import MADE_UP

if TYPE_CHECKING:
    from fairtrial.metrics.tool_rules.expressions import Comparison, Operand
    from fairtrial.planned_case import Pair
    from fairtrial.records.record import Json

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
_INERT_SECRET = "password: inert-77401386-Xq"  # noqa: S105  (no secret)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_MOST_TRIED = 200
"""The number of conversations in which a rule is tried."""


def rule_operators(rules: Iterable[ToolRule]) -> tuple[Operator, ...]:
    """Return an operator for each rule."""
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
    """Yield a warning for each rule that no change breaks, that nothing is about, or that no change was made for."""
    for rule, operator in zip(rules, rule_operators(rules), strict=True):
        metric, mutants, is_applicable = ToolRules((rule,)), 0, False
        for planned, recording in baselines[:_MOST_TRIED]:
            trace = recording.trace
            is_applicable = is_applicable or metric(trace, planned.case).applicable
            for place in range(len(trace.invocations)):
                mutant = operator.mutate(Scene(planned.case, trace.invocations, place), "idle")
                mutants += mutant is not None
                if mutant is not None and metric(replace(trace, invocations=mutant), planned.case).value == 0.0:
                    break
            else:
                continue
            break
        else:
            yield f"tool_rules_v1: rule {rule.id} {_shortcoming(mutants, is_applicable=is_applicable)}"


def _shortcoming(mutants: int, *, is_applicable: bool) -> str:
    """Return why nothing is known of the use of a rule."""
    if mutants:
        return f"catches nothing here: none of {count(mutants, 'change')} breaks it"
    if not is_applicable:
        return "catches nothing here: no conversation is about it"
    return "was not tried: there is no change that breaks such a rule"


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
    if options.schema is not None:
        is_wrong = json_schema(options.schema).find_problem
        if not options.field:
            own = _calls(scene.invocation, options.call)
            names = own[0].args if own else {}
            all_arguments: list[dict[str, Json]] = [
                {},
                {_UNKNOWN_TEXT: _UNKNOWN_TEXT},
                *(dict.fromkeys(names, value) for value in _WRONG_VALUES),
            ]
            args = next((args for args in all_arguments if is_wrong(args) is not None), None)
            return None if args is None else _with_args(scene, options.call, args)
        wrong = next((value for value in _WRONG_VALUES if is_wrong(value) is not None), None)
        return _with_value(scene, options.call, _top(options.field), wrong)
    return next(
        filter(None, (_against(compared, options.call, scene) for compared in comparisons(options.compare))), None
    )


def _against(compared: Comparison, glob: str, scene: Scene) -> Invocations | None:
    """Return the conversation with an argument for which a comparison does not hold."""
    operand, other, operator = compared.former, compared.latter, compared.operator
    if operand.of or operand.path is None:
        operand, other, operator = other, operand, _MIRRORED.get(operator, "")
    if operand.of or operand.path is None:
        return None
    broken: dict[str, Json] = {
        "<": _HUGE,
        "<=": _HUGE,
        ">": -_HUGE,
        ">=": -_HUGE,
        "==": _UNKNOWN_TEXT,
        "in": _UNKNOWN_TEXT,
    }
    if operator in broken:
        return _with_value(scene, glob, _top(operand.text), broken[operator])
    equal = _first_value(other, glob, scene) if operator in ("!=", "not in") else None
    return None if equal is None else _with_value(scene, glob, _top(operand.text), equal)


def _first_value(operand: Operand, glob: str, scene: Scene) -> Json:
    """Return a value of an operand for the first call of a tool in the invocation, or None if it has none."""
    history = CallHistory.read_trace(Trace(scene.invocations))
    calls = [past for past in history.find_calls(glob) if past.invocation == scene.index]
    values = operand.find(calls[0]) if calls else ""
    value = None if isinstance(values, str) or not values else values[0]
    return (value[0] if value else None) if isinstance(value, list) else value


def _source(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    if MADE_UP in options.trusted or not options.field:
        return None
    values = [call.args.get(_top(options.field)) for call in _calls(scene.invocation, options.call)]
    is_number = any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return _with_value(scene, options.call, _top(options.field), _UNKNOWN_NUMBER if is_number else _UNKNOWN_TEXT)


def _says(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    return tuple(replace(own, final_response=Message(_NEUTRAL)) for own in scene.invocations)


def _never_says(options: Any, scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    text = next(iter(options.contains), "") or options.facts or (_INERT_SECRET if options.secrets else "")
    if not text and options.result:
        tool, _, field = options.result.partition(".")
        results = (own.response for own in reversed(scene.results) if fits(own.name, tool))
        values = (value for result in results for value in read_path(field).find(decode_result(result)))
        text = next((value if isinstance(value, str) else compact(value) for value in values if value), "")
    if not text or (options.after and not any(fits(own.name, options.after) for own in scene.results)):
        return None
    return scene.with_reply(f"{scene.reply} {text}")


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
    own = _calls(scene.invocation, glob)
    return _with_args(scene, glob, {**own[0].args, field: value}) if own and field else None


def _with_args(scene: Scene, glob: str, args: dict[str, Json]) -> Invocations | None:
    """Return the conversation with other arguments in the first call of a tool."""
    steps = list(scene.steps)
    for place, step in enumerate(steps):
        if isinstance(step, ToolCall) and fits(step.name, glob):
            steps[place] = replace(step, args=args)
            return scene.with_steps(steps)
    return None

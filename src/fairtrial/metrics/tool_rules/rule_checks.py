"""Decide the rules about calls: order, consent, number, arguments, sources of values, and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.metrics.tool_rules.rule_options import (
    ArgumentOptions,
    BetweenOptions,
    CountOptions,
    ErrorOptions,
    Form,
    NeverOptions,
    OrderOptions,
    SourceOptions,
    comparisons,
    read_path,
)
from fairtrial.records.equality import equal_json
from fairtrial.text.consent import admits_failure, agrees
from fairtrial.text.display import call as shown_call
from fairtrial.text.display import compact, shorten
from fairtrial.text.globs import fits
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.provenance import MADE_UP, Piece, trace_value

if TYPE_CHECKING:
    from fairtrial.metrics.tool_rules.call_history import CallHistory, PastCall

_EXCERPT = 160


class Violation(NamedTuple):
    """A place that breaks a rule, or a place that nobody can decide (`is_certain` False)."""

    reason: str
    invocation: int
    is_certain: bool = True
    evidence: str = ""


class Examined(NamedTuple):
    """How many places a rule was about, and those that break it. With `open_ended`, missing calls could change it."""

    places: int
    violations: tuple[Violation, ...]
    open_ended: bool = False


def _select_calls(history: CallHistory, glob: str, where: tuple[str, ...]) -> Iterator[tuple[PastCall, bool | None]]:
    """Yield the calls of a tool, each with whether the conditions hold. None: nobody knows."""
    conditions = comparisons(where)
    for past in history.find_calls(glob):
        if past.call.withheld and conditions:
            yield past, None
            continue
        decisions = [condition.decide(past)[0] for condition in conditions]
        if False not in decisions:
            yield past, None if None in decisions else True


def _violation(past: PastCall, reason: str, *, certain: bool | None = True) -> Violation:
    evidence = shown_call(past.call.name, past.call.args, limit=_EXCERPT)
    return Violation(f"{past.title}: {reason}", past.invocation, bool(certain), evidence)


def _never(history: CallHistory, options: NeverOptions) -> Examined:
    calls = list(_select_calls(history, options.call, options.where))
    return Examined(
        max(1, len(calls)), tuple(_violation(past, "may not occur", certain=certain) for past, certain in calls), True
    )


def _before(history: CallHistory, options: OrderOptions) -> Examined:
    calls = list(_select_calls(history, options.call, options.where))
    violations = []
    for past, certain in calls:
        if options.needs and not any(
            _agree(past, candidate, options.same) for candidate in past.earlier(options.needs)
        ):
            violations.append(_violation(past, _lacks("before it", options), certain=certain))
        elif options.needs_user and (finding := _consent(history, past)) is not None:
            violations.append(finding if certain else finding._replace(is_certain=False))
    return Examined(len(calls), tuple(violations))


def _consent(history: CallHistory, past: PastCall) -> Violation | None:
    """Return that the user did not agree to a call, or that nobody can tell."""
    approval = past.result.approval if past.result is not None else None
    if approval is not None and approval.by == "user":
        return None
    message = history.trace.invocations[past.invocation].user
    if message.withheld:
        return _violation(past, "the message of the user is not recorded", certain=False)
    answer = agrees(message.text)
    if answer is True:
        return None
    quoted = f"the user said {shorten(message.text, _EXCERPT)!r}"
    if answer is False:
        return _violation(past, f"the user did not agree: {quoted}")
    return _violation(past, f"whether the user agreed is not decided by the closed list: {quoted}", certain=False)


def _after(history: CallHistory, options: OrderOptions) -> Examined:
    calls = [
        (past, certain) for past, certain in _select_calls(history, options.call, options.where) if not past.failed
    ]
    violations = [
        _violation(past, _lacks("after it", options), certain=certain)
        for past, certain in calls
        if not any(
            fits(candidate.call.name, options.needs) and _agree(past, candidate, options.same)
            for candidate in history.calls[past.place + 1 :]
        )
    ]
    return Examined(len(calls), tuple(violations), True)


def _immediately_after(history: CallHistory, options: OrderOptions) -> Examined:
    calls = [
        (past, certain) for past, certain in _select_calls(history, options.call, options.where) if not past.failed
    ]
    violations = []
    for past, certain in calls:
        following = history.calls[past.place + 1 : past.place + 2]
        if not any(
            fits(candidate.call.name, options.needs) and _agree(past, candidate, options.same)
            for candidate in following
        ):
            addition = f", got {following[0].call.name}" if following else ""
            violations.append(_violation(past, _lacks("right after it", options) + addition, certain=certain))
    return Examined(len(calls), tuple(violations), True)


def _between(history: CallHistory, options: BetweenOptions) -> Examined:
    calls = history.find_calls(options.call)
    violations = []
    for past in calls:
        openings = [candidate.place for candidate in past.earlier(options.first)]
        closings = [candidate.place for candidate in past.earlier(options.last)]
        if not openings or (closings and closings[-1] > openings[-1]):
            violations.append(_violation(past, f"must stand between {options.first} and {options.last}"))
    return Examined(len(calls), tuple(violations))


def _at_most(history: CallHistory, options: CountOptions) -> Examined:
    calls = _counted_calls(history, options)
    return Examined(max(1, len(calls)), tuple(_surplus(calls, options, is_per_invocation=False))[:1], True)


def _at_most_per_invocation(history: CallHistory, options: CountOptions) -> Examined:
    calls = _counted_calls(history, options)
    turns = {past.invocation for past, _ in calls}
    return Examined(max(1, len(turns)), tuple(_surplus(calls, options, is_per_invocation=True)), True)


def _counted_calls(history: CallHistory, options: CountOptions) -> list[tuple[PastCall, bool | None]]:
    return [(past, sure) for past, sure in _select_calls(history, options.call, options.where) if not past.failed]


def _surplus(
    calls: list[tuple[PastCall, bool | None]], options: CountOptions, *, is_per_invocation: bool
) -> Iterator[Violation]:
    """Yield the first call of each group of calls that is one too many."""
    numbers: dict[tuple[int, str], int] = {}
    same = f" with the same {', '.join(options.same)}" if options.same else ""
    where = " in the invocation" if is_per_invocation else ""
    for past, certain in calls:
        if options.same and past.call.withheld:
            if len(calls) > options.count:
                yield _violation(past, "the arguments are not recorded", certain=False)
            continue
        group = (past.invocation if is_per_invocation else 0, _same_values(past, options.same))
        number = numbers[group] = numbers.get(group, 0) + 1
        if number == options.count + 1:
            yield _violation(past, f"is call {number} of at most {options.count}{same}{where}", certain=certain)


def _same_values(past: PastCall, names: Iterable[str]) -> str:
    """Return the values of arguments as a text that equal values have in common. A call without one is alone."""
    args = past.call.args
    values = [args.get(name, {"missing in call": past.place}) for name in names]
    return compact([int(value) if isinstance(value, float) and value.is_integer() else value for value in values])


def _at_least(history: CallHistory, options: CountOptions) -> Examined:
    calls = [past for past, _ in _select_calls(history, options.call, options.where) if not past.failed]
    if len(calls) >= options.count:
        return Examined(1, ())
    reason = f"{options.call} was called {len(calls)} times, at least {options.count} are needed"
    return Examined(1, (Violation(reason, max(0, len(history.trace.invocations) - 1)),), True)


def _argument(history: CallHistory, options: ArgumentOptions) -> Examined:
    calls = list(_select_calls(history, options.call, options.where))
    return Examined(
        len(calls), tuple(matches for past, sure in calls for matches in _bad_arguments(past, sure, options))
    )


def _bad_arguments(past: PastCall, certain: bool | None, options: ArgumentOptions) -> Iterator[Violation]:
    if past.call.withheld:
        yield _violation(past, "the arguments are not recorded", certain=False)
        return
    if options.schema is not None:
        values = read_path(options.field).find(past.call.args)
        if not values:
            yield _violation(past, f"has no argument {options.field}", certain=certain)
        for value in values:
            problem = json_schema(options.schema).find_problem(value)
            if problem is not None:
                yield _violation(past, f"{options.field}{problem.pointer}: {problem.message}", certain=certain)
                break
    for comparison in comparisons(options.compare):
        holds, why = comparison.decide(past)
        if holds is not True:
            yield _violation(past, f"{comparison.text}: {why}", certain=bool(certain) and holds is False)


def _source(history: CallHistory, options: SourceOptions) -> Examined:
    places, violations = 0, []
    for past, certain in _select_calls(history, options.call, options.where):
        if past.call.withheld:
            places += 1
            violations.append(_violation(past, "the arguments are not recorded", certain=False))
            continue
        sources = past.sources()
        for value in read_path(options.field).find(past.call.args):
            pieces = trace_value(value, sources)
            places += bool(pieces)
            findings = [finding for piece in pieces if (finding := _foreign(piece, options)) is not None]
            # A piece from a source that is not trusted decides before a piece whose source is not known.
            for reason, decided in sorted(findings, key=lambda finding: not finding[1])[:1]:
                name = options.field or "arguments"
                violations.append(_violation(past, f"{name}: {reason}", certain=bool(certain) and decided))
    return Examined(places, tuple(violations))


def _foreign(piece: Piece, options: SourceOptions) -> tuple[str, bool] | None:
    """Return why a piece is not from a trusted source, and whether that is certain, or None if it is."""
    text = repr(shorten(piece.text, 80))
    if not piece.sources:
        return f"the source of {text} is not known", False
    if options.trusted:
        trusted = [name for name in piece.sources if any(fits(name, glob) for glob in options.trusted)]
    else:
        trusted = [name for name in piece.sources if not any(fits(name, glob) for glob in options.untrusted)]
    if trusted:
        return None
    if piece.sources == {MADE_UP}:
        return f"{text} stands in no source: it is made up", True
    return f"{text} comes from {', '.join(sorted(piece.sources))} only", True


def _errors(history: CallHistory, options: ErrorOptions) -> Examined:
    places, violations = 0, []
    for past in history.find_calls(options.tool):
        if past.result is None or past.result.is_rejected or not past.result.is_error:
            continue
        places += 1
        later = history.calls[past.place + 1 :]
        tools = [name for name in options.then if name not in ("retry", "tell_user")]
        followed = (
            ("retry" in options.then and any(candidate.call.name == past.call.name for candidate in later))
            or any(fits(candidate.call.name, tool) for candidate in later for tool in tools)
            or ("tell_user" in options.then and _tells(history, past))
        )
        if not followed:
            violations.append(_violation(past, f"failed, and none of {', '.join(options.then)} followed"))
    return Examined(places, tuple(violations), True)


def _tells(history: CallHistory, past: PastCall) -> bool:
    later = history.trace.invocations[past.invocation :]
    return any(admits_failure(invocation.reply) for invocation in later)


def _agree(past: PastCall, candidate: PastCall, names: Iterable[str]) -> bool:
    args, theirs = past.call.args, candidate.call.args
    return all(name in args and name in theirs and equal_json(args[name], theirs[name]) for name in names)


def _lacks(where: str, options: OrderOptions) -> str:
    same = f" with the same {', '.join(options.same)}" if options.same else ""
    return f"needs {options.needs} {where}{same}"


CHECKS: dict[Form, Callable[..., Examined]] = {
    "never": _never,
    "before": _before,
    "after": _after,
    "immediately_after": _immediately_after,
    "between": _between,
    "at_most": _at_most,
    "at_least": _at_least,
    "at_most_per_invocation": _at_most_per_invocation,
    "argument": _argument,
    "source": _source,
    "errors": _errors,
}
"""The functions that decide rules about calls, by form."""

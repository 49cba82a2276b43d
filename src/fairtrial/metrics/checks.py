"""The criterion `checks_v1`: small checks of replies and of arguments of calls, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from fairtrial.config.reader import OptionReader, ReadWith, check_options
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.written_checks import read_checks
from fairtrial.metrics.expectations import undeclared_tools
from fairtrial.metrics.pairing import broke_here, positions, rest_elsewhere, structural_score, unknown_calls
from fairtrial.metrics.text_checks import HOLDS, Finding, Subject, compare_value, title
from fairtrial.records.check import Check  # noqa: TC001  # read at run time
from fairtrial.records.contents import not_recorded
from fairtrial.records.score import PartKey, Score, average_parts, invocation_key

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, ToolCall, Trace

_NO_CHECK = "no check for this invocation"


def _read_option(raw: Any, reader: OptionReader, pointer: str) -> tuple[Check, ...]:
    """Return checks in the form of a file. Checks that were made in Python are checked in the same way."""
    reading = Diagnostics("checks")
    checks = read_checks(raw, ((), "checks"), reading)
    for error in reading.errors:
        place, _, problem = error.partition(": ")
        reader.note(pointer + place.removeprefix("/checks"), problem)
    return checks


@dataclass(frozen=True, slots=True)
class Checks:
    """`checks_v1`: the share of checks that hold, 0..1. A case is the mean of its invocations.

    The checks of the criterion are about each invocation, those of an expected invocation about that invocation, and
    those of a case about its end: the last reply, and the calls of the whole conversation.
    """

    checks: Annotated[
        tuple[Check, ...],
        ReadWith(_read_option),
        Meta(
            description='checks of every invocation, for example `[{"not_contains": "refund"}]`. Cases and invocations '
            "may add their own"
        ),
    ] = ()
    embedder: Annotated[
        str, Meta(description="the embedder of `similar`: `minilm`, `multilingual`, or the folder of a model")
    ] = "minilm"

    def __post_init__(self) -> None:
        check_options(self)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation that has checks, and the checks of the case, and take the mean."""
        parts = [self._score_position(trace, case, index) for index in positions(trace, case)]
        parts += self._score_case(trace, case)
        if not parts:
            return Score(applicable=False, reason="no check, and no conversation")
        return average_parts(parts, reason=_summarise(parts))

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:
        """Return a problem for each tool that a check demands and the agent does not declare."""
        own = [check for invocation in case.conversation or () for check in invocation.checks]
        checks = (*self.checks, *case.checks, *own)
        names = dict.fromkeys(check.tool for check in checks if check.tool and check.calls != "if_called")
        return tuple(undeclared_tools(names, trace))

    def _score_position(self, trace: Trace, case: EvalCase, index: int) -> Score:
        expected = case.conversation or ()
        key = invocation_key(index)
        checks = (*self.checks, *(expected[index].checks if index < len(expected) else ()))
        if not checks:
            return Score(applicable=False, reason=_NO_CHECK, key=key)
        if index < len(expected):
            structural = structural_score(trace, case, index, excluded=lambda _: "", worst=0.0)
        else:
            structural = broke_here(trace, index)
        if structural is not None:
            return structural
        invocation = trace.invocations[index]
        return average_parts(self._parts(checks, (invocation,), rest_elsewhere(trace)), key=key)

    def _score_case(self, trace: Trace, case: EvalCase) -> Iterator[Score]:
        """Yield a score for each check of the case."""
        if not case.checks:
            return
        problem = f"the conversation broke: {trace.broken}" if trace.broken else ""
        if problem or not trace.invocations:
            names = _names(case.checks)
            for name in names:
                yield Score(None, problem or "no invocation is recorded", key=PartKey("check", id=name))
            return
        yield from self._parts(case.checks, trace.invocations, rest_elsewhere(trace))

    def _parts(self, checks: Sequence[Check], invocations: Sequence[Invocation], rest: str) -> Iterator[Score]:
        """Yield a score for each check of some invocations. The reply is the last one of them."""
        for check, name in zip(checks, _names(checks), strict=True):
            finding = self._assess(check, invocations, rest)
            value = None if finding.holds is None else float(finding.holds)
            yield Score(
                value,
                finding.reason,
                applicable=finding.applicable,
                quotes=finding.quotes,
                side=finding.side,
                key=PartKey("check", id=name),
            )

    def _assess(self, check: Check, invocations: Sequence[Invocation], rest: str) -> Finding:
        """Return what a check finds. `rest` is the reason for which calls may be missing, or empty."""
        if check.checks:
            return _combine(check, [self._assess(member, invocations, rest) for member in check.checks])
        if check.tool:
            return self._assess_calls(check, invocations, rest)
        message = invocations[-1].final_response
        if message is None:
            return Finding(False, f"expected a reply ({title(check)}), got none")
        if message.withheld:
            return Finding(None, not_recorded(message, "reply"), side="infrastructure")
        return compare_value(check, Subject(message.text, "the reply"), self.embedder)

    def _assess_calls(self, check: Check, invocations: Sequence[Invocation], rest: str) -> Finding:
        """Return whether the calls of a tool satisfy a check: each of them, or at least one."""
        calls = [call for invocation in invocations for call in invocation.tool_calls if call.name == check.tool]
        findings = [self._assess_call(check, call) for call in calls]
        unknown = rest or unknown_calls(invocations)
        decisive_value = check.calls == "any"
        # One call that satisfies `any`, or that breaks `every`, decides, whatever is missing.
        if (deciding := next((f for f in findings if f.holds is decisive_value), None)) is not None:
            return HOLDS if decisive_value else deciding
        if unknown:
            return Finding(None, unknown, side="infrastructure")
        if (open_finding := next((f for f in findings if f.holds is None), None)) is not None:
            return open_finding
        if findings:
            return findings[-1] if decisive_value else HOLDS
        if check.calls == "if_called":
            return Finding(None, f"{check.tool} was not called", applicable=False)
        return Finding(False, f"expected a call of {check.tool} ({title(check)}), got none")

    def _assess_call(self, check: Check, call: ToolCall) -> Finding:
        if call.withheld:
            return Finding(None, not_recorded(call, "args"), side="infrastructure")
        if not check.argument:
            return compare_value(
                check, Subject(call.args, f"the arguments of {call.name}", is_reply=False), self.embedder
            )
        name = f"{call.name}.{check.argument}"
        if check.argument in call.args:
            return compare_value(check, Subject(call.args[check.argument], name, is_reply=False), self.embedder)
        if check.kind == "not_contains":
            return HOLDS
        return Finding(False, f"expected {name} ({title(check)}), got no such argument")


def _combine(check: Check, findings: Sequence[Finding]) -> Finding:
    """Return the finding of `any`, `all` or `not`. A member that does not apply does not count."""
    applicable = [finding for finding in findings if finding.applicable]
    if not applicable:
        return Finding(None, findings[0].reason, applicable=False)
    if check.kind == "not":
        (inner,) = applicable
        if inner.holds is None:
            return inner
        return Finding(False, f"expected that this does not hold: {title(check.checks[0])}") if inner.holds else HOLDS
    decisive_value = check.kind == "any"
    decisive = [finding for finding in applicable if finding.holds is decisive_value]
    if decisive:
        return HOLDS if decisive_value else _join(decisive, "; ")
    unknown = [finding for finding in applicable if finding.holds is None]
    if unknown:
        return unknown[0]
    return _join(applicable, "; or ") if decisive_value else HOLDS


def _join(findings: Sequence[Finding], separator: str) -> Finding:
    quotes = tuple(quote for finding in findings for quote in finding.quotes)
    return Finding(False, separator.join(finding.reason for finding in findings), quotes)


def _names(checks: Sequence[Check]) -> list[str]:
    """Return a name for each check. A name that stands there twice gets a number."""
    counts: dict[str, int] = {}
    names = []
    for check in checks:
        name = title(check)
        counts[name] = counts.get(name, 0) + 1
        names.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return names


def _summarise(parts: Sequence[Score]) -> str:
    """Return how many checks fail, and the first of them."""
    checks = [check for part in parts for check in (part.parts or (part,))]
    failing = [check for check in checks if check.value == 0]
    if not failing:
        return ""
    return f"{len(failing)} of {sum(check.applicable for check in checks)} checks fail: {failing[0].title}"

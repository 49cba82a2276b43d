"""The criterion `tool_rules_v1`: rules about the calls, the values and the replies of a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import OptionError, check_options
from fairtrial.metrics.expectations import undeclared_tools
from fairtrial.metrics.pairing import nothing_recorded, rest_elsewhere, unknown_calls
from fairtrial.metrics.tool_rules.call_history import CallHistory
from fairtrial.metrics.tool_rules.rule_checks import CHECKS, Examined
from fairtrial.metrics.tool_rules.rule_options import ToolRule  # noqa: TC001  # read at run time
from fairtrial.metrics.tool_rules.speech_checks import never_says, says
from fairtrial.records.score import PartKey, Quote, Score

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Trace

_DECIDE = {**CHECKS, "says": says, "never_says": never_says}


@dataclass(frozen=True, slots=True)
class ToolRules:
    """`tool_rules_v1`: 1 if a conversation keeps all rules, else 0. The parts are the rules.

    A rule about calls that did not occur is not applicable. A rule that nobody can decide, for example because the
    arguments are not recorded, leaves the conversation unscored unless another rule is broken.
    """

    rules: Annotated[
        tuple[ToolRule, ...],
        Meta(
            description="the rules, for example "
            '`[{"id": "look_first", "before": {"call": "cancel_order", "needs": "get_order", "same": "order_id"}}]`'
        ),
    ] = ()

    def __post_init__(self) -> None:
        check_options(self)
        names = [rule.id for rule in self.rules]
        doubled = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if doubled is not None:
            raise OptionError([(f"rules/{names.index(doubled)}/id", f"stands there twice: {doubled!r}")])

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Decide each rule. One that is broken decides the conversation."""
        if not self.rules:
            return Score(applicable=False, reason="no rule is configured")
        if not trace.invocations:
            return nothing_recorded(trace)
        history = CallHistory.read_trace(trace)
        parts = tuple(_part(rule, _DECIDE[rule.form](history, rule.options), trace) for rule in self.rules)
        violated = [part for part in parts if part.value == 0]
        if violated:
            more = f" ({len(violated)} of {len(parts)} rules are broken)" if len(violated) > 1 else ""
            return Score(0.0, f"{violated[0].title}: {violated[0].reason}{more}", parts=parts)
        unknown = next((part for part in parts if part.applicable and part.value is None), None)
        if unknown is not None:
            return Score(None, f"{unknown.title}: {unknown.reason}", parts=parts, side=unknown.side)
        if not any(part.applicable for part in parts):
            return Score(applicable=False, reason="no rule applies", parts=parts)
        return Score(1.0, parts=parts)

    def notes(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a warning for each tool of a rule that the agent does not declare. A glob is not looked up."""
        names = [name for rule in self.rules for name in _list_tools(rule) if not set("*?[") & set(name)]
        return tuple(f"tool_rules_v1: {problem}" for problem in undeclared_tools(dict.fromkeys(names), trace))


def _part(rule: ToolRule, examined: Examined, trace: Trace) -> Score:
    key, label = PartKey("check", id=rule.id), rule.rule or rule.id
    certain = [violation for violation in examined.violations if violation.is_certain]
    if certain and not (rule.form in ("after", "immediately_after", "at_least", "says", "errors") and _is_cut(trace)):
        first = certain[0]
        more = f" (and {len(certain) - 1} more)" if len(certain) > 1 else ""
        quotes = tuple(Quote(item.evidence, f"invocation {item.invocation + 1}") for item in certain if item.evidence)
        return Score(0.0, first.reason + more, label, quotes=quotes[:5], key=key)
    if examined.violations:
        reason = _is_cut(trace) or examined.violations[0].reason
        return Score(None, reason, label, side=None if trace.broken else "infrastructure", key=key)
    if examined.places == 0 and not _is_cut(trace):
        return Score(applicable=False, reason="the rule is about calls that did not occur", label=label, key=key)
    if _is_cut(trace) and (examined.open_ended or examined.places == 0):
        return Score(None, _is_cut(trace), label, side=None if trace.broken else "infrastructure", key=key)
    return Score(1.0, label=label, key=key)


def _is_cut(trace: Trace) -> str:
    """Return why calls may be missing after the recorded calls, or among them, or an empty text."""
    if trace.broken:
        return f"the conversation broke: {trace.broken}"
    return unknown_calls(trace.invocations) or rest_elsewhere(trace) or trace.inner_incomplete


def _list_tools(rule: ToolRule) -> Iterator[str]:
    options = rule.options
    for name in ("call", "needs", "first", "last", "tool"):
        if tool := getattr(options, name, ""):
            yield tool

"""Decide the rules about replies: required and forbidden statements."""

from __future__ import annotations

from collections.abc import Iterator

from fairtrial.metrics.tool_rules.call_history import CallHistory, decode_result
from fairtrial.metrics.tool_rules.rule_checks import Examined, Violation
from fairtrial.metrics.tool_rules.rule_options import SpeechOptions, read_path
from fairtrial.text.display import shorten
from fairtrial.text.facts.fact_agreement import compare_facts
from fairtrial.text.globs import fits
from fairtrial.text.provenance import Piece, SourceTexts, fold, trace_value
from fairtrial.text.redaction.redact import redact
from fairtrial.text.user_patterns import user_pattern

_EXCERPT = 160


def never_says(history: CallHistory, options: SpeechOptions) -> Examined:
    """Return the replies with a forbidden statement."""
    turns, violations = 0, []
    for index in _turns(history, options):
        turns += 1
        reply = history.trace.invocations[index].final_response
        if reply is None:
            continue
        if reply.withheld:
            violations.append(Violation("the reply is not recorded", index, is_certain=False))
        elif matches := _statement(history, options, index, reply.text):
            reason = f"the reply of invocation {index + 1} states {matches}"
            violations.append(Violation(reason, index, True, "" if options.secrets else shorten(reply.text, _EXCERPT)))
    return Examined(turns, tuple(violations), True)


def says(history: CallHistory, options: SpeechOptions) -> Examined:
    """Return that no reply has the required statement."""
    turns = list(_turns(history, options))
    replies = [(index, history.trace.invocations[index].final_response) for index in turns]
    if any(reply and _statement(history, options, index, reply.text) for index, reply in replies):
        return Examined(1, ())
    withheld = any(reply is not None and reply.withheld for _, reply in replies)
    missing = Violation(f"no reply states {_demand(options)}", turns[-1] if turns else 0, is_certain=not withheld)
    return Examined(len(turns), (missing,) if turns else (), True)


def _turns(history: CallHistory, options: SpeechOptions) -> Iterator[int]:
    """Yield the invocations whose replies count."""
    call_turns = [past.invocation for past in history.calls if options.after and fits(past.call.name, options.after)]
    first = min(call_turns, default=None) if options.after else 0
    return iter(()) if first is None else iter(range(first, len(history.trace.invocations)))


def _statement(history: CallHistory, options: SpeechOptions, index: int, text: str) -> str:
    """Return the statement of a reply that the rule is about, in words, or an empty text."""
    folded = fold(text)
    for item in options.contains:
        if fold(item) in folded:
            return repr(shorten(item, _EXCERPT))
    if options.regex and user_pattern(options.regex).search(text):
        return f"a match of {shorten(options.regex, _EXCERPT)}"
    if options.facts:
        agreement = compare_facts(options.facts, text)
        if agreement.findings and all(finding.state == "found" for finding in agreement.findings):
            return f"the facts of {shorten(options.facts, _EXCERPT)!r}"
    if options.result and _states_result(history, options.result, index, text):
        return f"a value of {options.result}"
    if options.secrets and redact(text, emails=False)[1]:
        return "a secret"
    return ""


def _states_result(history: CallHistory, name: str, index: int, text: str) -> bool:
    tool, _, field = name.partition(".")
    results = [past.result for past in history.find_calls(tool) if past.result is not None and past.invocation <= index]
    reply = [SourceTexts("reply", (text,))]
    values = [value for result in results for value in read_path(field).find(decode_result(result.response))]
    return any(_is_whole(trace_value(value, reply)) for value in values)


def _is_whole(pieces: tuple[Piece, ...]) -> bool:
    return bool(pieces) and all(piece.sources == {"reply"} for piece in pieces)


def _demand(options: SpeechOptions) -> str:
    demands = options.contains or (options.regex or options.facts or options.result or "a secret",)
    return " or ".join(repr(shorten(name, _EXCERPT)) for name in demands)

"""Terminal reports of gate audits and suite audits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.gate import is_difference
from fairtrial.reports.decisions.comparison_table import points
from fairtrial.reports.decisions.gate_report import name_claim
from fairtrial.reports.numbers import number, rate
from fairtrial.reports.terminal_text import signature_line
from fairtrial.text.display import count, visible_line
from fairtrial.text.languages import say, say_count

if TYPE_CHECKING:
    from fairtrial.records.audit import AuditedCase, ClaimAudit, GateAudit, SuiteAudit
    from fairtrial.records.run_comparison import IntervalEstimate

_NAMES = 20
_LINES = 10


def gate_audit_report(audit: GateAudit) -> RenderableType:
    """Return for each claim in words how often it is decided rightly."""
    lines: list[RenderableType] = []
    base = audit.runs[0].id if len(audit.runs) > 1 else ""
    for claim in audit.claims:
        with_cases = say("{claim}, with {cases}:", claim=_claim(claim, base), cases=say_count(claim.cases, "case"))
        lines.append(Text(visible_line(with_cases), "bold"))
        lines += [Text(f"  {sentence}") for sentence in _sentences(claim)]
    lines.append(signature_line(audit.signature))
    return Group(*lines)


def _claim(claim: ClaimAudit, base: str) -> str:
    if not is_difference(claim.claim):
        limit = rate(claim.limit) if claim.is_rate else number(claim.limit)
        return name_claim(claim, limit)
    return name_claim(claim, _size(claim, claim.limit), base)


def _size(claim: ClaimAudit, difference: float) -> str:
    return points(difference) if claim.is_rate else number(difference)


def _sentences(claim: ClaimAudit) -> Iterator[str]:
    promised = f"promised are at most {_share(claim.alpha)}"
    yield f"An agent exactly at the limit would pass in {_share(claim.error)} of 100 releases; {promised}."
    yield f"An agent as good as this one would pass in {_share(claim.passes)}."
    text = "The gate would notice a drop of {size} below the limit in {n} of 100 releases{more}."
    yield say(text, size=_size(claim, claim.drop), n=_share(claim.noticed), more=_cases_to_notice(claim))
    how = "all possible results" if claim.method == "enumeration" else "2,000 results that were drawn from these cases"
    yield f"Counted over {how}."


def _cases_to_notice(claim: ClaimAudit) -> str:
    if claim.noticed >= 0.8 or claim.needed is None:
        return ""
    return say("; {cases} would notice it in 80", cases=say_count(claim.needed, "case"))


def _share(share: float) -> str:
    return f"{100 * share:.0f}" if share == 0 or share >= 0.1 else f"{100 * share:.2g}"


def suite_audit_report(audit: SuiteAudit) -> RenderableType:
    """Return the cases and criteria that tell nothing, and how many cases could go."""
    lines = [Text(f"{count(audit.cases, 'case')} in {count(len(audit.runs), 'run')}", "bold")]
    lines += [Text(visible_line(note), "yellow") for note in audit.notes]
    lines += [Text(visible_line(line)) for line in _findings(audit)]
    if audit.removable is not None and audit.noticed_now is not None and audit.noticed_without is not None:
        now, without = number(audit.noticed_now), number(audit.noticed_without)
        if audit.removable:
            cases = count(audit.removable, "case")
            notices = f"a comparison notices {now} broken cases with them and {without} without them"
            lines.append(Text(f"{cases} could go without losing power: {notices}."))
            lines.append(Text("They still guard against what has not happened yet."))
        else:
            lines.append(Text(f"No case could go without losing power: a comparison notices {now} broken cases."))
    lines.append(signature_line(audit.signature))
    return Group(*lines)


def _findings(audit: SuiteAudit) -> Iterator[str]:
    yield from _constant(audit.never_fail, "never failed", "fails at most in")
    yield from _constant(audit.never_pass, "never passed", "passes at most in")
    if audit.never_separate is not None:
        names = _first(audit.never_separate)
        yield f"{count(len(audit.never_separate), 'case')} never separated agents of different quality{names}"
    for case in audit.opposed_cases[:_LINES]:
        ends = _points(case.difference)
        yield f"{case.case}: {case.worse} passes it more often than the better {case.better}: {ends}"
    if len(audit.opposed_cases) > _LINES:
        yield f"… and {len(audit.opposed_cases) - _LINES} more such cases; --json FILE lists them all"
    for copy in audit.copies:
        ends = f"{number(copy.correlation.low)} … {number(copy.correlation.high)}"
        yield f"{copy.criterion} copies {copy.other}: correlation {number(copy.correlation.value)} ({ends})"
    for own in audit.opposed_criteria:
        ends = _points(own.difference)
        yield f"{own.criterion}: the better {own.better} fails it more often than {own.worse}: {ends}"


def _constant(cases: Sequence[AuditedCase], verb: str, bound: str) -> Iterator[str]:
    """Yield the cases that always have one verdict, with the bound for the one with the fewest attempts."""
    if not cases:
        return
    widest = max(cases, key=lambda case: case.high - case.low)
    ends = f"{bound} {rate(1 - widest.low if widest.passed else widest.high)} of the attempts"
    yield f"{count(len(cases), 'case')} {verb}{_first([case.case for case in cases])}; each {ends}"


def _first(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" … and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f": {', '.join(names[:_NAMES])}{more}"


def _points(estimate: IntervalEstimate) -> str:
    low, high = (f"{100 * (end or 0.0):+.0f}" for end in (estimate.low, estimate.high))
    return f"{100 * (estimate.value or 0.0):+.0f} points ({low} … {high})"

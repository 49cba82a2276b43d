"""How does the decision about claims look in a terminal?"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.gate import ClaimDecision, GateDecision
from fairtrial.reports.numbers import DASH, against
from fairtrial.text.display import count, visible_line

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "undecided": ("?", "yellow")}


def gate_report(decision: GateDecision) -> RenderableType:
    """Return a line for each claim, and the verdict of all claims if there are several."""
    base = decision.runs[0].id if len(decision.runs) > 1 else ""
    lines = [Text(visible_line(f"warning: {warning}"), "yellow") for warning in decision.warnings]
    about = f" on these {count(decision.runs[-1].cases, 'case')}" if decision.about == "these-cases" else ""
    for claim in decision.claims:
        mark, style = _MARKS[claim.verdict]
        line = visible_line(f"{claim_text(claim, base)}{about} ({_numbers(claim)}){_remark(claim)}")
        lines.append(Text.assemble((f"{mark} {claim.verdict.upper()}", f"bold {style}"), f": {line}"))
        lines.append(Text(f"  {_meaning(claim)}", "dim"))
    if len(decision.claims) > 1 or decision.warnings:
        mark, style = _MARKS[decision.verdict]
        lines.append(Text(f"{mark} {decision.verdict.upper()}", f"bold {style}"))
    if decision.attempts_saved is not None:
        lines.append(Text(_effort(decision)))
    lines.append(Text(decision.signature, "dim"))
    return Group(*lines)


def claim_text(claim: ClaimDecision, base: str = "") -> str:
    """Return a claim in words: `cases at least 80 %`."""
    limit = _value(claim, claim.limit)
    if claim.claim == "at_least":
        return f"{claim.measure} at {'most' if claim.lower_is_better else 'least'} {limit}"
    direction = "not worse by more than" if claim.claim == "not_worse_by" else "better by more than"
    return f"{claim.measure} {direction} {limit}{f' than {base}' if base else ''}"


def _value(claim: ClaimDecision, value: float | None) -> str:
    """Return a value with the decimals that it needs beside the limit of its claim."""
    if value is None:
        return DASH
    return against(value, claim.limit, percent=claim.is_rate)[0]


def _signed(claim: ClaimDecision, value: float | None) -> str:
    if value is None:
        return DASH
    text = _value(claim, abs(value))
    return f"{'-' if value < 0 else '+'}{text}" if value else text


def _numbers(claim: ClaimDecision) -> str:
    if claim.evidence is not None and claim.evidence_against is not None:
        needed = 1 / claim.alpha
        side, value = ("for", claim.evidence) if claim.verdict != "failed" else ("against", claim.evidence_against)
        return f"evidence {side} it {_odds(value)} : 1, needs {_odds(needed)} : 1"
    if claim.estimate is None:
        return "no value"
    show = _value if claim.claim == "at_least" else _signed
    label = "" if claim.claim == "at_least" else "difference "
    estimate = f"{label}{show(claim, claim.estimate)}"
    if claim.verdict == "undecided":
        return f"{estimate}, {show(claim, claim.low)} … {show(claim, claim.high)}"
    is_upper = (claim.verdict == "failed") != claim.lower_is_better
    return f"{estimate}, {'at most' if is_upper else 'at least'} {show(claim, claim.high if is_upper else claim.low)}"


def _odds(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _remark(claim: ClaimDecision) -> str:
    parts = [f": {claim.why}" if claim.why else ""]
    if claim.needed is not None and claim.needed.cases is not None:
        parts.append(f"; about {count(claim.needed.cases, 'case')} like these would decide it, if the estimate stays")
    if claim.needed is not None and claim.needed.attempts is not None:
        attempts = count(claim.needed.attempts, "attempt")
        parts.append(f"; about {attempts} of each case would decide it, if the estimate stays")
    return "".join(parts)


def _meaning(claim: ClaimDecision) -> str:
    """Return the promise of the gate in a sentence."""
    limit, share = _value(claim, claim.limit), f"{100 * claim.alpha:.2g} times in 100"
    if claim.claim == "at_least":
        side = "more" if claim.lower_is_better else "less"
        return f"An agent with {side} than {limit} passes this gate at most {share}."
    side = "worse by" if claim.claim == "not_worse_by" else "better by less than"
    return f"An agent that is {side} {limit} passes this gate at most {share}."


def _effort(decision: GateDecision) -> str:
    waves = max((claim.waves or 0) for claim in decision.claims)
    undecided = any(claim.verdict == "undecided" for claim in decision.claims)
    cases = decision.runs[-1].cases
    most = waves + (decision.attempts_saved or 0) // max(1, cases)
    if undecided:
        return f"undecided after {waves} of at most {count(most, 'attempt')} of each case"
    saved = f"; {count(decision.attempts_saved or 0, 'attempt')} saved"
    return f"decided after {waves} of at most {count(most, 'attempt')} of {count(cases, 'case')}{saved}"

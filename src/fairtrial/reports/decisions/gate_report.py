"""Terminal and Markdown reports of gate decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.gate import ClaimDecision, GateDecision, JudgeStanding, is_difference
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.summary import Estimate
from fairtrial.reports.decisions.comparison_table import cases_in_clusters, other_cases
from fairtrial.reports.judges.judge_states import bias
from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.numbers import against, interval, rate
from fairtrial.reports.rows import name_measure
from fairtrial.reports.terminal_text import signature_line
from fairtrial.text.display import DASH, visible_line
from fairtrial.text.languages import ENGLISH, say, say_count, speaking
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.audit import ClaimAudit
    from fairtrial.records.run_comparison import IntervalEstimate

_LINE_LENGTH = 500
_IF = "with a power of 80 %, if the estimate stays"
_ONE_END = "The intervals of the table have two ends, and a gate asks about one: so its limit differs from theirs."
_SEERS = {"judge": "the judge sees it", "people": "people see it"}
_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "undecided": ("?", "yellow")}


def gate_report(decision: GateDecision, *, below_table: bool = False) -> RenderableType:
    """Return a line for each claim, and the verdict of all claims if there are several.

    With `below_table`, a sentence says why limits differ from the intervals of the criteria that stand above.
    """
    lines = [Text(visible_line(say("warning: {warning}", warning=own)), "yellow") for own in decision.warnings]
    for claim in decision.claims:
        mark, style = _MARKS[claim.verdict]
        lines.append(
            Text.assemble((f"{mark} {say(claim.verdict).upper()}", f"bold {style}"), f": {_line(decision, claim)}")
        )
        lines.append(Text(f"  {_meaning(claim)}", "dim"))
        lines += [Text(f"  {sentence}", "yellow") for sentence in _judges(claim)]
    lines += _population(decision)
    if len(decision.claims) > 1 or decision.warnings:
        mark, style = _MARKS[decision.verdict]
        lines.append(Text(f"{mark} {say(decision.verdict).upper()}", f"bold {style}"))
    if decision.attempts_saved is not None:
        lines.append(Text(_effort(decision)))
    limits = [claim for claim in decision.claims if not is_difference(claim.claim) and claim.evidence is None]
    if below_table and any(claim.estimate is not None for claim in limits):
        lines.append(Text(say(_ONE_END), "dim"))
    lines.append(signature_line(decision.signature))
    return Group(*lines)


@speaking(ENGLISH)
def gate_markdown(decision: GateDecision) -> str:
    """Return a decision as Markdown, for a comment on a pull request."""
    base = f" against {code_span(decision.runs[0].id)}" if len(decision.runs) > 1 else ""
    mark, _ = _MARKS[decision.verdict]
    lines = [f"### {mark} {decision.verdict.upper()}: {code_span(decision.runs[-1].id)}{base}", ""]
    for claim in decision.claims:
        lines.append(f"- **{claim.verdict}**: {code_span(_line(decision, claim), _LINE_LENGTH)}")
        lines += [f"  - {code_span(text, _LINE_LENGTH)}" for text in (_meaning(claim), *_judges(claim))]
    notes = [f"warning: {warning}" for warning in decision.warnings]
    notes += [text.plain for text in _population(decision)]
    return "\n".join([*lines, *(f"- {code_span(note, _LINE_LENGTH)}" for note in notes)]) + "\n"


def _line(decision: GateDecision, claim: ClaimDecision) -> str:
    """Return a claim with its numbers, and why it is undecided."""
    base = decision.runs[0].id if len(decision.runs) > 1 else ""
    run = decision.runs[-1]
    about = say(" on these {cases}", cases=say_count(run.cases, "case")) if decision.about == "these-cases" else ""
    if not about and run.clusters is not None:
        about = say(" by {cases}", cases=cases_in_clusters(run.cases, run.clusters))
    population = ""
    if claim.shared_cases and is_difference(claim.claim) and decision.pairs is not None:
        cases = say_count(decision.pairs.cases, "case")
        population = say(" on the {cases} that both runs hold unchanged", cases=cases)
    return visible_line(f"{claim_text(claim, base)}{population or about} ({_numbers(claim)}){_remark(claim)}")


def _population(decision: GateDecision) -> list[Text]:
    """Return the cases that are not the same ones in both runs."""
    compared = [claim for claim in decision.claims if is_difference(claim.claim)]
    if decision.pairs is None or not compared:
        return []
    only_shared = all(claim.shared_cases for claim in compared)
    fate = "left out, because only the base has them" if only_shared else "only in the base, counted as missing"
    return list(other_cases(decision.pairs, fate))


def _judges(claim: ClaimDecision) -> Iterator[str]:
    """Yield what is known about each judge behind a claim. Runs that share a sentence share a line."""
    yield from dict.fromkeys(
        visible_line(f"{standing.criterion}: {_standing(claim, standing)}") for standing in claim.judges
    )


def _standing(claim: ClaimDecision, standing: JudgeStanding) -> str:
    if standing.state == JudgeState.UNCHECKED:
        if standing.assumed_from is None or standing.corrected.value is None:
            return f"judged by {standing.judge}, not checked against people"
        ends = interval(Estimate(*_ends(standing.corrected)), percent=True) or "without an interval"
        people = f"by the labels of {standing.assumed_from}, people would say {rate(standing.corrected.value)} ({ends})"
        return f"judged by {standing.judge}, not checked on {standing.run}; {people}"
    if standing.state == JudgeState.TOO_FEW:
        return f"judged by {standing.judge}, with too few labels of people to check it"
    if standing.state == JudgeState.USELESS:
        return f"{standing.judge} is not shown to be better than guessing"
    if standing.state == JudgeState.GOOD:
        return f"{standing.judge} agrees with people"
    consequence = "; the numbers that people would give decide" if claim.seen_by == "people" else ""
    return f"{standing.judge} {bias(standing.flattery)} on {standing.run}{consequence}"


def _ends(estimate: IntervalEstimate) -> tuple[float | None, float | None, float | None]:
    return estimate.value, estimate.low, estimate.high


def claim_text(claim: ClaimDecision, base: str = "") -> str:
    """Return a claim in words: `cases at least 80 %`."""
    return name_claim(claim, _limit(claim), base)


def name_claim(claim: ClaimDecision | ClaimAudit, limit: str, base: str = "") -> str:
    """Return a claim in words with the text of its limit."""
    if not is_difference(claim.claim):
        text = "{measure} at most {limit}" if claim.claim == "at_most" else "{measure} at least {limit}"
    else:
        direction = "not worse by more than" if claim.claim == "not_worse_by" else "better by more than"
        text = f"{{measure}} {direction} {{limit}}{' than {base}' if base else ''}"
    return say(text, measure=name_measure(claim.measure), limit=limit, base=base)


def _value(claim: ClaimDecision, value: float | None) -> str:
    """Return a value with the decimals that it needs beside the limit of its claim."""
    if value is None:
        return DASH
    return against(value, claim.limit, percent=claim.is_rate)[0]


def _limit(claim: ClaimDecision) -> str:
    """Return the limit of a claim: a value, or the size of a difference."""
    return _size(claim, claim.limit) if is_difference(claim.claim) else _value(claim, claim.limit)


def _size(claim: ClaimDecision, difference: float) -> str:
    text = _value(claim, abs(difference))
    return say("{value} points", value=text.removesuffix(" %")) if claim.is_rate else text


def _add_sign(claim: ClaimDecision, value: float | None) -> str:
    if value is None:
        return DASH
    return f"{'-' if value < 0 else '+' if value else ''}{_size(claim, value)}"


def _numbers(claim: ClaimDecision) -> str:
    if claim.evidence is not None and claim.evidence_against is not None:
        needed = 1 / claim.alpha
        if claim.verdict == "failed":
            text, value = "evidence against it {value} : 1, needs {needed} : 1", claim.evidence_against
        else:
            text, value = "evidence for it {value} : 1, needs {needed} : 1", claim.evidence
        return say(text, value=_odds(value), needed=_odds(needed))
    if claim.estimate is None:
        return say("no value")
    show = _add_sign if is_difference(claim.claim) else _value
    estimate = show(claim, claim.estimate)
    if is_difference(claim.claim):
        estimate = say("difference {value}", value=estimate)
    if claim.verdict == "undecided":
        return f"{estimate}, {show(claim, claim.low)} … {show(claim, claim.high)}"
    is_upper = (claim.verdict == "failed") != claim.lower_is_better
    if is_upper:
        return say("{estimate}, at most {end}", estimate=estimate, end=show(claim, claim.high))
    return say("{estimate}, at least {end}", estimate=estimate, end=show(claim, claim.low))


def _odds(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _remark(claim: ClaimDecision) -> str:
    parts = [f": {say_sentence(claim.why)}" if claim.why else ""]
    if claim.needed is not None and claim.needed.cases is not None:
        cases = say_count(claim.needed.cases, "case")
        parts.append(say(f"; about {{cases}} like these would decide it {_IF}", cases=cases))
    if claim.needed is not None and claim.needed.attempts is not None:
        attempts = say_count(claim.needed.attempts, "attempt")
        parts.append(say(f"; about {{attempts}} of each case would decide it {_IF}", attempts=attempts))
    return "".join(parts)


def _meaning(claim: ClaimDecision) -> str:
    """Return the promise of the gate in a sentence."""
    share = say("{n} times in 100", n=f"{100 * claim.alpha:.2g}")
    if claim.seen_by is not None:
        share = say(f"{{share}}, as {_SEERS[claim.seen_by]}", share=share)
    if not is_difference(claim.claim):
        agent = "with more than" if claim.claim == "at_most" else "with less than"
    else:
        agent = "that is worse by" if claim.claim == "not_worse_by" else "that is better by less than"
    return say(f"An agent {agent} {{limit}} passes this gate at most {{share}}.", limit=_limit(claim), share=share)


def _effort(decision: GateDecision) -> str:
    waves = max((claim.waves or 0) for claim in decision.claims)
    undecided = any(claim.verdict == "undecided" for claim in decision.claims)
    cases = decision.runs[-1].cases
    most = waves + (decision.attempts_saved or 0) // max(1, cases)
    if undecided:
        text = "undecided after {waves} of at most {attempts} of each case"
        return say(text, waves=waves, attempts=say_count(most, "attempt"))
    text = "decided after {waves} of at most {attempts} of {cases}"
    decided = say(text, waves=waves, attempts=say_count(most, "attempt"), cases=say_count(cases, "case"))
    saved = say_count(decision.attempts_saved or 0, "attempt")
    return say("{text}; {attempts} saved", text=decided, attempts=saved)

"""The sentences that lead the report of a skill: its worth, its cost, and the cases that say nothing about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fairtrial.analysis.comparison import compare_runs
from fairtrial.analysis.measured_run import CASES, MeasuredRun
from fairtrial.analysis.variants import SIGN, select_variant, variants_in
from fairtrial.api.skills.attempt_files import assertion_text
from fairtrial.api.skills.trigger_notes import TRIGGER, SkillUses, name_list, trigger_notes
from fairtrial.errors import UsageError
from fairtrial.records.state_delta import read_delta
from fairtrial.reports.decisions.comparison_table import change_ends, format_signed
from fairtrial.reports.skill_uses import name_variant
from fairtrial.text.display import count, shorten
from fairtrial.text.languages import ENGLISH, speaking

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.result import CaseResult
    from fairtrial.records.run_comparison import ComparedMeasure, Comparison
    from fairtrial.records.score import Score
    from fairtrial.records.summary import SkillUse

_TOKENS, _SECONDS = "token_usage_v1", "invocation_duration_v1"
_WITH, _WITHOUT, _OLD = "with", "without", "old"
_BASES = {_WITHOUT: "no skill", _OLD: "the old version", _WITH: "the present description"}
_LONGEST_ASSERTION = 80


@speaking(ENGLISH)
def variant_notes(
    run: MeasuredRun,
    cases: Iterable[ExpectedCase],
    results: Iterable[CaseResult],
    recordings: Iterable[tuple[int, Recording]],
) -> tuple[list[str], tuple[SkillUse, ...]]:
    """Return the sentences about the variants of a run, the most important first, and which skills were used.

    A run without variants has none.
    """
    variants = variants_in(run)
    if not variants:
        return [], ()
    by_position = {case.position: case.case for case in cases}
    uses, costs = SkillUses(run.info.config.get("skills") or (), by_position), _Costs()
    for position, recording in recordings:
        uses.add(position, recording)
        costs.add(recording)
    notes, rows = [*trigger_notes(run, by_position)], tuple(uses.rows())
    if parts := run.info.config.get("dropped_parts"):
        return [*_part_notes(run, parts), *notes], rows
    for base in [variant for variant in variants if variant in (_WITHOUT, _OLD)] or variants[:1]:
        for variant in variants:
            if variant not in (base, _WITHOUT, _OLD):
                notes += _difference_notes(run, base, variant, costs.means)
    return [*notes, *_assertion_notes(results, variants, by_position)], rows


def _part_notes(run: MeasuredRun, parts: Mapping[str, str]) -> Iterator[str]:
    """Yield which parts of a skill some case notices, by passing less often without the part, and which none does."""
    whole = _rates(run, _WITH)
    losses: dict[str, list[str]] = {}
    for variant, title in parts.items():
        rates = _rates(run, variant)
        losses_by_case = {
            case: whole[case] - value for case, value in rates.items() if case in whole and value < whole[case]
        }
        losses[title if title not in losses else f"{title} ({variant})"] = [
            f"{case} (-{100 * loss:.0f} points)"
            for case, loss in sorted(losses_by_case.items(), key=lambda pair: -pair[1])
        ]
    noticed = {title: cases for title, cases in losses.items() if cases}
    verb = "is" if 1 in (len(noticed), len(losses)) else "are"
    yield f"{len(noticed)} of {count(len(losses), 'part')} of the skill {verb} noticed by a case"
    for title, cases in noticed.items():
        yield f"without {title!r}, these cases pass less often: {name_list(cases)}"
    if silent := [repr(title) for title, cases in losses.items() if not cases]:
        yield f"no case notices the loss of {name_list(silent)}"
    noticing = {case.rpartition(" (")[0] for cases in noticed.values() for case in cases}
    if deaf := [case for case in whole if case not in noticing]:
        verb = "notices" if len(deaf) == 1 else "notice"
        yield f"{count(len(deaf), 'case')} {verb} no loss: {name_list(deaf)}"


def _rates(run: MeasuredRun, variant: str) -> dict[str, float]:
    """Return the pass rates of the cases with a variant."""
    part = select_variant(run, variant)
    samples = ((key.case, part.columns[CASES].sample(place)) for place, key in enumerate(part.keys))
    return {case: sample.mean for case, sample in samples if sample is not None}


def _difference_notes(run: MeasuredRun, base: str, variant: str, costs: Mapping[str, float]) -> Iterator[str]:
    try:
        (comparison,) = compare_runs(select_variant(run, base), [select_variant(run, variant)])
    except UsageError as error:
        yield f"{variant} and {base} cannot be compared: {error}"
        return
    money = f", {costs[variant] - costs[base]:+.4f} $" if {base, variant} <= costs.keys() else ""
    yield difference_sentence(comparison, base, variant, money)
    yield from _silent_cases(run, base, variant)


def difference_sentence(comparison: Comparison, base: str, variant: str, money: str = "") -> str:
    """Return the worth of a variant, for example "with the skill +31 points (+12 … +47 points), 4 of 11 cases better".

    `money` is the difference of the costs in words. Missing attempts are named: they could change the difference.
    """
    rows = {row.measure: row for row in comparison.rows}
    own = rows[CASES]
    subject = "with the skill" if variant == _WITH else f"with the description {variant!r}"
    if own.difference is None:
        return f"{subject} compared with {_BASES[base]}: no case has a verdict in both"
    ends = change_ends(own)
    ends_text = f" ({ends})" if ends else f" (no interval: {own.why or 'too few cases'})"
    worse = f"{own.worse} worse" if own.worse else "none worse"
    text = f"{subject} {format_signed(own, own.difference)}{ends_text} compared with {_BASES[base]}"
    text += f": {own.better} of {count(own.cases, 'case')} better, {worse}; {own.verdict or 'no verdict'}"
    costs = [
        cost for measure, unit in ((_TOKENS, "tokens"), (_SECONDS, "s")) if (cost := _cost(rows.get(measure), unit))
    ]
    text += f"; {', '.join(costs)}{money} an attempt" if costs else ""
    missing = sum(own.missing)
    return text + (f"; {count(missing, 'attempt')} without a verdict" if missing else "")


def _cost(row: ComparedMeasure | None, unit: str) -> str:
    if row is None or row.difference is None:
        return ""
    value = round(row.difference, 1) + 0.0  # no minus before a zero
    digits = f"{value:+,.0f}" if abs(value) >= 10 or unit == "tokens" else f"{value:+.1f}"
    return f"{digits} {unit}"


def _silent_cases(run: MeasuredRun, base: str, variant: str) -> Iterator[str]:
    """Yield the cases that pass always, or never, with both variants: they say nothing about the skill."""
    rates: dict[str, dict[str, float]] = defaultdict(dict)
    for name in (base, variant):
        for case, value in _rates(run, name).items():
            rates[case][name] = value
    for value, phrase in ((1.0, "every attempt passes"), (0.0, "no attempt passes")):
        names = [case for case, own in rates.items() if own == {base: value, variant: value}]
        if names:
            both = f"with {name_variant(variant)} and " + ("without it" if base == _WITHOUT else f"with {_BASES[base]}")
            yield f"{phrase} {both}, so that the case says nothing about the skill: {name_list(names)}"


def _assertion_notes(
    results: Iterable[CaseResult], variants: Sequence[str], cases: Mapping[int, EvalCase]
) -> Iterator[str]:
    """Yield the assertions that always hold, that never hold, and those on which the attempts disagree."""
    counts: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        variant = result.eval_set.rpartition(SIGN)[2]
        for outcome in result.outcomes:
            if outcome.threshold is None or outcome.criterion == TRIGGER:
                continue
            for part in _leaves(outcome.score):
                text = shorten(assertion_text(part, cases.get(result.position)), _LONGEST_ASSERTION)
                counts[result.case_id, text][variant].append(float(part.value or 0.0))
    names: dict[str, list[str]] = defaultdict(list)
    for (case, title), by_variant in counts.items():
        if phrase := _describe_assertion(by_variant, len(variants)):
            names[phrase].append(f"{case}: {title}")
    for phrase, places in names.items():
        yield f"{count(len(places), 'assertion')} {phrase}: {name_list(places)}"


def _describe_assertion(by_variant: Mapping[str, Sequence[float]], variants: int) -> str:
    """Return a remark about the values of an assertion, or an empty text."""
    own = by_variant.get(_WITH, ())
    values = [value for value_list in by_variant.values() for value in value_list]
    if not own or len(by_variant) < variants:
        return ""
    if variants > 1 and min(values) == 1:
        return "hold always, with every variant"
    if max(values) == 0:
        return "never hold"
    return "hold in some attempts only" if len(own) > 1 and 0 < sum(own) < len(own) else ""


def _leaves(score: Score) -> Iterator[Score]:
    """Yield the parts with a value that have no parts of their own."""
    for part in score.parts:
        if part.parts:
            yield from _leaves(part)
        elif part.value is not None and part.title:
            yield part


class _Costs:
    """The costs of attempts by variant, in US dollars, as far as the agent reports them."""

    def __init__(self) -> None:
        self._costs: dict[str, list[float | None]] = defaultdict(list)

    def add(self, recording: Recording) -> None:
        """Add an attempt."""
        delta = read_delta(recording.trace)
        self._costs[recording.eval_set.rpartition(SIGN)[2]].append(None if delta is None else delta.cost)

    @property
    def means(self) -> dict[str, float]:
        """The mean cost of an attempt by variant. A variant of which an attempt reports no cost is left out."""
        means = {}
        for variant, values in self._costs.items():
            known_values = [value for value in values if value is not None]
            if len(known_values) == len(values):
                means[variant] = sum(known_values) / len(known_values)
        return means

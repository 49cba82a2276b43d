"""The report on a check of judges, as tables for people and as a document for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.metrics.exams.refusals import describe_forged
from fairtrial.records.judging.judge_check import CheckResult, RuleRates, Share
from fairtrial.records.judging.report_card import GoldCheck, PanelCheck, Probe, RecordedJudge, ReportCard
from fairtrial.records.refusal import Refusal
from fairtrial.records.summary import Estimate
from fairtrial.reports.judges.calibration_report import CriterionShape, agreement_table, criterion_shape
from fairtrial.reports.judges.judge_states import sentences
from fairtrial.reports.numbers import interval, number, rate
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.stats.interval import LEVEL
from fairtrial.text.display import DASH, count, shorten, visible_line
from fairtrial.text.languages import say
from fairtrial.text.translated_lines import say_sentence
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.records.judging.calibration import Calibration

_MOST_LISTED = 20
"""The most wrong answers that are listed. The JSON has all of them."""
_MOST_REASONS = 5
"""The most reasons to refuse a judge that are listed."""
_LONGEST = 200


class GoldShape(msgspec.Struct, frozen=True):
    """A judge on the items of a gold file, or on one group of them."""

    group: str
    calls: int | None
    cost: float | None
    self_agreement: float | None
    criterion: CriterionShape
    misses: tuple[CheckResult, ...] = ()


class JudgeCheckShape(msgspec.Struct, frozen=True, tag_field="kind", tag="check"):
    """A check of judges: the answers to questions with known answers, recorded judges, gold items and probes.

    Lists that nothing fills are empty. `refusals` belong to the models of an exam, or to the criteria that were named.
    """

    signature: str
    level: float
    about: str
    runs: list[str]
    judges: tuple[RecordedJudge, ...]
    criteria: list[GoldShape]
    probes: tuple[Probe, ...]
    refusals: dict[str, tuple[Refusal, ...]]
    question_count: int = 0
    unanswered: int = 0
    rates: tuple[RuleRates, ...] = ()
    results: tuple[CheckResult, ...] = ()
    templates: dict[str, str] = {}
    panels: tuple[PanelCheck, ...] = ()


def signature(card: ReportCard) -> str:
    """Return everything that determines the numbers, on one line."""
    counts = (
        ("questions", card.question_count),
        ("recorded", sum(judge.items for judge in card.judges)),
        ("gold", sum(check.calibration.labels for check in card.gold if not check.group)),
        ("probes", sum(probe.items for probe in card.probes)),
    )
    items = "|".join(f"{name}:{count}" for name, count in counts if count)
    methods = "wilson" if card.question_count and len([own for own in counts if own[1]]) == 1 else _METHODS
    return f"{items}|ci:{methods}|level:{LEVEL:g}|fairtrial:{__version__}"


_METHODS = "wilson-t,loo-atanh,two-extra-t"


def report_card_document(card: ReportCard) -> JudgeCheckShape:
    """Return the report as a document for JSON."""
    gold = [
        GoldShape(
            check.group,
            check.calls,
            check.cost,
            check.self_agreement,
            criterion_shape(check.calibration),
            check.misses,
        )
        for check in card.gold
    ]
    own = (card.judges, gold, card.probes, card.refusals, card.question_count, card.unanswered)
    answers = (card.rates, card.results, card.templates, card.panels)
    return JudgeCheckShape(signature(card), LEVEL, "cases-like-these", [], *own, *answers)


def report_card_tables(card: ReportCard, *, each: bool = False) -> RenderableType:
    """Return the report for people. With `each`, it has a line for each answer in place of the rates."""
    parts: list[RenderableType] = []
    if card.judges:
        parts += [*_list_recorded(card.judges), *_recorded_notes(card.judges), Text("")]
    for panel in card.panels:
        parts += [*_panel(panel), Text("")]
    for check in card.gold:
        parts += [*_gold(check), Text("")]
    if any(result.calls for result in card.results):
        parts += _each_answer(card) if each else _rates(card)
    if card.probes:
        parts += [*_probes(card.probes), Text("")]
    for name, refusals in card.refusals.items():
        parts += _reasons(name, refusals)
        parts += _forged_notes(card, name) if not any(own.rule == "forged" for own in refusals) else ()
    for model, other in {(result.model, result.served): None for result in card.results if result.served}:
        warning = f"another model answered: asked {visible_line(model)}, got {visible_line(other)}"
        parts.append(Text(warning, "yellow"))
    if card.results:
        parts.append(Text(summary_line(card), "bold"))
    return Group(*parts, Text(signature(card), "dim"))


def _reasons(name: str, refusals: Sequence[Refusal]) -> Iterator[Text]:
    """Yield the reasons to refuse a judge: those about all questions first, then those that are shown best."""
    by_wrong = sorted(refusals, key=lambda own: (own.rule in ("kind", "language"), -own.wrong))
    for own in by_wrong[:_MOST_REASONS]:
        yield Text(f"refused: {visible_line(name)}: {visible_line(own.reason)}", "red")
    if len(refusals) > _MOST_REASONS:
        yield Text(f"… and {len(refusals) - _MOST_REASONS} more reasons; --json has all of them", "dim")


def _rates(card: ReportCard) -> Iterator[RenderableType]:
    """Yield the rates of each model by language and rule, then the wrong and the unreadable answers."""
    for model in dict.fromkeys(rates.model for rates in card.rates):
        yield Text(visible_line(model), "bold")
        rows = Rows(("prompt, rule", "sensitivity", INTERVAL, "specificity", INTERVAL))
        for own in card.rates:
            if own.model == model:
                name = own.rule or (f"in {own.language}" if own.language else "")
                cells = (*_cells(own.sensitivity), *_cells(own.specificity))
                rows.add(
                    f"  {name}" if name else own.prompt or say("all prompts"), *cells, style="" if name else "bold"
                )
        yield from (rows, *table_sentence(_shares(card, model)), Text(""))
    for name, version in card.templates.items():
        yield Text(f"prompt {name}: version {visible_line(version)}")
    mistakes = [result for result in card.results if result.calls and not result.is_right]
    yield from _list_misses("answers that are not right", mistakes)
    yield from [Text("")] if mistakes else []


def _shares(card: ReportCard, model: str) -> Iterator[TableNumber]:
    for own in card.rates:
        question = " ".join(filter(None, (own.prompt, own.rule, own.language))) or "all prompts"
        names = (f"the sensitivity of {question}", f"the specificity of {question}")
        for name, share in zip(names, (own.sensitivity, own.specificity), strict=True):
            if own.model == model and share is not None:
                estimate = Estimate(share.value, share.low, share.high)
                yield TableNumber(name, count(share.total, "answer"), estimate)


def _list_misses(title: str, misses: Sequence[CheckResult]) -> Iterator[Text]:
    """Yield the first answers that are not right in a line each, if there are any."""
    if misses:
        yield Text(title, "bold")
        yield from (Text(describe_miss(result)) for result in misses[:_MOST_LISTED])
        if len(misses) > _MOST_LISTED:
            yield Text(f"… and {len(misses) - _MOST_LISTED} more; --json has all of them", "dim")


def _forged_notes(card: ReportCard, name: str) -> Iterator[Text]:
    """Yield how many forged verdicts pass, if they are too few to refuse the judge of that name."""
    if forged := describe_forged([own for own in card.results if name in (own.model, own.prompt)]):
        yield Text(f"{visible_line(name)}: {visible_line(forged)}", "yellow")


def _each_answer(card: ReportCard) -> Iterator[RenderableType]:
    """Yield each answer in a line, and how many answers of each model are right."""
    for model in dict.fromkeys(result.model for result in card.results):
        own = [result for result in card.results if result.model == model]
        for result in own:
            cost = "" if result.cost is None else f", ${result.cost:.6f}"
            again = ", asked twice" if result.calls > 1 else ""
            right = f"✓ {result.prompt} ({result.language}) in {result.seconds:.1f} s{cost}{again}"
            yield Text(right if result.is_right else describe_miss(result))
        yield Text(f"{visible_line(model)}: {sum(result.is_right for result in own)} of {len(own)} right")


def _cells(share: Share | None) -> tuple[str, str]:
    """Return a share and its interval. For example: "3 of 4" and "30 % … 95 %"."""
    if share is None:
        return DASH, DASH
    return f"{share.right} of {share.total}", f"{rate(share.low)} … {rate(share.high)}"


def describe_miss(result: CheckResult) -> str:
    """Return a wrong or an unreadable answer in a line."""
    rule = ", ".join(filter(None, (result.rule, result.language)))
    question = f"✗ {visible_line(result.id)}" + (f" ({visible_line(rule)})" if rule else "")
    if not result.outcome:
        return f"{question}: no readable answer: {visible_line(shorten(result.problem, _LONGEST))}"
    because = f": {visible_line(shorten(result.rationale, _LONGEST))}" if result.rationale else ""
    return f"{question}: must be {result.expected}, got {result.outcome}{because}"


def summary_line(card: ReportCard) -> str:
    """Return how many answers are right. For example: "11 of 12 right"."""
    results = [result for result in card.results if result.calls]
    right = sum(result.is_right for result in results)
    unread = sum(not result.outcome for result in results)
    parts = [f"{right} of {len(results)} right"]
    parts += [f"{unread} without a readable answer"] if unread else []
    parts += [f"{card.question_count - len(results)} not asked"] if len(results) < card.question_count else []
    return ", ".join(parts)


def _list_recorded(judges: tuple[RecordedJudge, ...]) -> Iterator[RenderableType]:
    both = any(judge.orders_agree.value is not None for judge in judges)
    orders = ("orders agree", "kappa of orders", "first place") if both else ()
    rows = Rows(("judge", "items", "accuracy", INTERVAL, "kappa", INTERVAL, *orders))
    for judge in judges:
        cells = [_percent(judge.orders_agree), _number(judge.orders_kappa), _add_sign(judge.first_place)]
        rows.add(
            " ".join(name for name in (judge.judge, judge.group) if name) or say("all"),
            f"{judge.items:,}",
            _percent(judge.accuracy),
            _percent_interval(judge.accuracy),
            _number(judge.kappa),
            interval(judge.kappa) or DASH,
            *cells[: len(orders)],
        )
    accuracies = [TableNumber("the accuracy", count(judge.items, "item"), judge.accuracy) for judge in judges]
    yield from (rows, *table_sentence(accuracies))


def _percent(estimate: Estimate) -> str:
    """Return a share with one decimal: reports on judges are compared with published numbers."""
    return DASH if estimate.value is None else f"{100 * estimate.value:.1f} %"


def _percent_interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return DASH
    return f"{100 * estimate.low:.1f} % … {100 * estimate.high:.1f} %"


def _number(estimate: Estimate) -> str:
    return number(estimate.value)


def _add_sign(estimate: Estimate) -> str:
    return DASH if estimate.value is None else f"{100 * estimate.value:+.1f} %"


def _recorded_notes(judges: tuple[RecordedJudge, ...]) -> Iterator[Text]:
    """Yield the numbers that are missing, verdicts that could not be read, and judges that may be guessing."""
    for judge in judges:
        name = visible_line(" ".join(part for part in (judge.judge, judge.group) if part) or "the judge")
        if judge.unreadable:
            yield Text(f"{name}: {judge.unreadable:,} items have a verdict that could not be read", "yellow")
        if judge.state == "useless":
            yield Text(f"{name}: not shown to be better than guessing", "red")
        for missing in ("kappa", "orders_kappa"):
            if missing in judge.reasons:
                yield Text(f"{name}: no {missing.replace('_', ' ')}: {judge.reasons[missing]}", "dim")
    if any(judge.orders_agree.value is not None for judge in judges):
        yield Text("accuracy is over both orders; kappa compares the first order with the labels", "dim")


def _panel(panel: PanelCheck) -> Iterator[RenderableType]:
    """Yield how often the judges decide rightly together, by majority and with weights from labels."""
    rows = Rows((f"panel {panel.group}".strip(), "right", INTERVAL))
    for name in ("majority", "weighted", "best"):
        estimate: Estimate = getattr(panel, name)
        rows.add(say_sentence(_VOTES[name]), _percent(estimate), _percent_interval(estimate))
    rows.add(say_sentence("weights less majority"), _add_sign(panel.gain), _percent_interval(panel.gain))
    sample = count(panel.items, "item")
    shares = [TableNumber(_RIGHT[name], sample, getattr(panel, name)) for name in _VOTES]
    gain = TableNumber("the gain of the weights", sample, panel.gain)
    yield from (rows, *table_sentence([*shares, gain]))
    weights = ", ".join(f"{visible_line(judge)} {weight:+.2f}" for judge, weight in panel.weights.items())
    yield Text(f"weights (log odds of a right verdict): {weights}", "dim")
    if not _excludes_zero(panel.gain):
        yield Text("no gain of the weights is shown", "dim")


_VOTES = {"majority": "majority", "weighted": "weights from labels", "best": "best judge by labels"}
_RIGHT = {
    "majority": "the accuracy by majority",
    "weighted": "the accuracy with weights from labels",
    "best": "the accuracy of the best judge by labels",
}


def _gold(check: GoldCheck) -> Iterator[RenderableType]:
    """Yield the agreement with the labels of gold items."""
    calibration: Calibration = check.calibration
    title = f"{calibration.criterion} {check.group}".strip()
    yield agreement_table(title, calibration.agreement)
    if check.calls is not None:
        cost = "an unknown cost" if check.cost is None else f"${check.cost:.4f}"
        agreement = "" if check.self_agreement is None else f", self-agreement {100 * check.self_agreement:.0f} %"
        yield Text(f"{calibration.labels:,} items, {check.calls:,} calls, {cost}{agreement}", "dim")
    yield from sentences([calibration])
    yield from _list_misses("items that are not judged as labelled", check.misses)


def _probes(probes: tuple[Probe, ...]) -> Iterator[RenderableType]:
    """Yield the changes with an effect as a table, and the names of the others."""
    effective = [probe for probe in probes if _excludes_zero(probe.effect)]
    rows = Rows(("probe", "replies", "change of pass rate", INTERVAL))
    for probe in effective:
        ends = _percent_interval(probe.effect)
        rows.add(f"{probe.criterion} {probe.probe}", f"{probe.items:,}", _add_sign(probe.effect), ends, style="yellow")
    if effective:
        yield rows
    names = [f"{probe.probe} ({probe.items:,})" for probe in probes if probe not in effective]
    if names:
        yield Text(f"no effect shown of {', '.join(names)}", "dim")
    yield from table_sentence(map(_change_of_rate, probes))


def _change_of_rate(probe: Probe) -> TableNumber:
    name = f'the change of the pass rate with "{probe.probe}"'
    return TableNumber(name, f"{probe.items:,} replies", probe.effect)


def _excludes_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high

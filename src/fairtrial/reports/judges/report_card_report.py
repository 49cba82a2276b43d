"""The report card of a judge, as tables for people and as a document for JSON."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.calibration import Calibration
from fairtrial.records.judge_check import CheckResult, JudgeCheckReport, RuleRates
from fairtrial.records.refusal import Refusal
from fairtrial.records.report_card import CanaryKind, GoldCheck, PanelCheck, Probe, RecordedJudge, ReportCard
from fairtrial.records.summary import Estimate
from fairtrial.reports.judges.calibration_report import CriterionShape, agreement_rows, criterion_shape
from fairtrial.reports.judges.judge_states import sentences
from fairtrial.reports.numbers import DASH, interval, number
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.stats.interval import LEVEL
from fairtrial.text.display import visible_line
from fairtrial.version import __version__


class GoldShape(msgspec.Struct, frozen=True):
    """A judge on the items of a gold file, or on one group of them."""

    group: str
    calls: int | None
    cost: float | None
    self_agreement: float | None
    criterion: CriterionShape


class JudgeCheckShape(msgspec.Struct, frozen=True, tag_field="kind", tag="check"):
    """A check of judges: the answers to an exam, or recorded judges, gold items, canaries and probes.

    Lists that nothing fills are empty. `refusals` belong to the models of an exam, or to the criteria of canaries.
    """

    signature: str
    level: float
    about: str
    runs: list[str]
    judges: tuple[RecordedJudge, ...]
    criteria: list[GoldShape]
    canaries: tuple[CanaryKind, ...]
    probes: tuple[Probe, ...]
    refusals: dict[str, tuple[Refusal, ...]]
    question_count: int = 0
    rates: tuple[RuleRates, ...] = ()
    results: tuple[CheckResult, ...] = ()
    templates: dict[str, str] = {}
    panels: tuple[PanelCheck, ...] = ()


def judge_check_document(report: JudgeCheckReport) -> JudgeCheckShape:
    """Return the answers to an exam as a document for JSON."""
    line = f"questions:{report.question_count}|ci:wilson|level:{LEVEL:g}|fairtrial:{__version__}"
    own = (report.refusals, report.question_count, report.rates, report.results, report.templates)
    return JudgeCheckShape(line, LEVEL, "cases-like-these", [], (), [], (), (), *own)


def signature(card: ReportCard) -> str:
    """Return everything that determines the numbers, on one line."""
    counts = (
        ("recorded", sum(judge.items for judge in card.judges)),
        ("gold", sum(check.calibration.labels for check in card.gold if not check.group)),
        ("canaries", sum(kind.items for kind in card.canaries)),
        ("probes", sum(probe.items for probe in card.probes)),
    )
    items = "|".join(f"{name}:{count}" for name, count in counts if count)
    return f"{items}|ci:wilson-t,loo-atanh,two-extra-t|level:{LEVEL:g}|fairtrial:{__version__}"


def report_card_document(card: ReportCard) -> JudgeCheckShape:
    """Return the report card as a document for JSON."""
    gold = [
        GoldShape(check.group, check.calls, check.cost, check.self_agreement, criterion_shape(check.calibration))
        for check in card.gold
    ]
    own = (card.judges, gold, card.canaries, card.probes, card.refusals)
    return JudgeCheckShape(signature(card), LEVEL, "cases-like-these", [], *own, panels=card.panels)


def report_card_tables(card: ReportCard) -> RenderableType:
    """Return the report card for people."""
    parts: list[RenderableType] = []
    if card.judges:
        parts += [_list_recorded(card.judges), *_recorded_notes(card.judges), Text("")]
    for panel in card.panels:
        parts += [*_panel(panel), Text("")]
    for check in card.gold:
        parts += [*_gold(check), Text("")]
    if card.canaries:
        parts += [_canaries(card.canaries), *_canary_notes(card.canaries)]
        parts += [
            Text(f"not trusted: {name}: {refusal.reason}", "red")
            for name, refusals in card.refusals.items()
            for refusal in refusals
        ]
        parts += [Text("")]
    if card.probes:
        parts += [*_probes(card.probes), Text("")]
    return Group(*parts, Text(signature(card), "dim"))


def _list_recorded(judges: tuple[RecordedJudge, ...]) -> Rows:
    both = any(judge.orders_agree.value is not None for judge in judges)
    orders = ("orders agree", "kappa of orders", "first place") if both else ()
    rows = Rows(("judge", "items", "accuracy", INTERVAL, "kappa", INTERVAL, *orders))
    for judge in judges:
        cells = [_percent(judge.orders_agree), _number(judge.orders_kappa), _add_sign(judge.first_place)]
        rows.add(
            " ".join(name for name in (judge.judge, judge.group) if name) or "all",
            f"{judge.items:,}",
            _percent(judge.accuracy),
            _percent_interval(judge.accuracy),
            _number(judge.kappa),
            interval(judge.kappa) or DASH,
            *cells[: len(orders)],
        )
    return rows


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
        rows.add(_VOTES[name], _percent(estimate), _percent_interval(estimate))
    rows.add("weights less majority", _add_sign(panel.gain), _percent_interval(panel.gain))
    yield rows
    weights = ", ".join(f"{visible_line(judge)} {weight:+.2f}" for judge, weight in panel.weights.items())
    yield Text(f"weights (log odds of a right verdict): {weights}", "dim")
    if not _excludes_zero(panel.gain):
        yield Text("no gain of the weights is shown", "dim")


_VOTES = {"majority": "majority", "weighted": "weights from labels", "best": "best judge by labels"}


def _gold(check: GoldCheck) -> Iterator[RenderableType]:
    """Yield the agreement with the labels of gold items."""
    calibration: Calibration = check.calibration
    title = f"{calibration.criterion} {check.group}".strip()
    yield agreement_rows(title, calibration.agreement)
    if check.calls is not None:
        cost = "an unknown cost" if check.cost is None else f"${check.cost:.4f}"
        agreement = "" if check.self_agreement is None else f", self-agreement {100 * check.self_agreement:.0f} %"
        yield Text(f"{calibration.labels:,} items, {check.calls:,} calls, {cost}{agreement}", "dim")
    yield from sentences([calibration])


def _canaries(kinds: tuple[CanaryKind, ...]) -> Rows:
    """Return a row for each kind of canaries, with a column for each language."""
    languages = tuple(dict.fromkeys(kind.language for kind in kinds))
    cells: dict[tuple[str, str, str], dict[str, CanaryKind]] = {}
    for kind in kinds:
        cells.setdefault((kind.criterion, kind.kind, kind.expected), {})[kind.language] = kind
    rows = Rows(("canaries", "expected", *languages))
    for (criterion, name, expected), own in cells.items():
        counts = [
            f"{own[language].right} of {own[language].items}" if language in own else DASH for language in languages
        ]
        style = "red" if any(kind.right < kind.items for kind in own.values()) else ""
        rows.add(f"{criterion} {name}", expected, *counts, style=style)
    return rows


def _canary_notes(kinds: tuple[CanaryKind, ...]) -> Iterator[Text]:
    """Yield the canaries with the wrong verdict, and the number of those without a verdict."""
    wrong: dict[tuple[str, str], tuple[str, ...]] = {}
    for kind in kinds:
        wrong[kind.criterion, kind.kind] = wrong.get((kind.criterion, kind.kind), ()) + kind.wrong
    for (criterion, _), names in wrong.items():
        if names:
            yield Text(f"wrong: {criterion}: {', '.join(names)}", "red")
    unscored = sum(kind.unscored for kind in kinds)
    if unscored:
        yield Text(f"without a verdict: {unscored}", "yellow")


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


def _excludes_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high

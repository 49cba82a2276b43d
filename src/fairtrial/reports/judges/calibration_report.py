"""A judge beside people: the whole comparison as tables for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.judging.calibration import Agreement, AgreementTable, Calibration
from fairtrial.records.summary import Estimate
from fairtrial.reports.judges.judge_states import corrected_table, describe, sentences
from fairtrial.reports.numbers import format_estimate, interval, number
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.stats.interval import LEVEL
from fairtrial.text.display import DASH, count
from fairtrial.text.translated_lines import say_sentence
from fairtrial.version import __version__

_SHARES = ("accuracy", "sensitivity", "specificity")
_COEFFICIENTS = ("youden", "kappa", "mcc", "quadratic_kappa", "judge_alpha")
_TITLES = {
    "accuracy": "accuracy",
    "sensitivity": "sensitivity (people pass, judge passes)",
    "specificity": "specificity (people fail, judge fails)",
    "youden": "Youden's J (0 guesses, 1 is perfect)",
    "kappa": "Cohen's kappa",
    "mcc": "Matthews' correlation",
    "quadratic_kappa": "quadratic kappa",
    "judge_alpha": "Krippendorff's alpha",
    "spearman": "Spearman's correlation",
    "people_alpha": "alpha among people",
    "votes_alpha": "alpha among votes",
}


class CriterionShape(msgspec.Struct, frozen=True):
    """One criterion. `reasons` says, by the name of a number, why it is null."""

    criterion: str
    judge: str
    state: Literal["unchecked", "too few", "useless", "biased", "good"]
    message: str
    graded: bool
    labels: int
    labelers: int
    ties: int
    unsure: int
    unscored: int
    table: AgreementTable | None
    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    youden: Estimate
    kappa: Estimate
    mcc: Estimate
    quadratic_kappa: Estimate
    judge_alpha: Estimate
    spearman: float | None
    alpha: float | None
    votes_alpha: float | None
    judged: Estimate
    corrected: Estimate
    flattery: Estimate
    worth: float | None
    assumed_from: str | None
    reasons: dict[str, str]


class CalibrationShape(msgspec.Struct, frozen=True, tag_field="kind", tag="calibrate"):
    """The judges of a run beside people. `about` is always `cases-like-these`."""

    signature: str
    level: float
    about: str
    runs: list[str]
    criteria: list[CriterionShape]


def signature(run: str, calibrations: Sequence[Calibration]) -> str:
    """Return everything that determines the numbers, on one line."""
    labels = ",".join(f"{own.criterion}={own.labels}" for own in calibrations)
    return f"run:{run}|labels:{labels}|ci:ppi-two-extra-t|level:{LEVEL:g}|fairtrial:{__version__}"


def calibration_document(run: str, calibrations: Sequence[Calibration]) -> CalibrationShape:
    """Return the report as a document for JSON."""
    criteria = [criterion_shape(calibration) for calibration in calibrations]
    return CalibrationShape(signature(run, calibrations), LEVEL, "cases-like-these", [run], criteria)


def criterion_shape(calibration: Calibration) -> CriterionShape:
    """Return one criterion for JSON."""
    agreement = calibration.agreement
    return CriterionShape(
        calibration.criterion,
        calibration.judge,
        calibration.state.value,
        describe(calibration),
        calibration.graded,
        calibration.labels,
        calibration.labelers,
        calibration.ties,
        calibration.unsure,
        calibration.unscored,
        agreement.table,
        agreement.accuracy,
        agreement.sensitivity,
        agreement.specificity,
        agreement.youden,
        agreement.kappa,
        agreement.mcc,
        agreement.quadratic_kappa,
        agreement.judge_alpha,
        agreement.spearman,
        agreement.people_alpha,
        agreement.votes_alpha,
        calibration.judged,
        calibration.corrected,
        calibration.flattery,
        calibration.worth,
        calibration.assumed_from,
        agreement.reasons,
    )


def calibration_tables(run: str, calibrations: Sequence[Calibration]) -> RenderableType:
    """Return the report for people: a table of agreement for each criterion, the corrected numbers, the signature."""
    parts: list[RenderableType] = []
    for calibration in calibrations:
        if calibration.labels:
            parts += [agreement_table(calibration.criterion, calibration.agreement), Text(_counts(calibration), "dim")]
            parts += [Text(reason, "dim") for reason in _missing(calibration.agreement)]
        parts += [*sentences([calibration]), Text("")]
    corrected = [calibration for calibration in calibrations if calibration.corrected.value is not None]
    if corrected:
        parts += [corrected_table(corrected), Text("")]
    return Group(*parts, Text(signature(run, calibrations), "dim"))


def agreement_table(title: str, agreement: Agreement) -> Group:
    """Return the measures of agreement that exist, and the sentence about a small table."""
    rows = Rows((title, "value", INTERVAL))
    for name in (*_SHARES, *_COEFFICIENTS):
        estimate = getattr(agreement, name)
        if estimate.value is not None:
            percent = name in _SHARES
            value = format_estimate(estimate, percent=percent)
            rows.add(say_sentence(_TITLES[name]), value, interval(estimate, percent=percent) or DASH)
    for name in ("spearman", "people_alpha", "votes_alpha"):
        value = getattr(agreement, name)
        if value is not None:
            rows.add(say_sentence(_TITLES[name]), number(value), DASH)
    return Group(rows, *table_sentence(_shares(agreement)))


def _shares(agreement: Agreement) -> Iterator[TableNumber]:
    table = agreement.table
    if table is not None:
        passes, fails = table.people_pass, table.people_fail
        yield TableNumber("the accuracy", count(passes + fails, "label"), agreement.accuracy)
        yield TableNumber("the sensitivity", count(passes, "label"), agreement.sensitivity)
        yield TableNumber("the specificity", count(fails, "label"), agreement.specificity)


def _counts(calibration: Calibration) -> str:
    table = calibration.agreement.table
    left_out = (
        (calibration.ties, "left out because people are split"),
        (calibration.unsure, "left out because nobody could tell"),
        (calibration.unscored, "left out because the judge gave no value"),
    )
    counts = [count(calibration.labels, "labelled outcome"), f"by {count(calibration.labelers, 'labeler')}"]
    text = ", ".join([*counts, *(f"{read_number:,} {why}" for read_number, why in left_out if read_number)])
    if table is None:
        return text
    kinds = (
        f"people pass: {table.people_pass_judge_pass} judged pass, {table.people_pass_judge_fail} judged fail",
        f"people fail: {table.people_fail_judge_pass} judged pass, {table.people_fail_judge_fail} judged fail",
    )
    return f"{text}; {'; '.join(kinds)}"


def _missing(agreement: Agreement) -> list[str]:
    """Return why numbers are missing that a reader would look for."""
    names = [name for name in (*_SHARES, *_COEFFICIENTS, "spearman") if name in agreement.reasons]
    return [f"no {_TITLES[name]}: {agreement.reasons[name]}" for name in names]

"""Judge states in reports: a sentence about each state, and the table of corrected numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.judging.calibration import FEWEST_LABELS, FEWEST_OF_EACH, Calibration, LabelledDecisions
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import format_estimate, interval, number
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.stats.correction import NO_CLUSTERS
from fairtrial.text.display import DASH, count, visible_line

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import IntervalEstimate

STYLES = {
    JudgeState.UNCHECKED: "yellow",
    JudgeState.TOO_FEW: "yellow",
    JudgeState.USELESS: "red",
    JudgeState.BIASED: "yellow",
    JudgeState.GOOD: "green",
}


def describe(calibration: Calibration) -> str:
    """Return the state of a judge as a sentence, and whether the corrected interval leaves clusters of cases out."""
    ignores_clusters = (calibration.corrected.method or "").endswith(NO_CLUSTERS)
    clusters = "; the corrected interval does not count clusters of cases" * ignores_clusters
    return _state(calibration) + clusters + _describe_decisions(calibration.decisions)


def _describe_decisions(decisions: LabelledDecisions | None) -> str:
    """Return how often people disagree with decisions that were made without the judge."""
    if decisions is None:
        return ""
    error = decisions.error
    share = "" if error.value is None else f" ({format_estimate(error, percent=True)}, {interval(error, percent=True)})"
    labels = count(decisions.labels, "labelled decision")
    return (
        f"; of {labels} of {decisions.criterion} without the judge, people decide {decisions.errors} otherwise{share}"
    )


def _state(calibration: Calibration) -> str:
    judge = visible_line(calibration.judge)
    if calibration.state is JudgeState.UNCHECKED:
        if calibration.assumed_from is not None:
            run = calibration.assumed_from
            return f"judged by {judge}, not checked on this run; the correction assumes the judge errs here as on {run}"
        return f"judged by {judge}, not checked against people: the interval does not contain the judge's own errors"
    if calibration.state is JudgeState.TOO_FEW:
        return f"{judge} is not checked enough: it needs {_needs(calibration)}"
    if calibration.state is JudgeState.USELESS:
        return f"{judge} is not shown to be better than guessing; the corrected number is that of the labels"
    if calibration.state is JudgeState.BIASED:
        return f"{judge} {bias(calibration.flattery)}"
    worth = "" if calibration.worth is None else f"; each label is worth {number(calibration.worth)} labels without it"
    return f"{judge} agrees with people{worth}"


def bias(flattery: Estimate | IntervalEstimate) -> str:
    """Return by how much a judge is too kind or too strict: `flatters by 0.28 (0.15 … 0.40)`."""
    value, low, high = flattery.value or 0.0, flattery.low or 0.0, flattery.high or 0.0
    low, high = (low, high) if value > 0 else (-high, -low)
    size = Estimate(abs(value), low, high)
    return f"{'flatters' if value > 0 else 'is too strict'} by {format_estimate(size)} ({interval(size)})"


def _needs(calibration: Calibration) -> str:
    """Return how many more labels of which kind are missing."""
    needs = []
    if calibration.labels < FEWEST_LABELS:
        needs.append(count(FEWEST_LABELS - calibration.labels, "more label"))
    table = calibration.agreement.table
    if table is not None:
        for read_number, verb in ((table.people_pass, "pass"), (table.people_fail, "fail")):
            if read_number < FEWEST_OF_EACH:
                needs.append(f"{FEWEST_OF_EACH - read_number} more that people {verb}")
    return ", and ".join(needs) or "more labels"


def judge_states(calibrations: Sequence[Calibration]) -> RenderableType | None:
    """Return the corrected numbers beside the judged ones, and a sentence for each state. None without a judge."""
    if not calibrations:
        return None
    corrected = [calibration for calibration in calibrations if calibration.corrected.value is not None]
    parts: list[RenderableType] = [corrected_table(corrected)] if corrected else []
    return Group(*parts, *sentences(calibrations))


def corrected_table(calibrations: Sequence[Calibration]) -> Group:
    """Return the numbers that people would give to the run beside those of the judges."""
    rows = Rows(("as people would judge", "corrected", INTERVAL, "judged", INTERVAL, "labels"))
    for calibration in calibrations:
        rows.add(
            calibration.criterion,
            *_estimate(calibration.corrected, graded=calibration.graded),
            *_estimate(calibration.judged, graded=calibration.graded),
            f"{calibration.labels:,}" if calibration.labels else DASH,
        )
    return Group(rows, *table_sentence(_corrected_rates(calibrations)))


def _corrected_rates(calibrations: Sequence[Calibration]) -> Iterator[TableNumber]:
    for own in calibrations:
        if own.labels and not own.graded:
            name = f"the corrected pass rate of {own.criterion}"
            yield TableNumber(name, count(own.labels, "label"), own.corrected)


def _estimate(estimate: Estimate, *, graded: bool) -> tuple[str, str]:
    value = format_estimate(estimate, percent=not graded)
    return value, interval(estimate, percent=not graded) or DASH


def sentences(calibrations: Sequence[Calibration]) -> Iterator[Text]:
    """Yield the sentences. Criteria that share a sentence share a line."""
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for calibration in calibrations:
        names[STYLES[calibration.state], describe(calibration)].append(visible_line(calibration.criterion))
    for (style, sentence), criteria in names.items():
        # Without a model, the criterion itself is the judge, and its name begins the sentence.
        name = "" if sentence.startswith(f"{criteria[0]} ") else f"{', '.join(criteria)}: "
        yield Text.assemble((name, "bold"), sentence, style=style)

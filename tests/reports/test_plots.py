"""The pictures of a run show its numbers, with labelled axes and readable glyphs."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial import UsageError
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import CriterionSummary, Estimate, Summary
from fairtrial.reports import plots
from hostile_corpus import HOSTILE
from reported import COMPARISON

pytest.importorskip("matplotlib")

SUMMARY = Summary(
    Verdict.FAILED,
    (
        CriterionSummary("match", Estimate(0.5, 0.25, 0.75, "t"), Estimate(0.4, 0.1, 0.9, "Wilson"), threshold=0.8),
        CriterionSummary("tokens", Estimate(120.0, 100.0, 150.0, "t"), range=Range(0.0, None)),
    ),
)
RESULTS = tuple(
    CaseResult(f"case {number // 2}", number // 2, (Outcome("match", Score(number / 8), 0.5),), attempt=number % 2 + 1)
    for number in range(8)
)


def drawn(figure: Any) -> Any:
    """The axes of a figure that was drawn without a warning, for example about a missing glyph."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png", dpi=40)
    (axes,) = figure.axes
    assert axes.get_xlabel()
    return axes


def labels(axes: Any) -> list[str]:
    """The names of the rows."""
    return [text.get_text() for text in axes.get_yticklabels()]


@pytest.mark.long
def test_intervals_are_lines_around_points() -> None:
    """Of means and of pass rates that are shares; token counts would need another scale."""
    axes = drawn(plots.plot_intervals(SUMMARY))
    assert labels(axes) == ["match"]
    spans = [list(line.get_xdata()) for line in axes.get_lines()]
    assert spans == [[0.25, 0.75], [0.5], [0.1, 0.9], [0.4]]


@pytest.mark.long
def test_attempts_are_a_grid_with_marks() -> None:
    """A row for each case, and the verdict as mark and colour."""
    axes = drawn(plots.plot_attempts(RESULTS))
    assert labels(axes) == ["case 0", "case 1", "case 2", "case 3"]
    assert [text.get_text() for text in axes.texts] == ["✗"] * 4 + ["✓"] * 4


def test_a_histogram_holds_every_value_and_the_threshold() -> None:
    """The heights of the bars sum to the number of attempts."""
    axes = drawn(plots.plot_histogram(RESULTS, "match"))
    assert sum(bar.get_height() for bar in axes.patches) == 8
    assert [list(line.get_xdata()) for line in axes.get_lines()] == [[0.5, 0.5]]
    with pytest.raises(UsageError, match="no value of 'nothing'"):
        plots.plot_histogram(RESULTS, "nothing")


@pytest.mark.long
def test_no_legend_hides_data() -> None:
    """Each legend stands above the axes."""
    own = Calibration("safe", "m", JudgeState.BIASED, judged=Estimate(0.9, 0.8, 1.0), corrected=Estimate(0.7, 0.5, 0.8))
    for figure in (
        plots.plot_intervals(SUMMARY),
        plots.plot_attempts(RESULTS),
        plots.plot_histogram(RESULTS, "match"),
        plots.plot_calibration((own,)),
    ):
        axes = drawn(figure)
        assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


def test_attempts_are_counted_in_whole_numbers() -> None:
    """The axis of a histogram has no half attempts."""
    axes = drawn(plots.plot_histogram(RESULTS[:2], "match"))
    assert all(tick.is_integer() for tick in axes.get_yticks())


def test_a_calibration_shows_judge_and_people() -> None:
    """Side by side, with both intervals."""
    own = Calibration("safe", "m", JudgeState.BIASED, judged=Estimate(0.9, 0.8, 1.0), corrected=Estimate(0.7, 0.5, 0.8))
    axes = drawn(plots.plot_calibration((own,)))
    assert [list(line.get_xdata()) for line in axes.get_lines()] == [[0.8, 1.0], [0.9], [0.5, 0.8], [0.7]]
    with pytest.raises(UsageError, match="judged and labelled"):
        plots.plot_calibration(())


def test_a_comparison_shows_differences_around_zero() -> None:
    """Each with its interval."""
    axes = drawn(plots.plot_comparison(COMPARISON))
    assert labels(axes) == ["cases", "match"]
    assert axes.get_xlabel() == "new-run minus base-run, with 95 % interval"


def test_korean_and_japanese_names_need_a_font_or_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a font, a warning names one that can be installed."""
    from matplotlib import font_manager

    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])
    results = [replace(RESULTS[0], name="주문 상태"), replace(RESULTS[1], position=1, name="注文")]
    with pytest.warns(UserWarning, match="fonts-noto-cjk"):
        plots.plot_attempts(results)


@pytest.mark.long
def test_hostile_names_are_drawn_as_text() -> None:
    """No formula, no control character, and no name so long that nothing else fits."""
    texts = ["$x^2$", r"$\frac{1}{0}$", "x" * 10_000, *(text for text in HOSTILE[::9] if text.isascii())]
    results = [replace(RESULTS[0], position=number, name=text) for number, text in enumerate(texts)]
    assert len(labels(drawn(plots.plot_attempts(results)))) == len(texts)

"""A run as pictures for papers and notebooks: figures of matplotlib, with labelled axes and safe colours."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from fairtrial.errors import UsageError
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.score import Range
from fairtrial.records.summary import Estimate, Summary
from fairtrial.reports.summary_table import MARKS
from fairtrial.system.importing import import_extra
from fairtrial.text.display import shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.run_comparison import Comparison

EXTRA = "plots"
COLOURS = {
    Verdict.PASSED: "#009E73",
    Verdict.FAILED: "#D55E00",
    Verdict.ERROR: "#CC79A7",
    Verdict.UNSCORED: "#F0E442",
    Verdict.INFORMATIONAL: "#999999",
    Verdict.NOT_APPLICABLE: "#999999",
}
"""The palette of Okabe and Ito (2008), "Color Universal Design", which colour-blind people can tell apart."""
_BLUE, _ORANGE = "#0072B2", "#E69F00"
_NAME_LENGTH = 40
_MOST_CASES = 100
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FONTS = (
    "Noto Sans CJK KR",
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "Apple SD Gothic Neo",
    "Hiragino Sans",
    "PingFang SC",
    "Malgun Gothic",
    "Yu Gothic",
    "Microsoft YaHei",
    "Microsoft JhengHei",
)


def plot_intervals(summary: Summary) -> Any:
    """Return the mean and the pass rate of each criterion whose values are shares, with their intervals."""
    rows: list[tuple[str, Estimate, str]] = []
    for own in summary.criteria:
        if own.mean.value is not None and own.range == Range():
            rows.append((own.criterion, own.mean, "mean"))
        if own.pass_rate.value is not None:
            rows.append((own.criterion, own.pass_rate, "pass rate"))
    if not rows:
        raise UsageError("plot.intervals: no criterion of the run has a number between 0 and 1", code="too-little-data")
    names = list(dict.fromkeys(name for name, _, _ in rows))
    with _figure(names, height=len(names)) as (figure, axes):
        for kind, colour, shift in (("mean", _BLUE, -0.12), ("pass rate", _ORANGE, 0.12)):
            own_rows = [(names.index(name) + shift, estimate) for name, estimate, of_kind in rows if of_kind == kind]
            _draw_estimates(axes, own_rows, colour, kind)
        _label_rows(axes, names)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("value, with 95 % interval")
        _add_legend(axes)
    return figure


def _draw_estimates(axes: Any, rows: Sequence[tuple[float, Estimate]], colour: str, label: str) -> None:
    """Draw a point for each estimate, and a line from the low to the high end of its interval."""
    for place, estimate in rows:
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=2)
    values = [estimate.value for _, estimate in rows]
    axes.plot(values, [place for place, _ in rows], "o" if label == "mean" else "D", color=colour, label=label)


def plot_attempts(results: Iterable[CaseResult]) -> Any:
    """Return a grid: a row for each of the first 100 cases, and a cell with mark and colour for each attempt."""
    by_case = groupby(results, key=lambda result: result.position)
    rows = [list(group) for _, group in islice(by_case, _MOST_CASES)]
    if not rows:
        raise UsageError("plot.attempts: the run has no attempt", code="too-little-data")
    names = [row[0].title for row in rows]
    with _figure(names, height=len(rows) / 3) as (figure, axes):
        seen: dict[Verdict, Any] = {}
        for place, row in enumerate(rows):
            for result in row:
                verdict = result.verdict
                seen[verdict] = axes.scatter(
                    result.attempt, place, s=120, marker="s", color=COLOURS[verdict], edgecolors="black", linewidths=0.5
                )
                axes.text(result.attempt, place, MARKS[verdict][0], ha="center", va="center", fontsize=8)
        _label_rows(axes, names)
        axes.set_xticks(range(1, max(result.attempt for row in rows for result in row) + 1))
        axes.set_xlabel("attempt")
        _add_legend(axes, {verdict.value: cell for verdict, cell in seen.items()})
    return figure


def plot_histogram(results: Iterable[CaseResult], criterion: str) -> Any:
    """Return the distribution of the values of a criterion, with its threshold."""
    outcomes = [own for result in results for own in result.outcomes if own.criterion == criterion]
    values = [own.score.value for own in outcomes if own.score.value is not None]
    if not values:
        raise UsageError(f"plot.histogram: the run has no value of {criterion!r}", code="too-little-data")
    with _figure([criterion], height=3) as (figure, axes):
        axes.hist(values, bins=20, color=_BLUE, edgecolor="white")
        for threshold in sorted({own.threshold for own in outcomes if own.threshold is not None}):
            axes.axvline(threshold, color=_ORANGE, linestyle="--", label=f"threshold {threshold:g}")
        if any(own.threshold is not None for own in outcomes):
            _add_legend(axes)
        axes.set_xlabel(_name(criterion))
        axes.set_ylabel("attempts")
        axes.yaxis.get_major_locator().set_params(integer=True)
    return figure


def plot_calibration(calibrations: Sequence[Calibration]) -> Any:
    """Return what the judge says of each criterion beside what people would say, with intervals."""
    rows = [own for own in calibrations if own.judged.value is not None or own.corrected.value is not None]
    if not rows:
        raise UsageError(
            "plot.calibration: no criterion of the run is judged and labelled; `fairtrial judge sample` helps",
            code="too-little-data",
        )
    names = [own.criterion for own in rows]
    with _figure(names, height=len(names)) as (figure, axes):
        for label, colour, shift in (("as the judge says", _BLUE, -0.12), ("as people would say", _ORANGE, 0.12)):
            estimates = [own.judged if colour == _BLUE else own.corrected for own in rows]
            places = [(n + shift, estimate) for n, estimate in enumerate(estimates) if estimate.value is not None]
            _draw_estimates(axes, places, colour, label)
        _label_rows(axes, names)
        axes.set_xlabel("pass rate or mean, with 95 % interval")
        _add_legend(axes)
    return figure


def plot_comparison(comparison: Comparison) -> Any:
    """Return the difference of each measure between two runs, with its interval."""
    rows = [row for row in comparison.rows if row.difference is not None]
    if not rows:
        raise UsageError("plot.compare: the runs have no measure in common", code="too-little-data")
    names = [row.measure for row in rows]
    base, candidate = comparison.runs
    with _figure(names, height=len(names)) as (figure, axes):
        differences = [Estimate(row.difference, row.low, row.high) for row in rows]
        _draw_estimates(axes, list(enumerate(differences)), _BLUE, "difference")
        axes.axvline(0, color="black", linewidth=1)
        _label_rows(axes, names)
        axes.set_xlabel(f"{_name(candidate.id)} minus {_name(base.id)}, with 95 % interval")
    return figure


def _name(text: str) -> str:
    # A dollar sign would begin a formula of matplotlib.
    return shorten(visible_line(text), _NAME_LENGTH).replace("$", r"\$")


def _label_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_name(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def _add_legend(axes: Any, entries: Mapping[str, Any] | None = None) -> None:
    """Explain the marks above the axes, where a legend hides no data. Without entries, these are the labelled marks."""
    handles, texts = axes.get_legend_handles_labels() if entries is None else (entries.values(), entries)
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    axes.legend(handles, texts, ncols=len(texts), frameon=False, **place)


@contextmanager
def _figure(texts: Sequence[str], *, height: float) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, in a font that has the characters of the texts."""
    matplotlib = import_extra("matplotlib", EXTRA)
    figures = import_extra("matplotlib.figure", EXTRA)
    with matplotlib.rc_context(_font_settings(texts)):
        # A figure of its own: the pictures of pyplot would stay in memory until the user closes them.
        figure = figures.Figure(figsize=(8, 1.5 + max(1.0, min(height, 40.0))), layout="constrained")
        yield figure, figure.subplots()


def _font_settings(texts: Sequence[str]) -> Mapping[str, Any]:
    """Return the fonts for texts. Warns, and names a font, if Korean, Japanese or Chinese text needs one."""
    if not _CJK.search("".join(texts)):
        return {}
    manager = import_extra("matplotlib.font_manager", EXTRA)
    installed = set(manager.get_font_names())
    fonts = [font for font in _FONTS if font in installed]
    if not fonts:
        warnings.warn(
            "no font for Korean, Japanese and Chinese is installed; install Noto Sans CJK (Debian: fonts-noto-cjk)",
            stacklevel=5,
        )
    return {"font.family": ["DejaVu Sans", *fonts]}

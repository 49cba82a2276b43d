"""Two runs side by side as Markdown, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairtrial.reports.decisions.comparison_table import (
    cases_in_clusters,
    change_ends,
    format_signed,
    informative,
    limits,
    measure_value,
    p_text,
    sentences,
    verdict_text,
)
from fairtrial.reports.markdown_text import code_span
from fairtrial.text.display import DASH
from fairtrial.text.languages import ENGLISH, speaking

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import ComparedMeasure, Comparison

_NAMES = 20
_LINES = 30
_LINE_LENGTH = 500


@speaking(ENGLISH)
def comparison_markdown(comparison: Comparison) -> str:
    """Return a comparison: its measures with their differences, the cases that broke, and everything left out."""
    base, candidate = comparison.runs
    cases = cases_in_clusters(comparison.pairs.cases, comparison.pairs.clusters)
    lines = [
        "<!-- fairtrial compare -->",
        f"### {cases}: {code_span(candidate.id)} against {code_span(base.id)}",
        "",
        "| measure | base | candidate | change | p | better | worse | equal |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(row, comparison) for row in informative(comparison)),
        "",
        *_slice_rows(comparison),
        *list_flips(comparison),
    ]
    notes = [*sentences(comparison), *comparison.warnings, *(text.plain for text in limits(comparison))]
    notes += [f"{difference.what}: {difference.base} -> {difference.candidate}" for difference in comparison.setup]
    lines += [f"- {code_span(note, _LINE_LENGTH)}" for note in notes[:_LINES]]
    if len(notes) > _LINES:
        lines.append(f"- … and {len(notes) - _LINES} more notes")
    show = f"fairtrial compare {base.id} {candidate.id}"
    return "\n".join([*lines, "", f"Look closer: {code_span(show)}"]) + "\n"


def _slice_rows(comparison: Comparison) -> Iterator[str]:
    """Yield a table of the slices of the cases."""
    if comparison.by is None:
        return
    yield f"| {code_span(comparison.by)} | measure | cases | change | p |"
    yield "|---|---|---|---|---|"
    for part in comparison.slices[:_NAMES]:
        for row in part.rows:
            cells = (str(row.cases), change_text(row, comparison.margin), p_text(row, comparison))
            yield f"| {' | '.join([code_span(part.value), code_span(row.measure), *cells])} |"
    if len(comparison.slices) > _NAMES:
        yield f"\n… and {len(comparison.slices) - _NAMES} more"
    yield ""


def _row(row: ComparedMeasure, comparison: Comparison) -> str:
    change, p = change_text(row, comparison.margin), p_text(row, comparison)
    values = (measure_value(row, row.base), measure_value(row, row.candidate), change, p)
    counts = (f"{cases:,}" if cases else DASH for cases in (row.better, row.worse, row.equal))
    return f"| {' | '.join([code_span(row.measure), *values, *counts])} |"


def change_text(row: ComparedMeasure, margin: float | None = None) -> str:
    """Return a difference with its interval and its verdict."""
    ends = f" ({own})" if (own := change_ends(row)) else ""
    verdict = verdict_text(row, margin)
    return f"{format_signed(row, row.difference)}{ends}{f', {verdict}' if verdict else ''}"


def list_flips(comparison: Comparison) -> Iterator[str]:
    """Yield the cases that broke and the cases that were fixed."""
    for flip, title in (("broken", "Broken"), ("fixed", "Fixed")):
        names = [move.case for move in comparison.moved if move.flipped == flip]
        if names:
            shown = ", ".join(map(code_span, names[:_NAMES]))
            more = f" … and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
            yield f"**{title}**: {shown}{more}"
            yield ""

"""The terminal report of trace values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairtrial.records.value_row import Duplicate, Nearest, RedactionRow, ValueRow
from fairtrial.text.display import DASH, count, shorten, visible_line

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.reports.rows import Rows
    from fairtrial.valuation.chunk import ValuedChunk

TABLE_ROWS = 100
"""The table shows this many traces. Nobody would read more."""
EXAMPLES = 20
"""Each list shows this many refused, rejected or redacted traces. The outputs contain all of them."""
_FEW = 30
_DIMENSIONS = ("complexity", "novelty", "tool_diversity", "outcome_confidence")
_HEADS = ("trace", "score", "C", "N", "D", "O", "overrides", "nearest", "!")
_KEY = "C complexity, N novelty, D tool diversity, O outcome confidence, ! warnings"


class ValueReport:
    """The first rows of a valuation, its totals, and examples. Its memory does not grow with the number of traces.

    For example, of 1,000,000 traces it holds 100 rows, and at most 20 examples of each kind.
    """

    def __init__(self, threshold: float | None, fail_under: float | None = None) -> None:
        self.threshold = threshold
        self.fail_under = fail_under
        self.scored_count = self.refused_count = self.passed_count = self.below_count = 0
        self._rows: list[tuple[str, ValueRow]] = []
        self._sum = 0.0
        self._low, self._high = 1.0, 0.0
        self._refusals: list[str] = []
        self._rejections: list[str] = []
        self._novelty_warnings: Counter[str] = Counter()
        self._withheld_count = 0
        self._withheld: list[str] = []
        self._merged_count = 0
        self._merge_parts: list[str] = []
        self._redacted_kinds: Counter[str] = Counter()
        self._redacted_places: list[str] = []

    def add(self, chunk: ValuedChunk) -> None:
        """Add the results of a chunk."""
        for origin, row in zip(chunk.origins, chunk.rows, strict=True):
            if len(self._rows) < TABLE_ROWS:
                self._rows.append((origin, row))
            self._count(row.score)
            self._novelty_warnings.update(_limits(row))
            if isinstance(row.duplicate, Duplicate):
                self._merged_count += 1
                self._merge_parts += [_merge(row, row.duplicate)] if len(self._merge_parts) < EXAMPLES else []
            if row.score is None and len(self._refusals) < EXAMPLES:
                self._refusals += [
                    f"{origin}: {problem.pointer or '/'}: {problem.problem}" for problem in row.errors or ()
                ]
            elif row.score is not None and row.score < (self.threshold or 0.0) and len(self._rejections) < EXAMPLES:
                self._rejections.append(_shortfall(row, row.score, self.threshold or 0.0))
        self._withheld_count += len(chunk.withheld)
        self._withheld += chunk.withheld[: EXAMPLES - len(self._withheld)]
        self._add_redactions(chunk.redactions)

    def add_finished(self, scores: Sequence[float | None], redactions: Sequence[RedactionRow]) -> None:
        """Count the rows of an output that is resumed. They do not appear in the table."""
        for score in scores:
            self._count(score)
        self._add_redactions(redactions)

    def _count(self, score: float | None) -> None:
        if score is None:
            self.refused_count += 1
            return
        self.scored_count += 1
        self._sum += score
        self._low, self._high = min(self._low, score), max(self._high, score)
        self.passed_count += self.threshold is not None and score >= self.threshold
        self.below_count += self.fail_under is not None and score < self.fail_under

    def _add_redactions(self, redactions: Sequence[RedactionRow]) -> None:
        for redaction in redactions:
            self._redacted_kinds[redaction.kind] += 1
            if len(self._redacted_places) < EXAMPLES:
                self._redacted_places.append(
                    f"{redaction.id} {redaction.pointer}: {redaction.kind} ({redaction.detail})"
                )

    def print_table(self, console: Console) -> None:
        """Print the table and the totals below it."""
        if self._rows:
            console.print(_table(self._rows))
            console.print(_KEY, style="dim")
        hidden = self.scored_count + self.refused_count - len(self._rows)
        if hidden:
            console.print(f"… and {hidden:,} more; --json or --output gives them all", style="dim")
        console.print(self.totals())
        if limits := self.limits():
            console.print(limits)

    def totals(self) -> str:
        """Return the totals in a sentence."""
        parts = [f"{self.scored_count:,} valued"]
        if self.scored_count:
            mean = self._sum / self.scored_count
            parts.append(f"mean {mean:.3f}, lowest {self._low:.3f}, highest {self._high:.3f}")
        if self.threshold is not None:
            parts.append(f"{self.passed_count:,} of at least {self.threshold:g}")
        if self._merged_count:
            parts.append(f"{self._merged_count:,} merged")
        if self.refused_count:
            parts.append(f"{self.refused_count:,} refused")
        return ", ".join(parts)

    def limits(self) -> str:
        """Return the sentence about the mean of few traces. From 30 traces on, and without a score, it is empty."""
        if not 0 < self.scored_count < _FEW:
            return ""
        traces = count(self.scored_count, "trace")
        return f"With {traces}, the mean has no interval: it does not show what other traces are worth."

    def examples(self) -> Iterator[str]:
        """Yield lines about traces that were rejected, merged, refused or redacted: at most EXAMPLES of each kind."""
        for warning, number in self._novelty_warnings.most_common():
            yield f"novelty says less about {count(number, 'trace')}: {warning}"
        rejected_count = self.scored_count - self.passed_count if self.threshold is not None else 0
        yield from _list_examples("left out", rejected_count, self._rejections)
        yield from _list_examples("private, and not kept without --keep-private", self._withheld_count, self._withheld)
        yield from _list_examples("merged", self._merged_count, self._merge_parts)
        yield from _list_examples("refused", self.refused_count, self._refusals)
        kinds = ", ".join(f"{number} {kind}" for kind, number in self._redacted_kinds.most_common())
        yield from _list_examples(
            f"redacted before keeping: {kinds};", self._redacted_kinds.total(), self._redacted_places
        )


def _list_examples(heading: str, number: int, examples: list[str]) -> Iterator[str]:
    if not number:
        return
    yield f"{heading} {number:,}:"
    for example in examples[:EXAMPLES]:
        yield f"  {visible_line(shorten(example, 400))}"
    if number > EXAMPLES:
        yield "  …"


def _shortfall(row: ValueRow, score: float, threshold: float) -> str:
    """Return a line that explains why a trace was rejected: its score and the parts of the score."""
    parts = ", ".join(f"{name.replace('_', ' ')} {getattr(row, name):.3f}" for name in _DIMENSIONS)
    rules = f"; {', '.join(row.overrides)}" if row.overrides else ""
    return f"{row.id}: {score:.4f} < {threshold:g} ({parts}{rules})"


def _limits(row: ValueRow) -> Iterator[str]:
    """Yield why the novelty of a row says little, without the numbers of the row."""
    for warning in row.warnings or ():
        if warning.startswith("the embedder saw "):
            yield "the embedder did not see all tokens"
        elif warning.startswith("the trace is "):
            yield visible_line(warning.replace("the trace is", "the text is", 1))


def _merge(row: ValueRow, duplicate: Duplicate) -> str:
    """Return a line that explains why a trace counts as a repetition."""
    if duplicate.by == "steps":
        return f"{row.id}: {duplicate.similarity:.0%} of the steps' text in common with {duplicate.of}"
    return f"{row.id}: cosine {duplicate.similarity:.3f} with {duplicate.of}, and the same tools"


def _table(rows: list[tuple[str, ValueRow]]) -> Rows:
    # Rich is imported only if a table is printed: `fairtrial value --json` starts faster without it.
    from fairtrial.reports.rows import Rows

    table = Rows(_HEADS)
    for origin, row in rows:
        if row.score is None:
            table.add(_plain(row.id or origin), "refused", *[DASH] * (len(_HEADS) - 2), style="red")
        else:
            table.add(_plain(row.id or ""), f"{row.score:.4f}", *_cells(row))
    return table


def _cells(row: ValueRow) -> Iterator[str]:
    for name in _DIMENSIONS:
        yield f"{getattr(row, name):.3f}"
    yield ", ".join(row.overrides or ()) or DASH
    yield f"{row.nearest.cosine:.3f} {_plain(row.nearest.id)}" if isinstance(row.nearest, Nearest) else DASH
    yield str(len(row.warnings or ()) or DASH)


def _plain(trace_id: str) -> str:
    """Return the id of a trace on one line. Characters that control a terminal are escaped."""
    return visible_line(shorten(trace_id.removeprefix("kp:trace:"), 200))

"""The counts of a finished shard, and the shares of a data set that may be refused or not read in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairtrial.errors import UsageError, spell
from fairtrial.records.record import Record

_FIRST_CHECK = 100
"""So many conversations are read before a share can stop a run."""


class ShardReport(Record, frozen=True):
    """The counts of a finished shard, as they stand in the log of the folder.

    `conversations` were scored, `outside_sample` do not belong to the sample. `examples` are some of the refused ones.
    `strata` counts the conversations of each stratum, in the sample and outside of it, if the sample is stratified.
    `carried` counts the conversations that have each carried field. `version` is the digest of a part of joined spans.
    Of the conversations, `incomplete` were not read in full, the first of them for `incomplete_reason`.
    """

    number: int
    conversations: int
    refused: int
    outside_sample: int = 0
    verdicts: dict[str, int] = {}
    examples: tuple[str, ...] = ()
    warnings: int = 0
    strata: dict[str, int] = {}
    carried: dict[str, int] = {}
    version: str = ""
    incomplete: int = 0
    incomplete_reason: str = ""

    @property
    def not_passed(self) -> int:
        """The number of conversations that did not pass, and do not only inform."""
        return sum(number for verdict, number in self.verdicts.items() if verdict not in ("passed", "informational"))


@dataclass
class ShareLimits:
    """The largest shares of conversations that may be refused, and that may not be read in full. None allows any."""

    max_refused: float
    max_incomplete: float | None
    seen: int = 0
    refused: int = 0
    read: int = 0
    incomplete: int = 0
    reason: str = ""
    examples: list[str] = field(default_factory=list)

    def add(self, report: ShardReport) -> None:
        """Count a shard. Raises UsageError if its conversations, and those before, exceed a share."""
        self.seen += report.conversations + report.refused + report.outside_sample
        self.refused += report.refused
        self.read += report.conversations
        self.incomplete += report.incomplete
        self.reason = self.reason or report.incomplete_reason
        self.examples += report.examples
        self.check(at_end=False)

    def check(self, *, at_end: bool) -> None:
        """Raise UsageError if a share is exceeded. At the beginning, a few conversations may be refused."""
        if self.refused > self.max_refused * (self.seen if at_end else max(self.seen, _FIRST_CHECK)):
            examples = "\n".join(f"  {example}" for example in self.examples[:5])
            raise UsageError(
                f"{spell('max_refused')}: {self.refused:,} of {self.seen:,} conversations were refused, and at most "
                f"{self.max_refused:.2%} may be; for example:\n{examples}"
            )
        share = self.max_incomplete
        if share is not None and self.incomplete > share * (self.read if at_end else max(self.read, _FIRST_CHECK)):
            raise UsageError(
                f"{spell('max_incomplete')}: {self.incomplete:,} of {self.read:,} conversations were not read in full, "
                f"and at most {share:.2%} may be; for example: {self.reason}"
            )


def count_strata(reports: Sequence[ShardReport]) -> Counter[str]:
    """Return the number of conversations of each stratum, in the sample and outside of it."""
    return sum((Counter(report.strata) for report in reports), Counter[str]())


def count_totals(reports: Sequence[ShardReport], keep_failures: int) -> dict[str, int]:
    """Return the counts of all shards. Each keeps at most `keep_failures` of its conversations that did not pass."""
    return {
        "conversations": sum(report.conversations for report in reports),
        "refused": sum(report.refused for report in reports),
        "outside_sample": sum(report.outside_sample for report in reports),
        "incomplete": sum(report.incomplete for report in reports),
        "not_passed": sum(report.not_passed for report in reports),
        "not_passed_kept": sum(min(report.not_passed, keep_failures) for report in reports),
    }

"""A criterion without a model that decides clear replies before a judge is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from fairtrial.config.criterion_options import read_criterion
from fairtrial.config.eval_config import ConfigPart
from fairtrial.config.reader import OptionError, OptionReader
from fairtrial.config.wording import format_value
from fairtrial.errors import ConfigError, nearest
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.score import Range, Score, bounds
from fairtrial.text import rouge

if TYPE_CHECKING:
    from fairtrial.metrics.catalog_entry import CatalogEntry
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace

_MOST_REASONS = 3
_MOST_QUOTES = 4
Decision = Literal["pass", "fail", "ask"]


@dataclass(frozen=True, slots=True)
class FirstCriterion:
    """A criterion that is asked before the judge: its metric, and the value below which a reply fails.

    Without a threshold, no reply fails. A reply also does not fail if it only lacks something: if each part that fails
    quotes the expectation and not the reply, as for a missing fact.
    """

    name: str
    metric: Any
    threshold: float | None

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Return the score of the metric."""
        score: Score = self.metric(trace, case)
        return score

    def score_pair(self, trace: Trace, case: EvalCase, index: int) -> Score:
        """Return the score of one invocation. The checks of a case count if the case has one invocation."""
        turns = case.conversation or ()
        one_trace = replace(trace, invocations=(trace.invocations[index],), broken="")
        checks = case.checks if len(turns) == 1 else ()
        return self(one_trace, replace(case, conversation=(turns[index],), checks=checks))

    def decide(self, score: Score) -> Decision:
        """Return what a score decides. What is not applicable or not known decides nothing."""
        ends = bounds(score, Range())
        if ends is None:
            return "ask"
        low, high = ends
        if self.threshold is not None and high < self.threshold:
            return "ask" if _lacks_only(score) else "fail"
        return "pass" if low >= (1.0 if self.threshold is None else self.threshold) else "ask"


def read_first(raw: Any, reader: OptionReader, pointer: str) -> FirstCriterion | None:
    """Return the criterion that an option names: `NAME`, or `{NAME: THRESHOLD}`, or `{NAME: {options}}`."""
    if raw is None or isinstance(raw, FirstCriterion):
        return raw
    if isinstance(raw, Mapping) and len(raw) == 1:
        ((name, value),) = raw.items()
        place = f"{pointer}/{name}"
    elif isinstance(raw, str):
        name, value, place = raw, 1.0, pointer
    else:
        reader.note(pointer, f"must be the name of a criterion, or {{NAME: THRESHOLD}}, got {format_value(raw)}")
        return None
    names = [entry.name for entry in CATALOG.values() if entry.compares_replies]
    if name not in names:
        hint = nearest(str(name), names)
        problem = f"must be a criterion that compares replies without a model: {', '.join(names)}; got {name!r}"
        reader.note(pointer, problem + hint)
        return None
    entry = CATALOG[name]
    if isinstance(raw, str) and isinstance(entry.sample, float) and entry.sample < 1:
        reader.note(pointer, f"needs a threshold below which a reply fails, for example {{{name!r}: 0.2}}")
        return None
    return _build(entry, value, reader, place)


def _build(entry: CatalogEntry, value: Any, reader: OptionReader, pointer: str) -> FirstCriterion | None:
    values: dict[str, Any] = {}
    try:
        if value is not None:
            part = ConfigPart(entry.name, value, pointer)
            values, warnings = read_criterion(part, entry.options, entry.range, lenient=reader.lenient)
            reader.warnings += warnings
        threshold = values.pop("threshold", None)
        return FirstCriterion(entry.name, entry.metric(**values), threshold)
    except OptionError as error:
        for place, problem in error.misfits:
            reader.note(f"{pointer}/{place}", problem)
    except ConfigError as error:
        for line in error.problems:
            place, _, problem = line.partition(": ")
            reader.note(place, problem)
    return None


def is_audited(case: EvalCase, index: int, actual: Invocation, expected: Invocation, share: float) -> bool:
    """Return whether a decided invocation belongs to the share of which the judge is asked anyway.

    The texts decide by their hash, so that a run with the same texts asks about the same invocations.
    """
    if share <= 0:
        return False
    text = "\0".join((case.id, str(index), actual.reply, expected.reply))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


def word_overlap(actual: Invocation, expected: Invocation) -> float:
    """Return the F-measure of ROUGE-1 between reply and reference, 0..1."""
    reply, reference = actual.reply, expected.reply
    if reply == reference:
        return 1.0
    return rouge.overlap(rouge.count_characters(reply), rouge.remember_counts(reference)).f


def explain(score: Score, *, failing: bool) -> Score:
    """Return the reason and the quotes of a decision: those of the parts that fail, if a reply fails."""
    if not failing:
        return Score(1.0)
    leaves = [leaf for leaf in _leaves(score) if leaf.value is not None and leaf.value < 1 and leaf.reason]
    reason = "; ".join(leaf.reason for leaf in leaves[:_MOST_REASONS])
    quotes = tuple(quote for leaf in leaves for quote in leaf.quotes)[:_MOST_QUOTES]
    return Score(0.0, reason, quotes=quotes)


def _lacks_only(score: Score) -> bool:
    """Return whether each part that fails quotes the expectation alone: it is missing, and nothing contradicts it."""
    failing = [leaf for leaf in _leaves(score) if leaf.value is not None and leaf.value < 1]
    return all(leaf.quotes and all(quote.source == "expected" for quote in leaf.quotes) for leaf in failing)


def _leaves(score: Score) -> Iterator[Score]:
    if not score.parts:
        yield score
    for part in score.parts:
        yield from _leaves(part)

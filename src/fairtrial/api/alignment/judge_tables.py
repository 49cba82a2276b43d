"""Judges whose verdicts stand in a table beside labels, alone and in panels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from pathlib import Path

from fairtrial.analysis.alignment.judge_selection import Candidate
from fairtrial.analysis.alignment.label_split import LabelledOutcome, count_verdicts
from fairtrial.api.alignment.judge_candidates import list_panels
from fairtrial.api.alignment.labelled_run import FEWEST_OF_EACH
from fairtrial.errors import FormatError, UsageError, spell
from fairtrial.formats.verdict_tables import RecordedVerdict, read_verdicts
from fairtrial.judge.voting import count, majority

_MOST_PANELS = 100
_WORDS = {True: "pass", False: "fail"}
_MAJORITY = majority(["pass"], ["fail"])


def read_recorded(
    path: Path, current: str, columns: Mapping[str, str] | None, where: Mapping[str, str] | None
) -> tuple[list[LabelledOutcome], list[Candidate]]:
    """Return the labelled items of a table and its judges, the current one first, then panels by majority.

    Raises FormatError if a label is neither pass nor fail, and UsageError for an unknown judge or too few labels.
    """
    verdicts = read_verdicts(path, columns, where)
    kinds = {verdict.label for verdict in verdicts}
    if not kinds <= {"pass", "fail"}:
        raise FormatError(str(path), [f"a choice needs labels that say pass or fail, got {', '.join(sorted(kinds))}"])
    outcomes = {own.item: LabelledOutcome(own.item, own.item, own.label == "pass", own.group) for own in verdicts}
    if (rarer := min(count_verdicts(outcomes.values()))) < FEWEST_OF_EACH:
        raise UsageError(f"{path}: {rarer} items have the rarer label; a choice needs {FEWEST_OF_EACH}")
    judges: defaultdict[str, list[RecordedVerdict]] = defaultdict(list)
    for verdict in verdicts:
        judges[verdict.judge].append(verdict)
    names = list(judges)
    if current and current not in judges:
        raise UsageError(f"{spell('current')}: must be a judge of {path}, got {current!r}; it has {', '.join(names)}")
    first = current or names[0]
    names = [first, *(name for name in names if name != first)]
    alone = [_candidate(name, judges[name]) for name in names]
    return list(outcomes.values()), [*alone, *_list_panels(alone)]


def _candidate(name: str, verdicts: Sequence[RecordedVerdict]) -> Candidate:
    by_item = {own.item: None if not own.verdict else own.verdict == "pass" for own in verdicts}
    costs = [own.cost for own in verdicts if own.cost is not None]
    cost = fsum(costs) / len(costs) if len(costs) == len(verdicts) else None
    return Candidate(name or "the judge", by_item, cost)


def _list_panels(judges: Sequence[Candidate]) -> Iterator[Candidate]:
    for panel in list_panels(judges, _MOST_PANELS):
        items = dict.fromkeys(item for judge in panel for item in judge.verdicts)
        costs = [judge.cost for judge in panel if judge.cost is not None]
        yield Candidate(
            " + ".join(judge.name for judge in panel),
            {item: _decide([judge.verdicts.get(item) for judge in panel]) for item in items},
            fsum(costs) if len(costs) == len(panel) else None,
        )


def _decide(verdicts: Sequence[bool | None]) -> bool | None:
    """Return the verdict of a panel by the rule of votes, or None without a quorum."""
    cast = Counter(None if own is None else _WORDS[own] for own in verdicts)
    value = count(cast, _MAJORITY, len(verdicts)).value
    return None if value is None else value > 0

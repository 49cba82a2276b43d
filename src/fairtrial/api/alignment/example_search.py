"""Examples for a judge, from labelled outcomes on which it disagrees with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.api.alignment.judge_candidates import ChangedJudge
from fairtrial.metrics.judged_metric import JudgedMetric
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.analysis.alignment.label_split import LabelledOutcome
    from fairtrial.api.alignment.judge_search import JudgeSearch
    from fairtrial.records.record import Json

_SIZES = (2, 4, 6)
_LONGEST_EXAMPLE = 2_000


def list_example_judges(
    search: JudgeSearch, pool: Sequence[LabelledOutcome], verdicts: Mapping[str, bool | None]
) -> Iterator[ChangedJudge]:
    """Yield judges with examples from `pool`. `verdicts` are those of the current judge.

    The examples are outcomes on which the judge is wrong, false passes and false failures in turn. A last set has
    outcomes on which it is right, too, so that examples do not only show exceptions.
    """
    metric: Any = search.criterion.metric
    if not isinstance(metric, JudgedMetric):
        return
    wrong = [own for own in pool if verdicts.get(own.key) is not own.passed]
    right = [own for own in pool if verdicts.get(own.key) is own.passed]
    turns = _take_turns(wrong)
    sets = [turns[:size] for size in _SIZES if len(turns) >= size] or ([turns] if turns else [])
    if turns and right:
        sets.append([*turns[:2], *_take_turns(right)[:2]])
    for outcomes in sets:
        examples = [_make_example(search, metric, own) for own in outcomes]
        names = ", ".join(own.key for own in outcomes)
        yield ChangedJudge(f"examples {names}", {"examples": examples})


def _take_turns(outcomes: Sequence[LabelledOutcome]) -> list[LabelledOutcome]:
    """Return outcomes that people fail and pass in turn, then the rest."""
    failed = [own for own in outcomes if not own.passed]
    passed = [own for own in outcomes if own.passed]
    shared = min(len(failed), len(passed))
    turns = [own for pair in zip(failed, passed, strict=False) for own in pair]
    return [*turns, *failed[shared:], *passed[shared:]]


def _make_example(search: JudgeSearch, metric: JudgedMetric, outcome: LabelledOutcome) -> Json:
    place = search.labelled.place_of[outcome.key]
    worth = sorted(metric.scale.worth, key=metric.scale.worth.__getitem__)
    example = {
        "case": shorten(search.labelled.describe(place), _LONGEST_EXAMPLE),
        "answer": worth[-1] if outcome.passed else worth[0],
    }
    note = search.labelled.notes.get(place, "").strip()
    return {**example, "reason": note} if note else example

"""The judges among which labels choose: models, panels and thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from fairtrial.api.calibrations import list_panel
from fairtrial.llm.model_pool import find_panels
from fairtrial.records.record import Json

if TYPE_CHECKING:
    from fairtrial.records.result import Criterion, Outcome
    from fairtrial.records.run import RunInfo

T = TypeVar("T")
Search = Literal["model", "panel", "threshold", "examples", "instructions"]
FREE: tuple[Search, ...] = ("model", "panel", "threshold")
"""What can be searched with stored replies alone."""
_MOST_PANELS = 40
_MOST_THRESHOLDS = 20
_PANEL_SIZES = (3, 5)


@dataclass(frozen=True)
class ChangedJudge:
    """A name for people, and the options that replace those of the criterion."""

    name: str
    changes: Mapping[str, Json] = field(default_factory=dict)


Voter = dict[str, Json]
"""The model of a panel, as `judge_models` takes it."""


def list_run_voters(info: RunInfo, criterion: str) -> list[Voter]:
    """Return the models that judged a criterion of a run, by the signature of the run."""
    return list(map(_make_voter, list_panel(info.signatures.get(criterion))))


def _make_voter(options: Mapping[str, Any]) -> Voter:
    voter: Voter = {"model": options["name"]}
    if options.get("settings"):
        voter["settings"] = dict(options["settings"])
    if options.get("structured") is False:
        voter["structured_output"] = False
    return voter


def list_criterion_voters(criterion: Criterion) -> list[Voter]:
    """Return the models that a criterion asks."""
    return [
        _make_voter({"name": voter.name, "settings": voter.settings, "structured": voter.structured})
        for judge in find_panels(criterion.metric)
        for voter in judge.panel
    ]


def count_votes(criterion: Criterion) -> int:
    """Return the number of votes on each question of a criterion, or 0 if it asks no judge."""
    return max((judge.votes for judge in find_panels(criterion.metric)), default=0)


def distinct_voters(voters: Iterable[Voter]) -> list[Voter]:
    """Return each voter once, in their order."""
    return list({msgspec.json.encode(voter, order="sorted"): voter for voter in voters}.values())


def list_judges(voters: Sequence[Voter], votes: int, search: Iterable[Search]) -> Iterator[ChangedJudge]:
    """Yield each voter alone, with one vote and with `votes`, and the panels of three and of five voters."""
    kinds = set(search)
    if "model" in kinds:
        for voter in voters:
            for number in dict.fromkeys((1, votes)):
                yield _judge([voter], number)
    if "panel" in kinds:
        for panel in list_panels(voters, _MOST_PANELS):
            yield _judge(panel, len(panel))


def list_panels(members: Iterable[T], most: int) -> Iterator[tuple[T, ...]]:
    """Yield the first panels of three members, and then of five, `most` at most."""
    pool = tuple(members)
    return islice((panel for size in _PANEL_SIZES for panel in combinations(pool, size)), most)


def _judge(voters: Sequence[Voter], votes: int) -> ChangedJudge:
    members = [voter["model"] if len(voter) == 1 else voter for voter in voters]
    name = " + ".join(str(voter["model"]) for voter in voters)
    if len(voters) == 1 and votes > 1:
        name += f", {votes} votes"
    single = len(members) == 1 and isinstance(members[0], str)
    models: dict[str, Json] = {"judge_model": members[0]} if single else {"judge_models": members}
    return ChangedJudge(name, {"judge_model_options": {**models, "num_samples": votes}})


def list_thresholds(outcomes: Iterable[Outcome], current: float | None) -> list[float]:
    """Return the thresholds that decide some of the outcomes differently, besides the current one.

    They are the values of the outcomes but the lowest, which would pass all of them. Of many values, every n-th is
    returned.
    """
    values = sorted({outcome.ends[0] for outcome in outcomes if outcome.ends is not None})[1:]
    step = -(-len(values) // _MOST_THRESHOLDS)
    return [value for value in values[:: max(1, step)] if value != current]

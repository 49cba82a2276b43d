"""Results of `score` are the same if several processes score."""

from __future__ import annotations

import msgspec
import pytest

import fairtrial
from builders import call, recording, turn
from fairtrial.records.attempt import Recording

CRITERIA = {"tool_call_count_v1": 3.0, "response_match_score": 0.5}
RECORDINGS = [
    recording(turn(*(call("f", x=number) for _ in range(number % 5))), name=f"case_{number}") for number in range(400)
]


def ready(recordings: list[Recording]) -> list[Recording]:
    """Recordings as files hold them."""
    return [msgspec.json.decode(msgspec.json.encode(each), type=Recording) for each in recordings]


@pytest.mark.long
def test_several_processes_give_the_same_results() -> None:
    """400 recordings are enough chunks to start processes for."""
    runs = [fairtrial.score(ready(RECORDINGS), criteria=CRITERIA, jobs=jobs) for jobs in (1, 2)]
    first, second = (list(run.cases) for run in runs)
    assert len(first) == 400
    assert first == second
    assert runs[0].summary == runs[1].summary


def test_a_few_recordings_are_scored_without_processes() -> None:
    """Their results are the same."""
    alone, together = (fairtrial.score(ready(RECORDINGS[:3]), criteria=CRITERIA, jobs=jobs) for jobs in (1, 2))
    assert list(alone.cases) == list(together.cases)


def test_a_function_that_cannot_travel_is_refused() -> None:
    """Another process could not import it."""
    with pytest.raises(fairtrial.UsageError, match=r"jobs: mine cannot be sent to another process.*leave out jobs"):
        fairtrial.score(RECORDINGS, criteria={"mine": lambda *_: 1.0}, jobs=2)


def test_a_criterion_that_asks_a_model_is_refused() -> None:
    """Several processes would not share its pace, its budget and its cassette."""
    with pytest.raises(fairtrial.UsageError, match=r"jobs: safety_v1 asks a model.*concurrency"):
        fairtrial.score(RECORDINGS, criteria={"safety_v1": {"threshold": 0.5, "backend": "judge"}}, jobs=2)


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_the_number_of_processes_is_checked(jobs: int) -> None:
    """A run needs a whole number of processes, 1 or more."""
    with pytest.raises(fairtrial.UsageError, match="jobs must be a whole number, 1 or more"):
        fairtrial.score(RECORDINGS, criteria=CRITERIA, jobs=jobs)

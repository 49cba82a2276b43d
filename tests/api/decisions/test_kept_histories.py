"""A store keeps what was computed along a series of runs, and a later look gives what a first look would."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial import Run, RunHistory, UsageError, evaluate, history
from fairtrial.analysis.followed_series import FollowedSeries, Member
from fairtrial.store import Store
from fairtrial.store.bodies import BodyDecoder
from graded_runs import graded, graded_run

CASES = [f"case-{number}" for number in range(20)]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in a file."""
    return f"sqlite:///{tmp_path}/runs.db"


@pytest.fixture
def follow_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each run follow its series, however few attempts there are."""
    monkeypatch.setattr("fairtrial.api.execution._WORTH_FOLLOWING", 0)


def count_kept(url: str) -> int:
    """The number of series that the store keeps."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        (number,) = database.execute("SELECT count(*) FROM fairtrial_histories").fetchone()
    return int(number)


def store_run(url: str, rng: random.Random, *, broken: int = 0, threshold: float = 0.5) -> str:
    """The id of a stored run in which the first cases fail, and the others nearly always pass."""
    values = {name: [float(place >= broken and rng.random() < 0.95)] for place, name in enumerate(CASES)}
    return graded_run(values, store=url, criteria=[graded(threshold)]).info.id


def ask_agent(url: str, broken: int = 0, attempts: int = 1) -> None:
    """Store a run of an agent that answers wrongly in the first cases."""
    answers = {f"Question {place}?": "Rome" if place < broken else "Paris" for place in range(20)}

    def reply(message: str) -> str:
        return answers[message]

    evaluate([(question, "Paris") for question in answers], reply, {"exact_match": 1.0}, attempts=attempts, store=url)


def forget(url: str) -> None:
    """Remove all that the store keeps of series."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        database.execute("DELETE FROM fairtrial_histories")
        database.commit()


def look(url: str, last: int = 50) -> RunHistory:
    """The history of all runs."""
    return history(series=(), last=last, store=url)


@pytest.mark.long
@pytest.mark.parametrize("gaps", [(1,) * 16, (5, 1, 9, 1), (15, 1)])
def test_a_look_after_earlier_looks_gives_what_a_first_look_gives(url: str, gaps: Sequence[int]) -> None:
    """Cases break after the eighth run, and the threshold changes after the twelfth."""
    rng, number = random.Random(3), 0
    for gap in gaps:
        for _ in range(gap):
            store_run(url, rng, broken=8 if number >= 8 else 0, threshold=0.5 if number < 12 else 0.9)
            number += 1
        again = look(url)
    forget(url)
    first = look(url)
    assert again == first
    assert [place for place, row in enumerate(first.rows) if row.step] == [8]
    assert [place for place, row in enumerate(first.rows) if row.new_segment] == [12]


@pytest.mark.long
def test_a_short_look_is_the_end_of_a_long_one(url: str) -> None:
    """The rows of the last runs, and the marks of their cases."""
    rng = random.Random(4)
    for number in range(10):
        store_run(url, rng, broken=8 if number >= 6 else 0)
    whole, short = look(url), look(url, last=3)
    assert short.rows == whole.rows[-3:]
    assert {case.case: case.passed for case in short.cases} == {case.case: case.passed[-3:] for case in whole.cases}


@pytest.mark.long
def test_a_result_that_is_written_again_is_read_again(url: str) -> None:
    """The kept row of its run counts no more."""
    ids = [store_run(url, random.Random(5)) for _ in range(3)]
    before = look(url)
    with closing(Store(url)) as store:
        for result in list(store.results(ids[1])):
            outcome = result.outcomes[0]
            score = replace(outcome.score, value=0.0)
            store.add_result(ids[1], replace(result, outcomes=(replace(outcome, score=score),)))
    after = look(url)
    assert after.rows[1].value.value == 0.0
    assert after.rows[0] == before.rows[0]


@pytest.mark.long
def test_a_run_that_is_removed_leaves_no_name_of_a_case_behind(url: str) -> None:
    """What the store kept of its series goes with it."""
    rng = random.Random(6)
    ids = [store_run(url, rng) for _ in range(3)]
    look(url)
    with closing(Store(url)) as store:
        store.remove(ids[2])
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        assert database.execute("SELECT count(*) FROM fairtrial_histories").fetchone() == (0,)
    assert [row.id for row in look(url).rows] == ids[:2]


def test_what_a_later_version_kept_is_computed_again(url: str) -> None:
    """A body that cannot be read is none."""
    ids = [store_run(url, random.Random(7)) for _ in range(2)]
    first = look(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        database.execute("UPDATE fairtrial_histories SET body = x'00'")
        database.commit()
    assert look(url) == first
    assert [row.id for row in first.rows] == ids


def test_a_measure_that_no_run_has_is_refused_after_other_looks(url: str) -> None:
    """The message names the measures."""
    store_run(url, random.Random(8))
    look(url)
    with pytest.raises(UsageError, match="has no measure 'speed'"):
        history(measure="speed", store=url)


@pytest.mark.long
@pytest.mark.usefixtures("follow_all")
def test_a_run_that_ends_is_followed_before_the_first_look(url: str) -> None:
    """The first look then reads what is kept: it gives what a look without it gives."""
    for number in range(10):
        ask_agent(url, broken=8 if number >= 6 else 0)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        (kept,) = database.execute("SELECT body FROM fairtrial_histories").fetchall()
    first = history(store=url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        assert database.execute("SELECT body FROM fairtrial_histories").fetchall() == [kept]
    forget(url)
    assert history(store=url) == first
    assert [place for place, row in enumerate(first.rows) if row.step] == [6]


@pytest.mark.usefixtures("follow_all")
@pytest.mark.parametrize("last", [3, 60, 300])
def test_a_look_at_any_number_of_runs_reads_what_their_ends_kept(
    url: str, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ends of runs prepare the usual look and a long one, and no look adds a third form."""
    monkeypatch.setattr("fairtrial.api.decisions.history._CELLS", 1)
    for number in range(4):
        ask_agent(url, broken=8 if number >= 3 else 0)
    before = read_kept(url)
    rows = history(last=last, store=url).rows
    assert (count_kept(url), read_kept(url)) == (2, before)
    forget(url)
    assert history(last=last, store=url).rows == rows


@pytest.mark.long
@pytest.mark.usefixtures("follow_all")
@pytest.mark.parametrize("attempts", [1, 2])
def test_a_run_that_would_read_too_much_at_its_end_leaves_it_to_the_first_look(
    url: str, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of 20 cases may be read, with all attempts at them."""
    monkeypatch.setattr("fairtrial.api.decisions.history._MOST_AT_END", 40 * attempts)
    for _ in range(2):
        ask_agent(url, attempts=attempts)
    forget(url)
    ask_agent(url, attempts=attempts)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        assert database.execute("SELECT count(*) FROM fairtrial_histories").fetchone() == (0,)
    assert len(history(store=url).rows) == 3


@pytest.mark.long
@pytest.mark.usefixtures("follow_all")
def test_recordings_that_are_scored_follow_their_series_too(url: str) -> None:
    """A first look gives what it gives without what is kept."""
    for number in range(3):
        store_run(url, random.Random(number))
    assert count_kept(url) == 1
    kept = history(store=url)
    forget(url)
    assert history(store=url) == kept


@pytest.mark.long
def test_a_small_series_is_followed_by_its_first_look(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose store has fewer than 80 attempts follows nothing: the fourth run of 20 cases does."""
    monkeypatch.setattr("fairtrial.api.execution._WORTH_FOLLOWING", 80)
    kept = []
    for _ in range(4):
        ask_agent(url)
        kept.append(count_kept(url))
    assert kept == [0, 0, 0, 1]


@pytest.mark.usefixtures("follow_all")
def test_a_run_ends_even_if_its_series_cannot_be_followed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of an earlier run may be broken. The first look says so."""

    def fail(*_: object) -> None:
        raise RuntimeError("a broken folder")

    with monkeypatch.context() as patching:
        patching.setattr("fairtrial.api.decisions.history.find_series", fail)
        ask_agent(url)
    assert len(history(store=url).rows) == 1


def copy_at(url: str, run: Run, source: str, minutes: int) -> None:
    """Copy a run from a store, as if it had started so many minutes after the start of a day."""
    started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    info = replace(run.info, id=f"{started:%Y%m%d-%H%M%S}-{run.info.id[-6:]}", started=started.isoformat())
    with closing(Store(url)) as store, closing(Store(source)) as own:
        store.begin(info)
        store.add_cases(info.id, own.cases(run.info.id))
        for result in own.results(run.info.id):
            store.add_result(info.id, result)
        store.finish(info, run.summary)


def read_kept(url: str) -> list[FollowedSeries]:
    """The series that the store keeps."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        rows = list(database.execute("SELECT body FROM fairtrial_histories ORDER BY key"))
    return [BodyDecoder(FollowedSeries).decode(body) for (body,) in rows]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_runs_in_any_order_give_what_a_first_look_gives(url: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs end late, cases break, recover, are edited and leave, and a series begins with a later run after four."""
    monkeypatch.setattr("fairtrial.api.decisions.history.WINDOW", 6)
    monkeypatch.setattr("fairtrial.api.decisions.history._CELLS", 1)
    rng, times, unread = random.Random(seed), list[int](), list[int]()
    restrict = FollowedSeries.restrict

    def note(self: FollowedSeries, members: Sequence[Member], *arguments: Any) -> FollowedSeries | None:
        series = restrict(self, members, *arguments)
        unread.append(len(members) - (0 if series is None else len(series.members)))
        return series

    monkeypatch.setattr(FollowedSeries, "restrict", note)
    for number in range(34):
        broken = 14 if number % 16 >= 10 else 0
        names = [name for place, name in enumerate(CASES) if place != 19 or not 12 <= number < 18]
        queries = {name: "Edited?" if number >= 20 and name == CASES[3] else "Grade?" for name in names}
        values = {name: [float(CASES.index(name) >= broken and rng.random() < 0.95)] for name in names}
        times.append(10 * number - rng.choice([0, 0, 0, 15, 25]))
        criteria = [graded(0.5 if number < 27 else 0.9)]
        run = graded_run(values, store=f"{url}.single", criteria=criteria, queries=queries)
        copy_at(url, run, f"{url}.single", times[-1])
        again, kept = history(series=(), last=5, store=url), read_kept(url)
        forget(url)
        assert history(series=(), last=5, store=url) == again
        assert read_kept(url) == kept
    assert times != sorted(times)
    assert max(unread) <= 4
    assert len(unread) == 33

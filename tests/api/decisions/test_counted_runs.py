"""The database counts runs whose criteria are those of their neighbours, and that gives what reading them gives."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fairtrial import CaseHistory, RunHistory, case_history, evaluate, history
from fairtrial.analysis.measured_run import MeasuredRun, measure_passes
from fairtrial.api.stores import _find_counted
from fairtrial.errors import StoreError
from fairtrial.records.run import RunInfo
from fairtrial.store.store import Store
from graded_runs import Value, graded


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in a file."""
    return f"sqlite:///{tmp_path}/runs.db"


def store_runs(url: str, attempts: int) -> None:
    """Store 14 runs of an agent that fails, breaks and says what cannot be scored.

    After the eighth run, five cases fail. Before the fourth one, a case is edited, before the sixth one, a case is
    new, and before the eleventh one, the threshold changes.
    """
    rng = random.Random(attempts)
    for number in range(14):
        cases = [f"Grade {place}?" for place in range(20 + (number >= 5))]
        cases[3] += " Please." if number >= 3 else ""

        def reply(message: str, number: int = number) -> str:
            place = int(message.split()[1].strip("?"))
            value: Value = float(not (number >= 8 and place < 5) and rng.random() < 0.9)
            if place == 12 and rng.random() < 0.3:
                raise RuntimeError("it fell over")
            return "nothing" if place == 15 and rng.random() < 0.3 else str(value)

        threshold = 0.5 if number < 10 else 0.9
        evaluate([(case, "1.0") for case in cases], reply, [graded(threshold)], attempts=attempts, store=url)


def look(url: str) -> tuple[RunHistory, CaseHistory, CaseHistory]:
    """The history of the measure `cases`, and of two cases."""
    return (
        history(series=("agent",), store=url),
        case_history("cases-13", series=("agent",), store=url),
        case_history("cases-21", series=("agent",), store=url),
    )


@pytest.mark.long
@pytest.mark.parametrize("attempts", [1, 3])
def test_counted_runs_give_what_whole_runs_give(url: str, attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, steps, segments and the marks of cases."""
    store_runs(url, attempts)
    counted = look(url)
    monkeypatch.setattr("fairtrial.api.stores._find_counted", lambda _: set())
    monkeypatch.setattr("fairtrial.api.decisions.history._KEPT_VERSION", -1)
    assert look(url) == counted
    assert len(counted[0].rows) == 14
    assert [place for place, row in enumerate(counted[0].rows) if row.new_segment] == [10]
    assert any(row.value.value not in (0.0, 1.0) for row in counted[0].rows)


@pytest.mark.long
def test_runs_beside_another_criterion_are_read_as_a_whole(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their criteria have to be compared: of 14 runs, the two on both sides of the other threshold are read."""
    store_runs(url, 1)
    counted: list[str] = []

    def note(info: RunInfo, *arguments: Any) -> MeasuredRun:
        counted.append(info.id)
        return measure_passes(info, *arguments)

    monkeypatch.setattr("fairtrial.api.stores.measure_passes", note)
    history(series=("agent",), store=url)
    assert len(counted) == 12


def test_runs_whose_eval_sets_have_terms_of_their_own_are_read_as_a_whole() -> None:
    """A case that moves from one eval set to another gets other terms, though the run keeps its criteria."""
    config = {"eval_set_ids": ["A", "B"]}
    own = [RunInfo(str(n), "", "", "run", config=config, signatures={"m": 1, "B/m": 2}) for n in range(4)]
    same = [RunInfo(str(n), "", "", "run", config=config, signatures={"m": 1}) for n in range(4)]
    assert (_find_counted(own), _find_counted(same)) == (set(), {"0", "1", "2", "3"})


def test_a_store_that_drops_after_a_run_takes_nothing_of_its_report(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempts are stored, and a later look follows the series."""

    def drop(_: Store) -> list[str]:
        raise StoreError("the server is gone")

    monkeypatch.setattr(Store, "run_ids", drop)
    run = evaluate([("Grade?", "1.0")], lambda _: "1.0", [graded(0.5)], store=url)
    assert run.info.finished


@pytest.mark.long
def test_runs_share_their_cases_only_if_all_of_these_are_the_same(url: str) -> None:
    """A name in other letters, another digest, one case less and one more are other cases."""
    for count in (5, 5, 5, 4, 6, 5):
        evaluate([(f"Grade {place}?", "1.0") for place in range(count)], lambda _: "1.0", [graded(0.5)], store=url)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        runs = [row[0] for row in database.execute("SELECT number FROM fairtrial_runs ORDER BY number")]
        database.execute("UPDATE fairtrial_cases SET name = 'Café' WHERE position = 2")
        database.execute("UPDATE fairtrial_cases SET name = 'café' WHERE position = 2 AND run = ?", runs[1:2])
        database.execute("UPDATE fairtrial_cases SET digest = 'other' WHERE position = 3 AND run = ?", runs[2:3])
    with closing(Store(url)) as store:
        ids = [run_id for run_id, _ in store.run_ids()]
        counted = dict(store.count_passes(ids))
        for run_id in ids:
            cases = list(store.case_keys(run_id))
            own = counted[run_id]
            assert list(zip(own.positions, own.keys, own.names, strict=True)) == cases
            assert [row[0] for row in own.attempts] == own.positions
    assert len({id(own.keys) for own in counted.values()}) == 5


@pytest.mark.parametrize("change", ["nothing", "an attempt less", "a stray attempt"])
def test_attempts_are_counted_as_single_rows_say(url: str, change: str) -> None:
    """Also if the cases of a run have different numbers of attempts, or if an attempt has no case."""
    rng = random.Random(4)
    run = evaluate(
        [(f"Grade {place}?", "1.0") for place in range(6)],
        lambda _: str(float(rng.random() < 0.6)),
        [graded(0.5)],
        attempts=3,
        store=url,
    )
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        if change == "an attempt less":
            database.execute("DELETE FROM fairtrial_results WHERE position = 2 AND attempt = 1")
        if change == "a stray attempt":
            database.execute("UPDATE fairtrial_results SET position = 9 WHERE position = 5")
        rows = list(database.execute("SELECT position, verdict FROM fairtrial_results"))
    with closing(Store(url)) as store:
        counted = dict(store.count_passes([run.info.id]))[run.info.id]
    attempts, passed = Counter(row[0] for row in rows), Counter(row[0] for row in rows if row[1] == "passed")
    assert [tuple(row) for row in counted.attempts] == [
        (place, attempts[place], passed[place], attempts[place], 0) for place in sorted(attempts)
    ]
    assert 0 < passed.total() < len(rows)

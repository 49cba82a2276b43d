"""Failure modes along runs: first seen, last seen, gone, back again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from commands import fairtrial
from fairtrial import EvalSet, ModeHistory, Recording, history, mode_history, score
from fairtrial.analysis.failures.mode_series import chance_of_absence
from fairtrial.records.mode_history import ModeLine
from planted_failures import KINDS, booking, perfect, plant

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
SUITE, LOST = "a suite is booked", next(kind for kind in KINDS if kind != "a suite is booked")
SUITE_NAME = "book_suite is called and was not expected"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store."""
    return f"sqlite:///{tmp_path}/runs.db"


def add_run(url: str, kinds: Sequence[str], *, first: int = 0) -> str:
    """Store a run of six cases, of which the first ones fail in some ways."""
    cases = [booking(first + number, "en") for number in range(6)]
    recordings: list[Recording] = []
    for number, case in enumerate(cases):
        recordings.append(plant(kinds[number], case).recording if number < len(kinds) else perfect(case))
    return score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=url).info.id


def along(url: str) -> ModeHistory:
    """The modes along all runs."""
    return mode_history(history(store=url, series=["eval_set"], false_every=100), store=url)


def line(found: ModeHistory, name: str = SUITE_NAME) -> ModeLine:
    """A mode along the runs."""
    (own,) = [own for own in found.modes if own.name == name]
    return own


def test_a_mode_is_new(url: str) -> None:
    """In the last of three runs, two cases have it for the first time."""
    runs = [add_run(url, kinds) for kinds in ([], [], [SUITE, SUITE])]
    own = line(along(url))
    assert (own.state, own.first, own.last) == ("new", runs[2], runs[2])
    assert own.cases == (None, None, 2)


@pytest.mark.long
def test_more_runs_take_no_more_queries(url: str) -> None:
    """Three runs and six runs take as many."""
    numbers = []
    for _ in range(2):
        for _ in range(3):
            add_run(url, [SUITE, LOST])
        runs, statements = history(store=url, series=["eval_set"]), list[str]()

        def note(*arguments: object, statements: list[str] = statements) -> None:
            statements.append(str(arguments[2]))

        sa.event.listen(sa.Engine, "before_cursor_execute", note)
        try:
            mode_history(runs, store=url)
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", note)
        numbers.append(sum("fairtrial_" in statement for statement in statements))
    assert numbers[0] == numbers[1] > 0


@pytest.mark.long
def test_a_mode_was_seen_before(url: str) -> None:
    """A run without it does not mean that it is gone: chance explains one such run."""
    runs = [add_run(url, [SUITE, SUITE] * present) for present in (1, 0, 1)]
    own = line(along(url))
    assert (own.state, own.first, own.last, own.back) == ("seen", runs[0], runs[2], ())
    assert own.cases == (2, 0, 2)


@pytest.mark.long
def test_a_mode_is_gone_and_comes_back(url: str) -> None:
    """After six runs with it, two without it are not enough, and three are: 1/8 x 2/9 x 3/10 is below 0.01."""
    runs = [add_run(url, [SUITE, SUITE]) for _ in range(6)] + [add_run(url, []) for _ in range(2)]
    assert line(along(url)).state == "absent"
    runs.append(add_run(url, []))
    own = line(along(url))
    assert (own.state, own.gone, own.last) == ("gone", runs[6], runs[5])
    runs.append(add_run(url, [SUITE, SUITE]))
    own = line(along(url))
    assert (own.state, own.gone, own.back) == ("back", "", (runs[9],))
    assert own.cases == (2, 2, 2, 2, 2, 2, 0, 0, 0, 2)


@pytest.mark.long
def test_a_run_without_the_cases_says_nothing(url: str) -> None:
    """If none of the cases with the mode was run, it is not missing."""
    add_run(url, [SUITE, SUITE])
    for _ in range(20):
        add_run(url, [], first=100)
    own = line(along(url))
    assert (own.state, own.gone) == ("absent", "")
    assert own.cases == (2, *(None,) * 20)


def test_runs_without_failures_have_no_mode(url: str) -> None:
    """And the report says so."""
    add_run(url, [])
    assert along(url).modes == ()


@pytest.mark.long
def test_the_report_names_what_is_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a mark for each run: a bar, a dot for none."""
    monkeypatch.setenv("COLUMNS", "200")
    for kinds in [[SUITE, SUITE]] * 8 + [[]] * 5 + [[SUITE, SUITE, LOST, LOST]]:
        last = add_run(url, kinds)
    shown = fairtrial("history", "--failures", "--series", "eval_set", "--store", url)
    assert shown.code == 0, shown.out
    assert f"{SUITE_NAME}: back again in {last}" in shown.out
    assert "████████·····█" in shown.out
    assert f": new in {last}" in shown.out


def test_the_json_holds_the_record(url: str) -> None:
    """Its kind is `mode_history`, and the runs are those of the history."""
    run = add_run(url, [SUITE, SUITE])
    written = fairtrial("history", "--failures", "--series", "eval_set", "--store", url, "--json", "-")
    content = json.loads(written.out)
    assert content["kind"] == "mode_history"
    assert [own["id"] for own in content["runs"]] == [run]
    assert content["modes"][0]["cases"] == [2]


def test_a_case_has_no_modes(url: str) -> None:
    """Both options together are an error of use."""
    add_run(url, [SUITE])
    refused = fairtrial("history", "--failures", "--case", "booking 0", "--store", url)
    assert refused.code == 2
    assert "leave out --case" in refused.err


@pytest.mark.parametrize(
    ("hits", "trials", "missing", "expected"),
    [(1, 1, 1, 1 / 3), (10, 10, 1, 1 / 12), (10, 10, 2, 1 / 12 * 2 / 13), (0, 0, 1, 1 / 2), (2, 4, 0, 1.0)],
)
def test_the_chance_of_absence_is_the_rule_of_succession(hits: int, trials: int, missing: int, expected: float) -> None:
    """Laplace: after `hits` of `trials`, the next run lacks the mode with (trials - hits + 1) / (trials + 2)."""
    assert chance_of_absence(hits, trials, missing) == pytest.approx(expected)

"""The command `fairtrial history` shows the runs of a series, the steps between them, and the life of a case."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders import eval_set, said
from commands import enter, fairtrial
from fairtrial import Range, history
from fairtrial.api.stores import open_store
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.summary import RunUsage
from fairtrial.store import DEFAULT_URL
from graded_runs import graded, graded_run

CASES = [f"case-{number}" for number in range(40)]
UNCOMPARED = "No step was looked for: no run has a case that can be compared with an earlier run."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    enter(tmp_path, monkeypatch)


def store_runs(runs: Sequence[Mapping[str, Sequence[float]]], threshold: float = 0.5) -> list[str]:
    """The ids of runs in the store."""
    return [graded_run(values, store=DEFAULT_URL, criteria=[graded(threshold)]).info.id for values in runs]


def make_values(rng: random.Random, broken: int = 0) -> dict[str, list[float]]:
    """One value for each case: nearly always 1, and 0 for the first broken cases."""
    return {name: [float(place >= broken and rng.random() < 0.97)] for place, name in enumerate(CASES)}


@pytest.mark.long
def test_a_step_is_named_with_the_runs_around_it_and_its_size() -> None:
    """Twelve of 40 cases break after the sixth run."""
    rng = random.Random(1)
    ids = store_runs([make_values(rng, 12 if run >= 6 else 0) for run in range(10)])
    done = fairtrial("history", "--series", "eval_set")
    assert done.code == 0
    (sentence,) = [line for line in done.out.splitlines() if line.startswith("between ")]
    assert sentence.startswith(f"between {ids[5]} and {ids[6]}, 40 cases changed by -")
    (row,) = fairtrial("history", "--series", "eval_set", "--last", "4", "--json", "-").json["rows"][:1]
    assert row["id"] == row["step"]["first"] == ids[6]
    change = row["step"]["change"]
    assert change["low"] < -12 / 40 + 0.05
    assert change["low"] <= change["value"] <= change["high"] < 0


@pytest.mark.long
def test_without_a_change_no_step_is_shown() -> None:
    """The report says so, and how often it may be wrong."""
    rng = random.Random(2)
    store_runs([make_values(rng) for _ in range(8)])
    done = fairtrial("history", "--series", "eval_set")
    assert "No step: nothing shows that the agent changed." in done.out
    assert "At most one run in 1,000 shows a step although nothing changed." in done.out


@pytest.mark.long
def test_runs_of_mutate_are_no_part_of_the_agents_history() -> None:
    """`mutate` harms the replies on purpose. A history of its runs has their kind."""
    turn = {"user_content": said("Where is my order?"), "final_response": said("Order 17 is shipped.", "model")}
    Path("shop.evalset.json").write_text(json.dumps(eval_set(turn)))
    assert fairtrial("score", "shop.evalset.json", "--against", "shop.evalset.json").code == 0
    assert fairtrial("mutate", "shop.evalset.json").code == 0
    mutated, scored = (run["id"] for run in fairtrial("runs", "--json", "-").json["runs"])
    assert [row["id"] for row in fairtrial("history", "--json", "-").json["rows"]] == [scored]
    assert fairtrial("history", "--case", "one", "--json", "-").json["runs"][0]["id"] == scored
    of_mutants = fairtrial("history", mutated, "--json", "-").json
    assert [row["id"] for row in of_mutants["rows"]] == [mutated]
    assert of_mutants["series"]["kind"] == "mutate"


@pytest.mark.parametrize(("names", "is_compared"), [(("a", "b"), False), (("a", "a"), True)])
def test_runs_without_a_common_case_say_nothing_about_the_agent(names: tuple[str, str], is_compared: bool) -> None:
    """A day's traffic has other conversations than the day before: no step was looked for."""
    store_runs([{f"{name}-{place}": [1.0] for place in range(4)} for name in names])
    out = fairtrial("history", "--series", "eval_set").out
    assert ("No step: nothing shows that the agent changed." in out) is is_compared
    assert (UNCOMPARED in out) is not is_compared


@pytest.mark.parametrize(
    ("thresholds", "span", "reason"),
    [
        ((0.5, 0.9), Range(0, 1), "threshold changed from 0.5 to 0.9"),
        ((0.5, 0.5), Range(0, None), "no largest or no smallest value"),
    ],
)
def test_runs_of_the_same_cases_without_a_comparison_do_not_deny_these_cases(
    thresholds: tuple[float, float], span: Range, reason: str
) -> None:
    """The reason stands beside it: another threshold, or a measure without ends."""
    for threshold in thresholds:
        graded_run({name: [1.0] for name in CASES}, store=DEFAULT_URL, criteria=[graded(threshold, span=span)])
    out = fairtrial("history", "--measure", "quality").out
    assert reason in out
    assert UNCOMPARED in out


@pytest.mark.long
def test_a_new_threshold_begins_a_segment_and_is_no_step() -> None:
    """The same replies fail under the new threshold. That is not the agent's change."""
    values = {name: [0.7] for name in CASES}
    store_runs([values] * 4)
    store_runs([values] * 4, threshold=0.9)
    rows = fairtrial("history", "--series", "eval_set", "--json", "-").json["rows"]
    assert [row["value"]["value"] for row in rows] == [1.0] * 4 + [0.0] * 4
    assert [row["step"] for row in rows] == [None] * 8
    assert [bool(row["new_segment"]) for row in rows] == [False] * 4 + [True] + [False] * 3
    assert "threshold changed from 0.5 to 0.9" in rows[4]["new_segment"]
    assert [row["compared"] for row in rows] == [0, 40, 40, 40, 0, 40, 40, 40]


def test_an_edited_case_is_not_compared_with_its_earlier_attempts() -> None:
    """The row says how many cases are compared."""
    graded_run({name: [1.0] for name in CASES}, store=DEFAULT_URL)
    queries = dict.fromkeys(CASES[:10], "Another question?")
    graded_run({name: [1.0] for name in CASES}, store=DEFAULT_URL, queries=queries)
    rows = fairtrial("history", "--series", "eval_set", "--json", "-").json["rows"]
    assert [row["compared"] for row in rows] == [0, 30]


def test_runs_of_another_series_are_left_out() -> None:
    """Without fields, all runs are one series."""
    graded_run({"a": [1.0]}, store=DEFAULT_URL, eval_set="first")
    second = graded_run({"a": [1.0]}, store=DEFAULT_URL, eval_set="second").info.id
    assert [row["id"] for row in fairtrial("history", "--json", "-").json["rows"]] == [second]
    assert fairtrial("history", "--series", "", "--json", "-").json["rows"][1]["id"] == second


def test_a_measure_without_ends_has_rows_and_no_steps() -> None:
    """The report says why."""
    for _ in range(3):
        graded_run({name: [1.0] for name in CASES}, store=DEFAULT_URL, criteria=[graded(span=Range(0, None))])
    done = fairtrial("history", "--measure", "quality")
    assert "no step is looked for" in done.out


@pytest.mark.long
@pytest.mark.parametrize(
    ("outcomes", "state", "first"),
    [
        ([1, 1, 0, 0, 0], "broken", 2),
        ([1, 1, 1, 1, 0], "broken", 4),
        ([0, 0, 1, 1, 1], "passing", 2),
        ([1, 0, 1, 0, 1], "flaky", 1),
        ([1, 0, 1, 1, 1], "passing", 2),
        ([1, 1, 1, 1, 1], "passing", 0),
    ],
)
def test_the_state_of_a_case_is_told_since_its_first_run(outcomes: list[float], state: str, first: int) -> None:
    """A case that went back and forth is flaky until three runs are alike."""
    ids = store_runs([{"refund": [value], "other": [1.0]} for value in outcomes])
    found = fairtrial("history", "--case", "refund", "--json", "-").json
    assert (found["state"], found["since"]) == (state, ids[first])
    assert found["pass_rate"]["value"] == pytest.approx(sum(outcomes) / 5)


def test_a_case_that_went_away_is_not_told_as_one_that_runs_now() -> None:
    """The last two runs lack the case."""
    kept = {"refund": [1.0], "other": [1.0]}
    store_runs([kept, kept, {"other": [1.0]}, {"other": [1.0]}])
    out = " ".join(fairtrial("history", "--case", "refund").out.split())
    assert "refund is passing since" in out
    assert out.endswith("; not in the newest 2 runs.")
    assert fairtrial("history", "--case", "refund", "--json", "-").json["later_runs"] == 2
    assert "not in the newest" not in fairtrial("history", "--case", "other").out


@pytest.mark.parametrize(("value", "bars"), [(0.0, "▁▁"), (1.0, "██")])
def test_the_bars_of_a_series_where_all_fails_are_low(value: float, bars: str) -> None:
    """If all passes, they are full."""
    store_runs([{"refund": [value]}] * 2)
    assert fairtrial("history").out.splitlines()[1] == bars


def test_attempts_that_differ_within_a_run_make_a_case_flaky() -> None:
    """One run is enough."""
    ids = store_runs([{"refund": [1.0, 1.0]}, {"refund": [1.0, 0.0]}])
    done = fairtrial("history", "--case", "refund")
    assert f"refund is flaky since {ids[1]}" in done.out
    assert "75 % of the attempts passed" in done.out


def test_a_list_of_runs_leaves_out_what_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 40 columns, a run without an edited case names neither edits nor attempts without a verdict."""
    monkeypatch.setenv("COLUMNS", "40")
    store_runs([{"refund": [1.0]}, {"refund": [0.0]}])
    lines = [line.strip() for line in fairtrial("history", "--case", "refund").out.splitlines()]
    assert any(line.startswith("passed 1, attempts 1") for line in lines)
    assert all(", ," not in line and "without verdict" not in line for line in lines)


def test_a_case_that_no_run_has_is_refused_with_the_nearest_name() -> None:
    """The user probably meant it."""
    store_runs([{"refund": [1.0]}])
    done = fairtrial("history", "--case", "refnd")
    assert done.code == 2
    assert "no run of the series has a case 'refnd'" in done.err
    assert "refund" in done.err


def test_the_python_function_returns_what_the_command_writes() -> None:
    """Both read the same store."""
    store_runs([{"refund": [1.0]}] * 2)
    assert [row.id for row in history().rows] == [row["id"] for row in fairtrial("history", "--json", "-").json["rows"]]


@pytest.mark.parametrize(
    ("judge", "simulator", "cost"),
    [
        (ModelUsage(2, cost=0.5), ModelUsage(1, cost=0.25), 0.75),
        (ModelUsage(2, cost=0.5, unpriced_calls=1), None, None),
        (ModelUsage(2, cost=0.5), ModelUsage(1, cost=None), None),
        (None, None, None),
    ],
)
def test_a_cost_is_shown_if_every_call_has_a_price(
    judge: ModelUsage | None, simulator: ModelUsage | None, cost: float | None
) -> None:
    """A sum without the calls of unknown prices would be too small."""
    run = graded_run({"refund": [1.0]}, store=DEFAULT_URL)
    with closing(open_store(DEFAULT_URL)) as store:
        spending = RunUsage(judge=judge, simulator=simulator)
        store.finish(run.info, replace(run.summary, spending=spending))
    (row,) = history().rows
    assert row.cost == cost


def commit(day: int) -> None:
    """A commit with an author date, in a repository in the working folder."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "init", "-q"], check=True)
    words = ("commit", "-q", "--allow-empty", "-m", "x", "--date", f"2026-03-0{day}T00:00:00+00:00")
    subprocess.run(["git", *who, *words], check=True)


def test_runs_are_in_the_order_of_their_times_or_of_their_commits() -> None:
    """The newer commit ran first."""
    ids = []
    for day in (3, 2):
        commit(day)
        ids += store_runs([{"a": [1.0]}])
    assert [row["id"] for row in fairtrial("history", "--json", "-").json["rows"]] == ids
    rows = fairtrial("history", "--order", "commit", "--json", "-").json["rows"]
    assert [row["id"] for row in rows] == ids[::-1]
    assert [row["date"][:10] for row in rows] == ["2026-03-02", "2026-03-03"]


def test_a_row_names_the_job_that_made_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report of JSON has the address of its page."""
    monkeypatch.setenv("CIRCLE_JOB", "evals")
    monkeypatch.setenv("CIRCLE_BUILD_URL", "https://circleci.com/gh/o/r/7")
    store_runs([{"a": [1.0]}])
    (row,) = fairtrial("history", "--json", "-").json["rows"]
    assert (row["ci"], row["ci_url"]) == ("CircleCI evals", "https://circleci.com/gh/o/r/7")
    assert "CircleCI evals" in " ".join(fairtrial("history").out.split())


def test_models_are_a_column_if_they_changed() -> None:
    """One model of all runs is no news."""
    first, second = store_runs([{"a": [1.0]}, {"a": [1.0]}])
    for run, model in ((first, "model-a"), (second, "model-a")):
        name_model(run, model)
    assert "model-a" not in fairtrial("history").out
    name_model(second, "model-b")
    shown = " ".join(fairtrial("history").out.split())
    assert "model-a" in shown
    assert "model-b" in shown


def name_model(run: str, model: str) -> None:
    """Write the model of a run into the store."""
    with closing(open_store(DEFAULT_URL)) as store:
        info, summary = store.run(run), store.summary(run)
        assert summary is not None
        store.finish(replace(info, models=(model,)), summary)

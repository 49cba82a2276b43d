"""The failure modes of a data set that was scored into a folder are those of a run with the same conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from traffic import conversation, write_expectation, write_lines

import fairtrial
from commands import enter
from commands import fairtrial as command
from fairtrial.analysis.failures import failure_tally
from fairtrial.analysis.failures.failure_tally import EvenSample, FailureTally
from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.loading import shards
from fairtrial.records.failure_mode import FailedAttempt, Failures, Signature


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 4 KB, so that a small file has many."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 4096)


def scored(recorded: Path, folder: Path, *options: str | Path) -> Path:
    """Score a data set into a folder, without a store."""
    done = command("score", recorded, "--out", folder, "--store", "none", "--quiet", *options)
    assert done.code == 1, done.err
    return folder


def numbers(found: Failures) -> list[tuple[Any, ...]]:
    """What a list of modes shows."""
    return [
        (own.name, own.side, own.cases, own.attempts, own.repaired, own.of_failures, own.of_cases, own.median_step)
        for own in found.modes
    ]


@pytest.mark.long
def test_modes_of_attempts_at_cases_are_those_of_a_run(tmp_path: Path) -> None:
    """Several conversations answer a case of an eval set, in several shards, and one case was never answered."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i, i % 5) for i in range(60)])
    expected = write_expectation(tmp_path, extra_cases=1)
    folder = scored(recorded, tmp_path / "out", "--against", expected)
    ours, theirs = fairtrial.failures(folder), fairtrial.score(recorded, expected).failures()
    assert numbers(ours) == numbers(theirs)
    assert (ours.cases, ours.attempts, ours.failed_cases, ours.failed_attempts) == (
        theirs.cases,
        theirs.attempts,
        theirs.failed_cases,
        theirs.failed_attempts,
    )
    assert len(ours.failed) == ours.failed_attempts
    assert {(own.case, own.reason, own.step) for own in ours.failed} == {
        (own.case, own.reason, own.step) for own in theirs.failed
    }


@pytest.mark.long
@pytest.mark.parametrize("ids", [30, 45])
def test_modes_without_an_eval_set_are_those_of_a_run(tmp_path: Path, ids: int) -> None:
    """Conversations with the same id in a file are attempts at a case, otherwise each is a case."""
    config = tmp_path / "calls.config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 0}}))
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i % ids) for i in range(45)])
    folder = scored(recorded, tmp_path / "out", "--config", config)
    run = fairtrial.score(recorded, criteria=config)
    assert numbers(fairtrial.failures(folder)) == numbers(run.failures())
    assert fairtrial.failures(folder).failed_cases == ids


@pytest.mark.long
def test_the_command_lists_the_modes_of_a_folder(tmp_path: Path) -> None:
    """The command takes a folder, and lists the attempts of a mode. Notes of people need the run in the store."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i, i % 5) for i in range(60)])
    folder = scored(recorded, tmp_path / "out", "--against", write_expectation(tmp_path))
    done = command("failures", folder, "--mode", "1")
    assert done.code == 0, done.err
    assert "cancel_order is called and was not expected" in done.out
    refused = command("failures", folder, "--notes", tmp_path / "notes.csv")
    assert refused.code == 2
    assert "give the id of the run" in refused.err


@pytest.mark.long
def test_a_mode_of_a_folder_becomes_a_guard_and_cases(tmp_path: Path) -> None:
    """The guard fails all 20 kept attempts of the mode. A folder keeps no pass, so that none was tried."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i, i % 5) for i in range(60)])
    folder = scored(recorded, tmp_path / "out", "--against", write_expectation(tmp_path))
    guard, cases = tmp_path / "guard.json", tmp_path / "cases.evalset.json"
    done = command("failures", folder, "--mode", "1", "--to-criterion", guard, "--to-cases", cases)
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "catches 20 of 20 attempts of the mode" in text
    assert "no attempt that passed is there to try it on" in text
    again = fairtrial.score(recorded, cases, criteria=guard)
    assert again.summary.cases == {"failed": 20, "passed": 40}
    assert sorted(case.id for case in fairtrial.load_eval_set(cases).cases) == [f"case_{n}" for n in range(5)]


def test_cases_of_traffic_without_expectations_hold_the_messages_of_the_user(tmp_path: Path) -> None:
    """The regression set of a mode can be run against an agent, although the data set expects nothing."""
    config = tmp_path / "calls.config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 0}}))
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(10)])
    folder = scored(recorded, tmp_path / "out", "--config", config)
    cases = tmp_path / "cases.evalset.json"
    done = command("failures", folder, "--mode", "1", "--to-cases", cases)
    assert done.code == 0, done.err
    loaded = fairtrial.load_eval_set(cases).cases
    assert len(loaded) == fairtrial.failures(folder).modes[0].cases
    turns = [case.conversation or () for case in loaded]
    assert all(own[0].query.startswith("Where is order") for own in turns)


def cancelling(number: int, *, cancels: bool) -> dict[str, Any]:
    """A conversation that looks up an order, or cancels it."""
    return conversation(3 * number if cancels else 3 * number + 1)


@pytest.mark.long
def test_two_days_of_traffic_share_no_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of 2 % on a day and of 20 % on the next has grown, and a failure that was not there is new."""
    enter(tmp_path, monkeypatch)
    config = tmp_path / "calls.config.json"
    config.write_text(json.dumps({"criteria": {"tool_calls": 1.0}, "custom_metrics": {"tool_calls": METRIC}}))
    (tmp_path / "order_metric.py").write_text(MODULE)
    days = {"monday": 2, "tuesday": 20, "none": 0}
    folders = {}
    for day, share in days.items():
        lines = [cancelling(number, cancels=number % 100 < share) for number in range(200)]
        recorded = write_lines(tmp_path / f"{day}.jsonl", [{**own, "id": f"{day}-{own['id']}"} for own in lines])
        done = command("score", recorded, "--out", tmp_path / day, "--store", "none", "--quiet", "--config", config)
        assert done.code == bool(share), done.err
        folders[day] = tmp_path / day
    (grown,) = fairtrial.failure_changes(folders["tuesday"], folders["monday"]).changes
    assert (grown.change, grown.cases_before, grown.cases_now) == ("grown", 4, 40)
    assert grown.low <= 0.18 <= grown.high
    (new,) = fairtrial.failure_changes(folders["tuesday"], folders["none"]).changes
    assert new.change == "new"
    (gone,) = fairtrial.failure_changes(folders["none"], folders["tuesday"]).changes
    assert gone.change == "gone"
    (same,) = fairtrial.failure_changes(folders["monday"], folders["monday"]).changes
    assert same.change == "unchanged"


METRIC = {"code_config": {"name": "order_metric.cancels"}}
MODULE = """
from fairtrial import EvalCase, Score, Trace


def cancels(trace: Trace, case: EvalCase) -> float:
    return float(all(call.name != "cancel_order" for own in trace.invocations for call in own.tool_calls))
"""


@pytest.mark.long
def test_traffic_that_answers_the_same_cases_is_compared_case_by_case(tmp_path: Path) -> None:
    """Of 40 conversations with each of 20 cases, one day none cancels the order, and on the next day a quarter does."""
    expected = write_expectation(tmp_path, extra_cases=15)
    folders = []
    for day, share in (("monday", 0), ("tuesday", 10)):
        lines = [{**cancelling(n % 40, cancels=n % 40 < share), "id": f"case_{n // 40}"} for n in range(800)]
        recorded = write_lines(tmp_path / f"{day}.jsonl", lines)
        folders.append(scored(recorded, tmp_path / day, "--against", expected))
    changes = fairtrial.failure_changes(folders[1], folders[0])
    assert changes.cases == 20
    found = {own.name: own for own in changes.changes}
    own = found["cancel_order is called and was not expected"]
    assert own.change == "new"
    assert (own.cases_before, own.cases_now) == (0, 20)
    assert own.now == pytest.approx(0.25)


@pytest.mark.long
def test_a_folder_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    """A folder without decisive steps does not say that nothing failed."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i, i % 5) for i in range(60)])
    folder = scored(recorded, tmp_path / "out", "--against", write_expectation(tmp_path))
    for path in (folder / "failures").iterdir():
        path.unlink()
    done = command("failures", folder)
    assert done.code == 2
    assert "score it again" in done.err


def failure(position: int, tool: str) -> FailedAttempt:
    """A failure of a kind that its tool names."""
    return FailedAttempt(position, f"case {position}", 1, Signature("missing", tool=tool), "agent", "planted")


def test_rare_kinds_are_forgotten_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among 3,000 kinds that occur once, the kinds that are frequent keep their counts, up to the stated error."""
    monkeypatch.setattr(failure_tally, "MOST_SIGNATURES", 200)
    tally = FailureTally(most_members=10)
    for position in range(6000):
        tool = f"often_{position % 3}" if position % 2 else f"rare_{position}"
        tally.add_case({tally.add(failure(position, tool), frozenset()): 1})
    assert len(tally.signatures) <= 200
    found = count_modes(tally, "run", largest_distance=0)
    assert (found.failed_attempts, found.cases) == (6000, 6000)
    largest = {own.name: own.attempts for own in found.modes if "often" in own.name}
    assert set(largest) == {f"often_{number} is not called" for number in range(3)}
    assert all(1000 - tally.most_forgotten <= number <= 1000 for number in largest.values())
    assert found.alone == 6000 - sum(own.attempts for own in found.modes)
    assert any("of the rarest kinds count as alone" in note for note in found.notes)


def test_an_even_sample_keeps_every_nth() -> None:
    """A sample of at most 10 of 100 numbers takes them at equal distances."""
    sample: EvenSample[int] = EvenSample(10)
    for number in range(100):
        sample.add(number)
    assert sample.items == list(range(0, 100, 16))

"""The failure modes of a data set that was scored into a folder are those of a run with the same conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from traffic import conversation, write_expectation, write_lines

import fairtrial
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


def test_the_command_lists_the_modes_of_a_folder(tmp_path: Path) -> None:
    """The command takes a folder, and lists the attempts of a mode. A guard needs the run in the store."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i, i % 5) for i in range(60)])
    folder = scored(recorded, tmp_path / "out", "--against", write_expectation(tmp_path))
    done = command("failures", folder, "--mode", "1")
    assert done.code == 0, done.err
    assert "cancel_order is called and was not expected" in done.out
    refused = command("failures", folder, "--mode", "1", "--to-cases", tmp_path / "cases.json")
    assert refused.code == 2
    assert "give the run in the store" in refused.err


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

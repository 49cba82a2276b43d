"""Two runs side by side: a planted new failure is called new, and chance alone is not."""

from __future__ import annotations

import random

import pytest

from fairtrial.analysis.failures.failure_tally import FailureTally
from fairtrial.analysis.failures.mode_changes import compare_modes, rates_of_run
from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.analysis.failures.modes import assign
from fairtrial.records.failure_mode import FailedAttempt, Failures, ModeChanges, Signature
from fairtrial.records.keys import CaseKey

CASES = 200
KEYS = {position: CaseKey("set", f"case {position}", "digest") for position in range(CASES)}
OLD = [Signature("missing", tool=f"tool_{name}") for name in "abcdefghijklmnopqrst"]
NEW = Signature("unexpected", tool="delete_account")


def run(name: str, signatures: dict[int, Signature]) -> Failures:
    """The failures of a run of 200 cases, from the signature of each case that failed."""
    tally = FailureTally()
    for position in range(CASES):
        tally.attempts += 1
        failures = {}
        if position in signatures:
            failed = FailedAttempt(position, f"case {position}", 1, signatures[position], "agent", "planted")
            failures[tally.add(failed, frozenset())] = 1
        tally.add_case(failures)
    return count_modes(tally, name)


def compare(before: Failures, now: Failures, keys: dict[int, CaseKey] = KEYS) -> ModeChanges:
    """The changes of two runs. `keys` are the cases of the later run."""
    return compare_modes(before, now, rates_of_run(before, KEYS), rates_of_run(now, keys))


def drawn(rng: random.Random) -> dict[int, Signature]:
    """Failures of 40 % of the cases. Each case tends to one of twenty kinds, the first ones more often."""
    found = {}
    for position in range(CASES):
        if rng.random() < 0.4:
            usual = OLD[min(int(random.Random(position).expovariate(0.25)), 19)]
            found[position] = usual if rng.random() < 0.7 else rng.choice(OLD)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_planted_new_failure_is_called_new(seed: int) -> None:
    """A failure that is new in 5 % of the cases is the only mode called new."""
    rng = random.Random(seed)
    before, now = drawn(rng), drawn(rng)
    now |= dict.fromkeys(rng.sample(range(CASES), CASES // 20), NEW)
    changes = compare(run("a", before), run("b", now)).changes
    assert [change.name for change in changes if change.change == "new"] == [
        "delete_account is called and was not expected"
    ]


@pytest.mark.parametrize("seed", range(20))
def test_chance_alone_makes_no_mode_new(seed: int) -> None:
    """Two runs of the same agent have no new mode."""
    rng = random.Random(1000 + seed)
    changes = compare(run("a", drawn(rng)), run("b", drawn(rng))).changes
    assert [change.name for change in changes if change.change == "new"] == []


def test_modes_that_went_away_are_gone() -> None:
    """A mode of 20 cases that no case has any more is gone, and its difference is minus a tenth of the cases."""
    before = dict.fromkeys(range(20), NEW) | dict.fromkeys(range(20, 40), OLD[0])
    changes = compare(run("a", before), run("b", dict.fromkeys(range(20, 40), OLD[0])))
    (gone,) = (change for change in changes.changes if change.change == "gone")
    assert (gone.cases_before, gone.cases_now, gone.number) == (20, 0, None)
    assert gone.difference == pytest.approx(-0.1)
    assert gone.low < -0.1 < gone.high < 0


def test_only_cases_of_both_runs_count() -> None:
    """A run with other cases is compared on the common ones, and a note says how many these are."""
    half = {position: key for position, key in KEYS.items() if position < 100}
    changes = compare(run("a", dict.fromkeys(range(200), NEW)), run("b", {0: NEW, 1: NEW}), half)
    assert changes.cases == 100
    (row,) = changes.changes
    assert (row.cases_before, row.cases_now) == (100, 2)
    assert changes.notes == ("100 cases in both runs unchanged, of 100 in this run and 200 in the earlier run",)


def test_a_known_signature_keeps_its_mode() -> None:
    """A failure of another run belongs to the mode that has its signature, and an unknown one to none."""
    modes = [[OLD[0]], [OLD[1], OLD[2]]]
    assert assign(OLD[2], modes) == 1
    assert assign(NEW, modes) is None

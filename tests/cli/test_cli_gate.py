"""The command `fairtrial gate` exits with the verdict, and `run --until-decided` stops in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial import Trace
from fairtrial.api.stores import open_store
from fairtrial.store import DEFAULT_URL
from graded_runs import graded_run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set of ten cases."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set(*(f"good_{number}" for number in range(10))))


def mostly_wrong(conversation: Trace) -> str:
    """Fail every case but one."""
    return "ok" if conversation.invocations[-1].query == "good_0" else "no"


def stored(rate: float, cases: int = 50) -> str:
    """The id of a run in the store with this share of passes."""
    values = {f"case {number}": [float(number < rate * cases)] for number in range(cases)}
    return graded_run(values, store=DEFAULT_URL).info.id


@pytest.mark.parametrize(("rate", "code", "word"), [(0.98, 0, "PASSED"), (0.3, 1, "FAILED"), (0.84, 3, "UNDECIDED")])
def test_the_exit_code_is_the_verdict(rate: float, code: int, word: str) -> None:
    """0 passed, 1 failed, 3 undecided."""
    done = fairtrial("gate", stored(rate), "--at-least", "0.8")
    assert done.code == code
    assert f"{word}: cases at least 80 %" in done.out


def test_undecided_can_be_allowed() -> None:
    """It is said aloud."""
    done = fairtrial("gate", stored(0.84), "--at-least", "0.8", "--allow-undecided")
    assert done.code == 0
    assert "undecided, which --allow-undecided allows" in done.err


def test_the_promise_of_the_gate_is_printed() -> None:
    """What a false claim has to expect."""
    done = fairtrial("gate", stored(0.98), "--not-worse-by", "0.2", "--against", stored(0.98))
    assert "An agent that is worse by 20 points passes this gate at most 5 times in 100." in done.out


def test_claims_may_stand_in_a_file() -> None:
    """All of them must hold."""
    write("gates.json", [{"measure": "cases", "at_least": 0.8}, {"measure": "quality", "at_least": 0.99, "alpha": 0.1}])
    done = fairtrial("gate", stored(0.98), "--gates", "gates.json", "--json", "-")
    assert [claim["verdict"] for claim in done.json["claims"]] == ["passed", "undecided"]
    assert (done.json["kind"], done.json["verdict"], done.code) == ("gate", "undecided", 3)


def test_every_problem_of_a_file_is_named() -> None:
    """With its place, in the words that every file of options gets."""
    entries = [
        *({"at_lest": 0.8}, {"at_least": "much"}, {"at_least": 0.1, "better_by": 0.1}, 3),
        *({"at_least": 0.8, "alpha": 0.7}, {"at_least": 0.8, "measure": 5}, {"notWorseBy": None, "alpha": 0.1}),
    ]
    write("gates.json", entries)
    done = fairtrial("gate", stored(0.98), "--gates", "gates.json")
    assert done.code == 2
    assert done.err.removeprefix("fairtrial: ").replace(" [unreadable-file]", "").splitlines() == [
        f"gates.json: {problem}"
        for problem in (
            "/0/at_lest: is not a known option; did you mean 'at_least'?",
            "/1/at_least: must be a number, or null, got 'much'",
            "/2: must have one of at_least, at_most, not_worse_by, better_by, got at_least, better_by",
            "/3: must be an object, got 3",
            "/4/alpha: must be a number above 0 and below 0.5, got 0.7",
            "/5/measure: must be a string, got 5",
            "/6: must have one of at_least, at_most, not_worse_by, better_by, got none",
        )
    ]


def test_a_claim_that_is_given_twice_is_refused() -> None:
    """Neither value can be meant more than the other."""
    Path("gates.json").write_text('[{"at_least": 0.9, "at_least": 0.1}]', encoding="utf-8")
    done = fairtrial("gate", stored(0.98), "--gates", "gates.json")
    assert (done.code, "gates.json: /0/at_least: stands there twice; keep one" in done.err) == (2, True)


def test_a_gate_needs_a_claim() -> None:
    """The message names the options."""
    done = fairtrial("gate", stored(0.98))
    assert done.code == 2
    assert "--at-least X" in done.err


@pytest.fixture(autouse=True)
def agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agents of this module can be named."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def test_a_run_stops_when_its_claim_is_decided() -> None:
    """Ten cases that always pass decide "at least 0.5" in the first wave, and nine of ten attempts are saved."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--until-decided", "--at-least", "0.5",
        "--json", "r.json",
    )  # fmt: skip
    assert done.code == 0
    assert "decided after 1 of at most 10 attempts of 10 cases; 90 attempts saved" in done.out
    decision = json.loads(Path("r.json").read_text())["run"]["decision"]
    assert decision["attempts_saved"] == 90
    assert decision["claims"][0]["evidence"] >= 20


def test_a_claim_that_is_refuted_stops_the_run_too() -> None:
    """One case of ten passes. The exit code is about the claim."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "test_cli_gate:mostly_wrong", "--until-decided", "--at-least", "0.8"
    )
    assert done.code == 1
    assert "FAILED: cases at least 80 % on these 10 cases (evidence against it" in done.out


def test_a_run_that_cannot_be_decided_ends_at_its_attempts() -> None:
    """Exit code 3, as for everything undecided."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--until-decided", "--at-least", "0.99",
        "--attempts", "2",
    )  # fmt: skip
    assert done.code == 3
    assert "undecided after 2 of at most 2 attempts of each case" in done.out


@pytest.mark.long
def test_claims_against_a_base_take_as_many_waves_as_the_base_has() -> None:
    """The base has one attempt of each case."""
    base = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--json", "-").json["run"]["id"]
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--until-decided", "--not-worse-by", "0.05",
        "--against", base,
    )  # fmt: skip
    assert done.code == 3
    assert "undecided after 1 of at most 1 attempt of each case" in done.out


@pytest.mark.long
def test_a_resumed_run_comes_to_the_same_decision() -> None:
    """The evidence is computed again from the stored results, and more attempts may be allowed."""
    options = ("--agent", "commands:obedient", "--until-decided", "--at-least", "0.9")
    first = fairtrial("run", "trips.evalset.json", *options, "--attempts", "1", "--json", "-")
    assert first.code == 3
    resumed = fairtrial("run", "--resume", first.json["run"]["id"], "--attempts", "5", "--json", "-")
    assert resumed.code == 0
    whole = fairtrial("run", "trips.evalset.json", *options, "--attempts", "5", "--json", "-")
    assert resumed.json["run"]["decision"]["claims"] == whole.json["run"]["decision"]["claims"]


def test_claims_are_checked_before_anything_runs() -> None:
    """A measure that the criteria do not give."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--until-decided", "--at-least", "0.5",
        "--measure", "speed",
    )  # fmt: skip
    assert done.code == 2
    assert "has no measure 'speed'" in done.err


def test_the_share_of_cases_is_refused_before_anything_runs() -> None:
    """No single attempt says whether a case passes by its rule."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--until-decided", "--at-least", "0.5",
        "--measure", "cases:pass",
    )  # fmt: skip
    assert done.code == 2
    assert "cases:pass: no single wave says whether a case passes" in done.err
    assert fairtrial("runs").out == "" or "run" not in fairtrial("runs").out


def test_until_decided_needs_a_claim() -> None:
    """Without a claim, nothing could be decided."""
    command = ("run", "trips.evalset.json", "--agent", "commands:obedient")
    assert "needs a claim" in fairtrial(*command, "--until-decided").err


@pytest.mark.parametrize(("limit", "verdict", "code"), [("0.5", "PASSED", 0), ("1", "UNDECIDED", 3)])
def test_claims_of_a_run_are_decided_after_it(limit: str, verdict: str, code: int) -> None:
    """With claims and a fixed number of attempts, the exit code is that of `fairtrial gate`."""
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--at-least", limit)
    assert (done.code, f"{verdict}: cases at least" in done.out) == (code, True)
    run_id = fairtrial("runs", "--quiet", "--limit", "1").out.strip()
    assert fairtrial("gate", run_id, "--at-least", limit).code == code


def test_an_unfinished_base_is_refused_before_anything_runs() -> None:
    """Its attempts are not all there, and the message says how to make them."""
    base = stored(0.98)
    store = open_store(DEFAULT_URL)
    store.begin(replace(store.run(base), finished=None, verdict=None))
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--until-decided", "--not-worse-by", "0.1",
        "--against", base,
    )  # fmt: skip
    assert done.code == 2
    assert f"--against {base}: must be a finished run; continue it with --resume" in " ".join(done.err.split())
    assert [info.id for info in store.runs()] == [base]

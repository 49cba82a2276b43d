"""Commands about finished runs report the cases that ran, if only some cases of an eval set did."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial import Claim, EvalCase, EvalSet, Invocation, Message, Run, Trace, compare, evaluate, gate, plan
from fairtrial.api import flaky
from fairtrial.store import DEFAULT_URL
from graded_runs import graded

NAMES = [f"c{number}" for number in range(15)]
FLAKY = ("c5", "c12")
LATER = NAMES[3:]


def uneven() -> Callable[[Trace], str]:
    """An agent that passes every second attempt at the flaky cases, and every attempt at all others."""
    calls: Counter[str] = Counter()

    def reply(conversation: Trace) -> str:
        query = conversation.invocations[-1].query
        calls[query] += 1
        return str(calls[query] % 2 if query in FLAKY else 1)

    return reply


def steady(conversation: Trace) -> str:
    """Pass every attempt."""
    del conversation
    return "1"


def make_run(names: Sequence[str], only: Sequence[str] = (), agent: Callable[[Trace], str] | None = None) -> Run:
    """A run of an eval set with these cases, or of only some of them, with 4 attempts each."""
    cases = EvalSet("set", tuple(EvalCase(name, (Invocation(Message(name)),)) for name in names))
    return evaluate(cases, agent or uneven(), [graded()], attempts=4, concurrency=1, only=only, store=DEFAULT_URL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, with its own store. The agents of this module can be named."""
    enter(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture(params=["store", "report", "export"])
def later(request: pytest.FixtureRequest) -> str:
    """A run of the last twelve of fifteen cases: its id, its JSON report, or its export."""
    run = make_run(NAMES, only=LATER)
    if request.param == "store":
        return run.info.id
    if request.param == "report":
        run.save(json="later.json")
        return "later.json"
    fairtrial("runs", "export", run.info.id, "later.jsonl")
    return "later.jsonl"


def test_flaky_names_the_cases_that_are_flaky(later: str) -> None:
    """Cases in front that did not run shift nothing, and the last cases do not fall out."""
    found = flaky(later)
    assert [(case.case, case.passed, case.attempts) for case in found.cases] == [("c5", 2, 4), ("c12", 2, 4)]
    assert (found.always, found.never) == (10, 0)
    assert {case.cause for case in found.cases} <= {"agent", None}


def test_a_gate_counts_every_case_that_ran(later: str) -> None:
    """Twelve cases, of which ten pass always and two every second time."""
    decision = gate(later, [Claim("at_least", 0.5)], about="these-cases")
    assert decision.claims[0].estimate == pytest.approx((10 + 2 * 0.5) / 12)
    assert decision.signature.startswith("cases:12|")


@pytest.mark.long
@pytest.mark.parametrize("others", [NAMES, NAMES[5:], NAMES[::2], [*reversed(NAMES)]])
def test_runs_are_paired_by_the_keys_of_their_cases(later: str, others: list[str]) -> None:
    """The other run has more cases, lacks some in front, lacks every second, or has them in another order."""
    found = compare(later, make_run(others, agent=steady))
    shared = [name for name in LATER if name in others]
    assert found.pairs.cases == len(shared)
    assert {move.case: (move.base, move.candidate) for move in found.moved} == {
        name: ((2, 4), (4, 4)) for name in FLAKY if name in shared
    }
    assert set(found.pairs.only_base) == set(LATER) - set(others)
    assert set(found.pairs.only_candidate) == set(others) - set(LATER)


def test_a_plan_measures_the_cases_that_ran(later: str) -> None:
    """The variance between attempts is that of twelve cases: two have 1/3, ten have none."""
    found = plan(later, half_width=0.1)
    assert found.variance.attempt == pytest.approx(2 * (1 / 3) / 12)
    assert found.signature.startswith("cases:12|")


@pytest.mark.long
def test_waves_are_paired_by_the_keys_of_their_cases() -> None:
    """Both runs hold the last seven of ten cases, and the last two broke: a difference of 2 in 7."""
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set(*(f"good_{number}" for number in range(10))))
    later = [option for number in range(3, 10) for option in ("--only", f"good_{number}")]
    command = ("run", "trips.evalset.json", *later, "--json", "-", "--agent")
    base = fairtrial(*command, "commands:obedient", "--attempts", "2").json["run"]["id"]
    claim = ("--until-decided", "--not-worse-by", "0.1", "--against", base, "--attempts", "2")
    (decided,) = fairtrial(*command, "test_right_cases:wrong_at_last", *claim).json["run"]["decision"]["claims"]
    assert decided["estimate"] == pytest.approx(-2 / 7)
    assert decided["missing"] == [0, 0]


def wrong_at_last(conversation: Trace) -> str:
    """Fail the last two cases."""
    return "no" if conversation.invocations[-1].query in ("good_8", "good_9") else "ok"


def test_an_attempt_of_no_case_gives_no_number() -> None:
    """A store that lost one of its cases: the attempts of that case are not counted for the next one."""
    run = make_run(NAMES[:4]).info.id
    with closing(sqlite3.connect(".fairtrial/fairtrial.db")) as store, store:
        store.execute("DELETE FROM fairtrial_cases WHERE position = 1")
    for command in (("flaky", run), ("gate", run, "--at-least", "0.5"), ("plan", run, "--half-width", "0.1")):
        done = fairtrial(*command)
        assert done.code == 2
        assert f"run {run}: holds attempts at position 1, and no case there" in done.err


def test_a_case_without_any_attempt_is_missing() -> None:
    """An interrupted run: the gate does not take the cases that it never asked for passed."""
    run = make_run(NAMES[:4])
    with closing(sqlite3.connect(".fairtrial/fairtrial.db")) as store, store:
        store.execute("DELETE FROM fairtrial_scores WHERE position = 3")
        store.execute("DELETE FROM fairtrial_results WHERE position = 3")
    (claim,) = gate(run.info.id, [Claim("at_least", 0.5)]).claims
    assert claim.missing == (0, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        "compare {base} {again}",
        "gate {again} --against {base} --better-by 0",
        "gate {base} --against {again} --better-by 0",
        "plan {again} {base} --detect 0.1",
    ],
)
def test_a_run_of_failed_cases_is_not_compared_with_the_run_that_chose_them(command: str) -> None:
    """Cases that were chosen because they failed do better the next time by chance alone."""
    base, again = runs_of_failed_cases(2)
    done = fairtrial(*command.format(base=base, again=again).split())
    assert done.code == 2
    assert f"run {again} holds the cases that did not pass in {base}" in done.err
    assert f"run both with --failed-from {base}" in done.err


def test_a_choice_is_remembered_over_several_runs() -> None:
    """The failed cases of failed cases were chosen by the first run, too."""
    first, _, third = runs_of_failed_cases(3)
    assert f"did not pass in {first}" in fairtrial("compare", first, third).err


@pytest.mark.long
def test_two_fresh_runs_of_failed_cases_are_compared() -> None:
    """Both took the same cases, and neither chose them."""
    first, second = runs_of_failed_cases(2)
    other = fresh_run("--failed-from", first)
    assert fairtrial("compare", second, other).code == 0


def test_a_run_of_failed_cases_is_not_decided_against_the_run_that_chose_them() -> None:
    """It is said before anything runs."""
    (base,) = runs_of_failed_cases(1)
    done = fairtrial(
        *COMMAND, "--failed-from", base, "--until-decided", "--not-worse-by", "0.1", "--against", base
    )  # fmt: skip
    assert (done.code, f"did not pass in {base}" in done.err) == (2, True)


COMMAND = ("run", "trips.evalset.json", "--agent", "test_right_cases:wrong_at_last")


def fresh_run(*options: str) -> str:
    """The id of a new run."""
    return str(fairtrial(*COMMAND, "--json", "-", *options).json["run"]["id"])


def runs_of_failed_cases(number: int) -> list[str]:
    """The ids of a run, of a run of the cases that failed in it, and so on."""
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set(*(f"good_{number}" for number in range(6, 10))))
    ids = [fresh_run()]
    while len(ids) < number:
        ids.append(fresh_run("--failed-from", ids[-1]))
    return ids

"""Claims about a difference are undecided if the runs were measured in other ways, or on other cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial import Claim, Criterion, EvalCase, GateDecision, Run, Trace, compare, gate
from fairtrial.records.gate import ClaimDecision
from fairtrial.store import DEFAULT_URL
from graded_runs import graded, graded_run

SIXTY = [f"case {number}" for number in range(60)]
NOT_WORSE = Claim("not_worse_by", 0.2)


def make_run(criterion: Criterion | None = None, *more: Criterion, names: list[str] = SIXTY, attempts: int = 1) -> Run:
    """A run whose cases all have the value 0.7."""
    return graded_run({name: [0.7] * attempts for name in names}, criteria=[criterion or graded(0.5), *more])


def only_claim(decision: GateDecision) -> ClaimDecision:
    """The only claim of a decision."""
    (claim,) = decision.claims
    return claim


def always(trace: Trace, case: EvalCase) -> float:
    """Another metric under the name `quality`."""
    del trace, case
    return 0.7


OTHERS = {
    "threshold changed from 0.5 to 0.8": graded(0.8),
    "metric changed from graded_runs:quality to test_comparable:always": Criterion("quality", always, 0.5),
}


@pytest.mark.long
@pytest.mark.parametrize("measure", ["cases", "quality", "quality:pass"])
@pytest.mark.parametrize("difference", OTHERS)
def test_a_measure_that_was_taken_in_another_way_is_undecided(measure: str, difference: str) -> None:
    """Another threshold or other code: nothing is known about the agent, unless the user says so."""
    base, run = make_run(), make_run(OTHERS[difference])
    limit = Claim("not_worse_by", 0.2, measure)
    claim = only_claim(gate(run, [limit], against=base))
    assert (claim.verdict, claim.needed) == ("undecided", None)
    assert claim.why is not None
    assert claim.why.startswith("not comparable: ")
    assert difference in claim.why
    even_so = only_claim(gate(run, [limit], against=base, even_so=True))
    assert "not comparable" not in (even_so.why or "")
    assert even_so.verdict != "undecided"


def test_the_row_of_all_cases_is_not_compared_if_a_criterion_behind_it_differs() -> None:
    """A stricter threshold is no worse agent: the row has no p value and no verdict."""
    row = compare(make_run(), make_run(graded(0.8))).row("cases")
    assert (row.comparable, row.p, row.verdict) == (False, None, None)
    assert row.detectable is None, "such a comparison shows no difference of agents, whatever its size"
    assert row.why == "not comparable: quality threshold changed from 0.5 to 0.8"
    assert compare(make_run(), make_run(graded(0.8)), even_so=True).row("cases").verdict == "worse"


def test_a_criterion_of_one_run_alone_makes_cases_incomparable() -> None:
    """A case that has to pass more is not the same case."""
    claim = only_claim(gate(make_run(None, Criterion("more", always, 0.1)), [NOT_WORSE], against=make_run()))
    assert claim.verdict == "undecided"
    assert "more" in (claim.why or "")


def test_a_criterion_that_only_informs_does_not_matter_to_cases() -> None:
    """No verdict rests on it."""
    other = Criterion("more", always, None)
    assert gate(make_run(None, other), [NOT_WORSE], against=make_run()).verdict == "passed"


def test_a_claim_about_one_run_needs_no_comparable_base() -> None:
    """It says nothing about a difference."""
    assert gate(make_run(graded(0.6)), [Claim("at_least", 0.5)], against=make_run()).verdict == "passed"


def in_a_line(text: str) -> str:
    """A text without the line breaks of a narrow terminal."""
    return " ".join(text.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set of ten cases."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set(*(f"good_{number}" for number in range(10))))


COMMAND = ("run", "trips.evalset.json", "--agent", "commands:obedient", "--json", "-")


@pytest.mark.long
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("rules", [("all", "any"), ("all", "mean")])
def test_the_rule_of_attempts_matters_to_the_share_of_cases(rules: tuple[str, str]) -> None:
    """`cases:pass` is the share of the cases that pass by it."""
    ids = []
    for rule in rules:
        write("rules.json", {**MATCH, "attempts": {"count": 2, "pass": rule}})
        ids.append(fairtrial(*COMMAND, "--config", "rules.json").json["run"]["id"])
    done = fairtrial("gate", ids[1], "--not-worse-by", "0.5", "--against", ids[0], "--measure", "cases:pass")
    assert done.code == 3
    assert "not comparable: rule of attempts changed from all attempts pass to " in in_a_line(done.out)
    assert "attempts pass: all attempts pass -> " in in_a_line(fairtrial("compare", *ids).out)


@pytest.mark.long
def test_the_number_of_attempts_matters_to_the_share_of_cases() -> None:
    """All of four pass less often than both of two."""
    claim = Claim("not_worse_by", 0.2, "cases:pass")
    decided = only_claim(gate(make_run(attempts=4), [claim], against=make_run(attempts=2)))
    assert decided.why == "not comparable: attempts at case 0 changed from 2 to 4"
    assert gate(make_run(attempts=4), [NOT_WORSE], against=make_run(attempts=2)).verdict == "passed"


@pytest.mark.long
def test_a_criterion_is_compared_in_each_eval_set_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of files decides under which name a signature stands, and changes nothing."""
    enter(tmp_path, monkeypatch)
    for name, threshold in (("a", 0.8), ("b", 0.5)):
        write(f"{name}/test_config.json", {"criteria": {"response_match_score": threshold}})
        write(f"{name}/{name}.evalset.json", {**eval_set(*(f"good_{name}{n}" for n in range(15))), "eval_set_id": name})
    files = ["a/a.evalset.json", "b/b.evalset.json"]
    command = ("--agent", "commands:obedient", "--json", "-")
    both, turned, alone = (
        fairtrial("run", *order, *command).json["run"]["id"] for order in (files, files[::-1], files[1:])
    )
    for run in (turned, alone):
        assert "not comparable" not in fairtrial("compare", both, run).out


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_attempts_until_decided_stop_if_nothing_can_be_decided() -> None:
    """Another threshold in the base: one wave, exit code 3, and the reason."""
    base = fairtrial(*COMMAND, "--attempts", "5").json["run"]["id"]
    claim = ("--until-decided", "--not-worse-by", "0.3", "--against", base, "--threshold", "response_match_score=0.1")
    done = fairtrial(*COMMAND[:-2], *claim)
    assert done.code == 3
    assert "not comparable: response_match_score threshold changed from 0.8 to 0.1" in in_a_line(done.out)
    assert "undecided after 1 of at most 5 attempts" in in_a_line(done.out)
    assert fairtrial(*COMMAND[:-2], *claim, "--even-so").code == 0


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_a_run_until_decided_is_not_gated_again() -> None:
    """Its number of attempts was chosen by looking at them, so a later claim has no known error."""
    run = fairtrial(*COMMAND, "--until-decided", "--at-least", "0.3").json["run"]["id"]
    done = fairtrial("gate", run, "--at-least", "0.3")
    assert done.code == 3
    assert "made attempts until its claims were decided" in in_a_line(done.out)
    assert fairtrial("gate", run, "--at-least", "0.3", "--even-so").code == 0
    other = fairtrial(*COMMAND, "--attempts", "3").json["run"]["id"]
    assert "made attempts until its claims were decided" in in_a_line(fairtrial("compare", run, other).out)


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_attempts_until_decided_count_a_lost_case_as_missing() -> None:
    """Three of ten cases of the base did not run: each wave lacks three values."""
    base = fairtrial(*COMMAND, "--attempts", "5").json["run"]["id"]
    later = [option for number in range(7) for option in ("--only", f"good_{number}")]
    claim = ("--until-decided", "--not-worse-by", "0.2", "--against", base)
    done = fairtrial(*COMMAND, *later, *claim)
    (decided,) = done.json["run"]["decision"]["claims"]
    assert (done.code, decided["verdict"], decided["missing"]) == (3, "undecided", [0, 15])
    assert done.json["run"]["decision"]["pairs"]["only_base"] == ["good_7", "good_8", "good_9"]
    report = fairtrial("show", done.json["run"]["id"]).out
    assert "only in the base, counted as missing: good_7, good_8, good_9" in report
    assert fairtrial(*COMMAND, *later, *claim, "--shared-cases").code == 0


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_an_edited_case_leaves_attempts_until_decided_undecided() -> None:
    """The base answered another question."""
    base = fairtrial(*COMMAND, "--attempts", "5").json["run"]["id"]
    text = Path("trips.evalset.json").read_text(encoding="utf-8")
    Path("trips.evalset.json").write_text(text.replace('"text": "good_3"', '"text": "good_3 again"'), encoding="utf-8")
    done = fairtrial(*COMMAND[:-2], "--until-decided", "--not-worse-by", "0.2", "--against", base)
    assert done.code == 3
    assert "1 case is edited (good_3), so the runs are about other cases" in in_a_line(done.out)


def test_a_case_only_in_the_base_counts_as_missing() -> None:
    """Eight of 60 cases were removed: the claim passes on the other 52, and with eight failures it does not."""
    base, run = make_run(), make_run(names=SIXTY[8:])
    decision = gate(run, [Claim("not_worse_by", 0.1)], against=base)
    claim = only_claim(decision)
    assert (claim.verdict, claim.missing) == ("undecided", (0, 8))
    assert claim.why == "the 8 attempts without a value could decide it either way"
    assert decision.pairs is not None
    assert decision.pairs.only_base == tuple(SIXTY[:8])
    assert gate(run, [Claim("not_worse_by", 0.1, shared_cases=True)], against=base).verdict == "passed"


def test_a_lost_case_that_changes_nothing_is_no_obstacle() -> None:
    """One of 60, and a wide margin. It is listed all the same."""
    decision = gate(make_run(names=SIXTY[1:]), [NOT_WORSE], against=make_run())
    assert (decision.verdict, decision.pairs and decision.pairs.only_base) == ("passed", ("case 0",))


def test_a_new_case_is_no_obstacle() -> None:
    """The base cannot say anything about it."""
    decision = gate(make_run(), [NOT_WORSE], against=make_run(names=SIXTY[1:]))
    assert (decision.verdict, decision.pairs and decision.pairs.only_candidate) == ("passed", ("case 0",))


def edited() -> tuple[Run, Run]:
    """Two runs in the store, between which the question of a case was edited."""
    values = {name: [0.7] for name in SIXTY}
    base = graded_run(values, store=DEFAULT_URL)
    return base, graded_run(values, queries={"case 3": "Another question?"}, store=DEFAULT_URL)


@pytest.mark.usefixtures("folder")
def test_an_edited_case_leaves_a_gate_undecided() -> None:
    """It is named, in the text, in the JSON and in the comment, unless the claim is about the unchanged cases."""
    base, run = (own.info.id for own in edited())
    command = ("gate", run, "--not-worse-by", "0.2", "--against", base)
    done = fairtrial(*command, "--json", "gate.json", "--markdown", "gate.md")
    assert done.code == 3
    for text in map(in_a_line, (done.out, Path("gate.md").read_text(encoding="utf-8"))):
        assert "1 case is edited (case 3), so the runs are about other cases" in text
        assert "left out, because the expectation changed: case 3" in text
    assert json.loads(Path("gate.json").read_text(encoding="utf-8"))["pairs"]["changed"] == ["case 3"]
    shared = fairtrial(*command, "--shared-cases")
    assert shared.code == 0
    assert "on the 59 cases that both runs hold unchanged" in in_a_line(shared.out)


@pytest.mark.usefixtures("folder")
def test_a_file_of_gates_may_name_the_shared_cases() -> None:
    """The claim itself says which cases it is about."""
    base, run = (own.info.id for own in edited())
    write("gates.json", [{"not_worse_by": 0.2, "shared_cases": True}])
    assert fairtrial("gate", run, "--gates", "gates.json", "--against", base).code == 0

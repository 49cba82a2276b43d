"""Mutation testing reports which changes an evaluation catches, and refuses everything else with a message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from builders import call, case, criterion, turn
from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.case import EvalCase, EvalSet, Persona, Scenario
from fairtrial.records.mutation import MutationReport
from fairtrial.records.trace import Trace

CASES = EvalSet(
    "shop",
    (
        case(
            turn(call("find", id=17, day="2026-07-13"), reply="Order 17 is shipped. It costs $1,250.", query="Where?"),
            turn(call("cancel", id=17), reply="Order 17 is cancelled.", query="Cancel it."),
            name="english",
        ),
        case(turn(call("find", id=5), reply="현재 환불이 가능합니다. 합계는 3,000원입니다."), name="korean"),
        case(turn(call("find", id=6), reply="現在は返金が可能です。合計は1,200円です。"), name="japanese"),
        case(turn(call("find", id=7), reply="目前支持退款。总价是1,300元。"), name="chinese"),
    ),
)
DEFAULTS: dict[str, Any] = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}

FACTS = {
    name for name, operator in api.OPERATORS.items() if (operator.direction, operator.family) == ("harmful", "facts")
}


def written(trace: Trace) -> bytes:
    """A conversation as text: also the order of keys counts."""
    return msgspec.json.encode(trace.invocations)


def equal(trace: Trace, expected: EvalCase) -> bool:
    """Accept exactly the expected conversation."""
    return written(trace) == msgspec.json.encode(expected.conversation)


def anything(trace: Trace, expected: EvalCase) -> bool:  # noqa: ARG001
    """Accept every conversation."""
    return True


@pytest.mark.long
def test_an_exact_comparison_catches_every_change() -> None:
    """It catches all harmful changes, and raises a false alarm for all harmless changes."""
    report = api.mutate(CASES, [criterion(equal, 1.0)])
    assert report.score.rate == report.false_alarm_rate.rate == 1.0
    assert report.survivors == ()
    assert report.score.mutants > 50
    assert report.false_alarm_rate.mutants > 10


def test_a_criterion_that_accepts_everything_catches_nothing() -> None:
    """Both rates are 0, and every harmful mutant survived."""
    report = api.mutate(CASES, [criterion(anything, 1.0)])
    assert report.score.rate == report.false_alarm_rate.rate == 0.0
    assert report.score.low == 0.0
    assert report.criteria[0].caught_alone == 0


def test_a_perfect_judge_gets_one_and_zero() -> None:
    """A judge that knows the direction of every change catches the harmful ones only."""
    plan = api.plan_mutation(CASES, [criterion(anything, 1.0)])
    harmful = {written(mutant.trace) for _, mutant in plan.mutants if mutant.mutation.direction == "harmful"}  # type: ignore[union-attr]

    def judge(trace: Trace, expected: EvalCase) -> bool:  # noqa: ARG001
        return written(trace) not in harmful

    report = api.mutate(CASES, [criterion(judge, 1.0)])
    assert (report.score.rate, report.false_alarm_rate.rate) == (1.0, 0.0)


def test_the_default_criteria_miss_changed_numbers_and_negations() -> None:
    """Words in common do not tell 1,250 from 2,250, nor a sentence from its negation."""
    report = api.mutate(CASES, DEFAULTS)
    rates = {row.operator: row.overall.rate for row in report.operators}
    assert rates["argument_changed"] == rates["call_dropped"] == rates["refused"] == 1.0
    assert rates["number_changed"] == 0.0
    languages = {rate.name for row in report.operators if row.operator == "negated" for rate in row.languages}
    assert languages == {"en", "ko", "ja", "zh"}


@pytest.mark.long
def test_calls_facts_and_form_have_scores_of_their_own() -> None:
    """The default criteria catch every wrong call and an empty reply, and miss facts: the worst stands first."""
    families = api.mutate(CASES, DEFAULTS).families
    assert families[0].name == "facts"
    assert {family.name for family in families} == {"calls", "facts", "form"}
    assert sorted(family.rate or 0.0 for family in families) == [family.rate for family in families]
    assert families[0].mutants == sum(
        row.overall.mutants for row in api.mutate(CASES, DEFAULTS).operators if row.operator in FACTS
    )


def test_a_fix_is_really_run() -> None:
    """Without a criterion on calls, the comparison of calls catches exactly the survivors whose calls differ."""
    report = api.mutate(CASES, {"response_match_score": 0.0})
    fix = next(fix for fix in report.fixes if fix.criterion == "tool_trajectory_avg_score")
    plan = api.plan_mutation(CASES, {"response_match_score": 0.0})
    calls = {"call_", "calls", "argum", "tool_", "turn_", "turns", "stopp"}
    wrong = [m for _, m in plan.mutants if m.mutation and m.mutation.direction == "harmful"]
    assert fix.survivors == len(wrong)
    assert fix.caught == sum(m.mutation.operator[:5] in calls for m in wrong if m.mutation)
    assert fix.false_alarms == 0
    assert fix.harmless == len(CASES.cases) + len(plan.mutants) - len(wrong)


def test_a_fix_that_is_configured_is_not_proposed() -> None:
    """A criterion of the configuration is no advice."""
    names = {fix.criterion for fix in api.mutate(CASES, DEFAULTS).fixes}
    assert not names & set(DEFAULTS)


def test_a_criterion_that_fails_every_right_conversation_is_no_fix() -> None:
    """No number has a tool result behind it, so that a check of grounding fails the survivors and the rest alike."""
    untooled = EvalSet("untooled", (case(turn(reply="The room costs $120, and breakfast is included."), name="room"),))
    fixes = api.mutate(untooled, {"response_match_score": 0.8}).fixes
    assert [(fix.criterion, fix.false_alarms) for fix in fixes] == [("facts_match_v1", 0)]


@pytest.mark.long
def test_two_criteria_that_judge_alike_are_named() -> None:
    """A criterion and its copy agree on every mutant: their correlation is 1."""
    (pair,) = api.mutate(CASES, [criterion(half, 1.0, name="one"), criterion(half, 1.0, name="two")]).redundant
    assert (pair.first, pair.second) == ("one", "two")
    assert pair.phi == pytest.approx(1.0)


def half(trace: Trace, expected: EvalCase) -> bool:
    """Accept a conversation with the expected calls."""
    return [i.tool_calls for i in trace.invocations] == [i.tool_calls for i in expected.conversation or ()]


def test_a_survivor_says_why() -> None:
    """A wrong call is vacuous if only words count, a wrong number blind, and a failed harmless change brittle."""
    report = api.mutate(CASES, {"response_match_score": 0.5}, operators=["argument_changed", "number_changed"])
    kinds = {(finding.mutation.operator, finding.kind) for finding in report.survivors}
    assert ("argument_changed", "vacuous") in kinds
    assert ("number_changed", "blind") in kinds
    brittle = api.mutate(CASES, [criterion(equal, 1.0)], operators=["whitespace"]).false_alarms
    assert {finding.kind for finding in brittle} == {"brittle"}


def test_each_operator_has_equal_weight() -> None:
    """The mutation score is the mean of the rates of the operators, however many mutants each has."""
    report = api.mutate(CASES, DEFAULTS)
    rates = [row.overall.caught / row.overall.mutants for row in report.operators if row.direction == "harmful"]
    assert report.score.rate == pytest.approx(sum(rates) / len(rates))


def test_survivors_come_most_harmful_first_with_a_diff_and_a_hint() -> None:
    """The diff holds the lines that differ, and the hint names a criterion that would help."""
    report = api.mutate(CASES, DEFAULTS, operators=["number_changed", "claim_invented", "whitespace"])
    assert [finding.mutation.weight for finding in report.survivors] == sorted(
        (finding.mutation.weight for finding in report.survivors), reverse=True
    )
    finding = next(finding for finding in report.survivors if finding.case == "chinese")
    assert finding.diff == ("- 1 目前支持退款。总价是1,300元。", "+ 1 目前支持退款。总价是2,300元。")
    assert "final_response_match_v2" in finding.hint


def same(report: MutationReport) -> MutationReport:
    """A report without the id and the time of its run."""
    return replace(report, run="", started="")


@pytest.mark.long
def test_equal_seeds_make_equal_reports() -> None:
    """The seed decides which places change."""
    first, second = (same(api.mutate(CASES, DEFAULTS, seed=7)) for _ in range(2))
    assert first == second


def test_a_sample_holds_all_operators_alike() -> None:
    """A sample of as many mutants as there are operators has one mutant of each."""
    plan = api.plan_mutation(CASES, DEFAULTS, api.MutationOptions(sample=12))
    chosen = plan.selection(range(9))
    operators = [mutant.mutation.operator for _, mutant in chosen]  # type: ignore[union-attr]
    assert len(operators) == len(set(operators)) == 12


def test_a_baseline_that_does_not_pass_is_exclusions_and_named() -> None:
    """A case whose own reference does not pass says nothing about changes."""

    def no_korean(trace: Trace, expected: EvalCase) -> bool:  # noqa: ARG001
        return expected.id != "korean"

    report = api.mutate(CASES, [criterion(no_korean, 1.0)])
    assert report.baselines == 3
    assert report.exclusions == ("'korean': the baseline failed: mine",)


def test_nothing_is_mutated_if_no_baseline_passes(tmp_path: Path) -> None:
    """The message names the cases, and the store keeps no run."""
    store = f"sqlite:///{tmp_path}/runs.db"
    with pytest.raises(UsageError, match=r"no baseline passes.*\n'english': the baseline failed: mine"):
        api.mutate(CASES, [criterion(lambda trace, case: False, 1.0)], store=store)  # noqa: ARG005
    assert api.runs(store) == []


def test_a_scenario_has_no_conversation_to_change() -> None:
    """The message says what would help."""
    scenarios = EvalSet("s", (EvalCase("one", scenario=Scenario("hi", "ask")),))
    with pytest.raises(UsageError, match="from_run RUN"):
        api.mutate(scenarios, DEFAULTS)


def test_a_stored_run_gives_real_behaviour(tmp_path: Path) -> None:
    """The first attempt that passed is the baseline, and a case without one is left out."""
    store = f"sqlite:///{tmp_path}/runs.db"
    recordings = [Trace(one.conversation or (), one.id) for one in CASES.cases[:3]]
    run = api.score([*recordings, Trace((turn(reply="no"),), "chinese")], CASES, DEFAULTS, store=store)
    report = api.mutate(from_run=run.info.id, criteria=DEFAULTS, store=store)
    assert report.baselines == 3
    assert report.exclusions == ("chinese: no attempt passed",)


@pytest.mark.long
def test_the_report_can_be_made_again_from_the_store(tmp_path: Path) -> None:
    """The stored mutants hold their operators, so that the store alone gives the same report."""
    store = f"sqlite:///{tmp_path}/runs.db"
    report = api.mutate(CASES, DEFAULTS, store=store)
    assert api.mutation_report(report.run, store) == report


def test_judges_are_not_asked_without_a_limit() -> None:
    """The message says how many questions there would be, and what to do."""
    judged = {"final_response_match_v2": {"threshold": 0.8, "judge_model_options": {"judge_model": "openai/gpt-4o"}}}
    with pytest.raises(UsageError, match=r"would ask judges up to \d+ questions.*max_calls"):
        api.plan_mutation(CASES, judged)
    limited = Judges(models=ModelOptions(budget=Budget(max_calls=10)))
    plan = api.plan_mutation(CASES, judged, run=api.RunOptions(judges=limited))
    assert plan.judged == ("final_response_match_v2",)


def test_options_of_a_criterion_bound_the_harmful_changes() -> None:
    """An argument that the criterion ignores is not changed, and an optional tool is not dropped."""
    options = {"tool_trajectory_avg_score": {"threshold": 1.0, "match": {"find": {"id": "ignore", "day": "ignore"}}}}
    plan = api.plan_mutation(EvalSet("s", CASES.cases[1:2]), options)
    assert not any(mutant.mutation.operator.startswith("argument") for _, mutant in plan.mutants)  # type: ignore[union-attr]


def test_coverage_names_the_personas_of_cases_that_are_left_out(tmp_path: Path) -> None:
    """A scenario has no conversation to change. The eval set exercises its persona, also in the stored report."""
    scenario = EvalCase("angry", scenario=Scenario("hi", "complain", persona=Persona("NOVICE", "new here", ())))
    store = f"sqlite:///{tmp_path}/runs.db"
    report = api.mutate(EvalSet("s", (*CASES.cases, scenario)), DEFAULTS, operators=["empty_reply"], store=store)
    assert report.coverage.personas == ("NOVICE",)
    assert api.mutation_report(report.run, store) == report


def test_coverage_counts_tools_languages_and_turns() -> None:
    """The coverage counts expected calls, arguments, languages and turns."""
    coverage = api.mutate(CASES, DEFAULTS, operators=["empty_reply"]).coverage
    assert coverage.tools == {"cancel": 1, "find": 4}
    assert coverage.arguments == {"cancel.id": 1, "find.day": 1, "find.id": 4}
    assert coverage.turns == {1: 3, 2: 1}

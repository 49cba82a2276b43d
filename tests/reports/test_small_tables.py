"""Below a small table, a sentence says what its numbers show. It claims nothing that they do not show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import RenderableType

from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial.analysis.aggregation import aggregate
from fairtrial.records.attacks.attack_report import AttackRate, AttackReport
from fairtrial.records.attempt import Failure
from fairtrial.records.failure_mode import FailureMode, Failures, ModeChange, ModeChanges
from fairtrial.records.flaky_case import Flakiness, FlakyCase
from fairtrial.records.judging.calibration import Agreement, AgreementTable, Calibration
from fairtrial.records.judging.judge_check import CheckResult, RuleRates, Share
from fairtrial.records.judging.judge_choice import JudgeChoice, JudgeOnLabels
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.judging.report_card import PanelCheck, Probe, RecordedJudge, ReportCard
from fairtrial.records.mutation import CatchRate, OperatorRate
from fairtrial.records.result import CaseResult, Fault, JudgeStats, Outcome
from fairtrial.records.run_comparison import IntervalEstimate, PassK
from fairtrial.records.run_history import HistoryRow, RunHistory
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import Estimate, Summary
from fairtrial.reports.attack_rows import attack_markdown
from fairtrial.reports.decisions.comparison_table import pass_k_table
from fairtrial.reports.decisions.history_report import history_report
from fairtrial.reports.decisions.planning_report import flaky_report
from fairtrial.reports.failures.failure_table import changes_report, failures_report
from fairtrial.reports.judges.calibration_report import agreement_table
from fairtrial.reports.judges.choice_report import choice_tables
from fairtrial.reports.judges.judge_check_report import report_card_tables
from fairtrial.reports.judges.judge_states import corrected_table
from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.mutation.mutation_table import describe_rates
from fairtrial.reports.rows import INTERVAL
from fairtrial.reports.shown_criteria import run_numbers, valid_numbers
from fairtrial.reports.small_tables import TableNumber, describe_table
from fairtrial.reports.summary_table import tables
from fairtrial.reports.terminal_text import plain_text
from fairtrial.reports.translated import translate
from fairtrial.reports.value.value_report import ValueReport
from fairtrial.text.languages import LANGUAGES, speaking

OTHERS = [language for language in LANGUAGES if language != "en"]
PASSES = "this shows that the agent can pass, not how often"
FAILS = "this shows that the agent can fail, not how often"
ROUGHLY = "this shows that the agent can pass, and only roughly how often"
NOTHING = "this is too little to say more"
JUDGED = JudgeStats(3, 0, 0)
INVALID = (Fault("infrastructure", ("the server was away",)),)


def attempts(values: Sequence[float | None], name: str = "match", **outcome: object) -> list[CaseResult]:
    """A case with one attempt for each value, where 0.5 is needed. None is unscored."""
    return [
        CaseResult(f"case{place}", place, (Outcome(name, Score(value), 0.5, **outcome),))  # type: ignore[arg-type]
        for place, value in enumerate(values)
    ]


def sentence(results: Sequence[CaseResult]) -> str:
    """What is said below the table of criteria."""
    return describe_table(run_numbers(aggregate(results)))


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (attempts([1.0] * 3), f"With 3 cases, the pass rate can be anywhere from 14 to 100 %: {PASSES}."),
        (attempts([0.0] * 3), f"With 3 cases, the pass rate can be anywhere from 0 to 86 %: {FAILS}."),
        (attempts([1.0, 1.0, 0.0]), f"With 3 cases, the pass rate can be anywhere from 6 to 99 %: {PASSES}."),
        (attempts([1.0]), f"With 1 case, the pass rate has no interval: {PASSES}."),
        (
            attempts([1.0] * 10),
            f"With 10 cases, the pass rate can be anywhere from 66 to 100 %: {ROUGHLY}.",
        ),
        (attempts([1.0] * 100), ""),
        (attempts([]), ""),
        (attempts([None, None]), ""),
        (
            attempts([1.0, 1.0, 1.0, None]),
            f"With 3 attempts and 1 unscored, the pass rate can be anywhere from 14 to 100 %: {PASSES}.",
        ),
    ],
    ids=["pass", "fail", "both", "one case", "ten", "hundred", "no case", "no value", "unscored"],
)
def test_a_run_of_few_cases_says_what_it_shows(results: list[CaseResult], expected: str) -> None:
    """The ends are those that the page about statistics lists, for 3 and for 10 perfect cases."""
    assert sentence(results) == expected


def test_repeated_attempts_are_counted_beside_their_cases() -> None:
    """Four attempts at each of three cases say less than twelve cases."""
    results = [
        CaseResult(f"case{case}", case, (Outcome("match", Score(1.0), 0.5),), attempt=attempt)
        for case in range(3)
        for attempt in range(1, 5)
    ]
    assert sentence(results).startswith("With 12 attempts at 3 cases, the pass rate ")


def test_attempts_at_one_case_have_no_interval() -> None:
    """They say nothing about other cases."""
    results = [CaseResult("case", 0, (Outcome("match", Score(1.0), 0.5),), attempt=own) for own in range(1, 5)]
    assert sentence(results) == f"With 4 attempts at 1 case, the pass rate has no interval: {PASSES}."


def test_the_criterion_that_is_least_certain_is_named() -> None:
    """Of two criteria, the one with a failure has the wider interval."""
    results = [
        CaseResult(
            f"case{place}",
            place,
            (Outcome("words", Score(1.0), 0.5), Outcome("calls", Score(float(place > 0)), 0.5)),
        )
        for place in range(4)
    ]
    assert "the pass rate of calls can be" in sentence(results)


def test_a_criterion_without_a_threshold_is_about_its_mean() -> None:
    """Its interval is held against the range of its values."""
    results = [CaseResult(f"case{place}", place, (Outcome("match", Score(1.0)),)) for place in range(3)]
    assert re.fullmatch(r"With 3 cases, the mean can be anywhere from 0\.\d+ to 1\.00: .*", sentence(results))


def test_amounts_without_a_bound_have_no_sentence() -> None:
    """Nothing says how wide an interval of calls may be."""
    unbounded = Range(0.0, None)
    results = [
        CaseResult(f"case{place}", place, (Outcome("calls", Score(float(place)), range=unbounded),))
        for place in range(3)
    ]
    assert sentence(results) == ""


def test_a_judge_proves_nothing_about_the_agent() -> None:
    """It may be wrong about each of the passes."""
    results = attempts([1.0] * 3, judge_stats=JUDGED)
    assert sentence(results) == f"With 3 cases, the pass rate can be anywhere from 14 to 100 %: {NOTHING}."


def test_invalid_attempts_prove_nothing_about_the_agent() -> None:
    """The sentence below the valid attempts may say what these prove."""
    valid = [replace(result, invalidations=()) for result in attempts([1.0] * 3)]
    results = [*valid, CaseResult("away", 3, (Outcome("match", Score(0.0), 0.5),), invalidations=INVALID)]
    summary = aggregate(results)
    assert describe_table(run_numbers(summary)).endswith(f": {NOTHING}.")
    assert describe_table(valid_numbers(summary)) == (
        f"With 3 valid attempts, the pass rate can be anywhere from 14 to 100 %: {PASSES}."
    )


def test_a_valid_attempt_that_fails_elsewhere_does_not_pass() -> None:
    """Its criterion passes at each valid attempt, and only an invalid attempt passes as a whole."""
    met, unmet = Outcome("words", Score(1.0), 0.5), Outcome("calls", Score(0.0), 0.5)
    results = [CaseResult(f"case{place}", place, (met, unmet), invalidations=()) for place in range(2)]
    results.append(CaseResult("away", 2, (met, Outcome("calls", Score(1.0), 0.5)), invalidations=INVALID))
    rows = valid_numbers(aggregate(results))
    assert {row.name: row.fact for row in rows} == {
        "the pass rate of words": "",
        "the pass rate of calls": "the agent can fail",
    }


@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, None])] * 2, st.sampled_from([(), INVALID])), max_size=8),
    st.booleans(),
)
def test_a_pass_at_one_criterion_is_not_a_pass_of_the_agent(
    rows: list[tuple[float | None, float | None, tuple[Fault, ...]]], judged: bool
) -> None:
    """A valid attempt has passed each criterion, none of them by a model, wherever the agent is said to pass."""
    results = [
        CaseResult(
            f"case{place}",
            place,
            (
                Outcome("words", Score(words), 0.5),
                Outcome("calls", Score(calls), 0.5, judge_stats=JUDGED if judged else None),
            ),
            invalidations=faults,
        )
        for place, (words, calls, faults) in enumerate(rows)
    ]
    summary = aggregate(results)
    facts = {row.fact for row in (*run_numbers(summary), *valid_numbers(summary))}
    valid = [(words, calls) for words, calls, faults in rows if not faults]
    if "the agent can pass" in facts:
        assert (1.0, 1.0) in valid
        assert not judged
    if "the agent can fail" in facts:
        assert any(0.0 in own for own in valid)


values = st.lists(st.sampled_from([0.0, 0.4, 0.6, 1.0, None]), max_size=40)


@given(values, st.booleans(), st.booleans())
def test_a_sentence_claims_nothing_that_the_run_does_not_show(
    scores: list[float | None], judged: bool, invalid: bool
) -> None:
    """It has the ends of the table, and what it calls possible has happened. It stands below each wide interval."""
    results = attempts(scores, judge_stats=JUDGED if judged else None)
    if invalid:
        results.append(CaseResult("away", 99, (Outcome("match", Score(1.0), 0.5),), invalidations=INVALID))
    summary = aggregate(results)
    text = describe_table(run_numbers(summary))
    passes = sum(score is not None and score >= 0.5 for score in scores)
    fails = sum(score is not None and score < 0.5 for score in scores)
    rate = summary.criteria[0].pass_rate if summary.criteria else Estimate()
    if rate.low is not None and rate.high is not None:
        assert bool(text) is (rate.high - rate.low > 0.2)
    if "can pass" in text:
        assert passes
    if "can fail" in text:
        assert fails
        assert not passes
    if judged or invalid:
        assert "this shows" not in text
    if "roughly" in text:
        assert rate.low is not None
        assert rate.high is not None
        assert rate.high - rate.low <= 0.5
    for end in re.findall(r"from (\S+) to (\S+) %", text):
        low, high = map(float, end)
        assert rate.low is not None
        assert rate.high is not None
        assert low == pytest.approx(100 * rate.low, abs=0.5)
        assert high == pytest.approx(100 * rate.high, abs=0.5)
    assert ("no interval" in text) <= (rate.low is None)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), max_size=6))
def test_the_sentence_is_about_the_widest_interval(ends: list[tuple[float, float, float]]) -> None:
    """So that no other number of the table is less certain than what it says."""
    numbers = [
        TableNumber(f"number {place}", "3 cases", Estimate(sorted(own)[1], min(own), max(own)))
        for place, own in enumerate(ends)
    ]
    text = describe_table(numbers)
    widest = max((max(own) - min(own) for own in ends), default=0.0)
    assert bool(text) is (widest > 0.2)
    if text:
        (place,) = re.findall(r"number (\d)", text)
        own = ends[int(place)]
        assert max(own) - min(own) == widest


def test_other_numbers_without_an_interval_have_no_sentence() -> None:
    """They may lack it for another reason than few cases."""
    assert describe_table([TableNumber("pass^2", "300 cases", Estimate(0.5))]) == ""


def shown(summary: Summary, language: str) -> str:
    """The tables of a run in a terminal of that language."""
    with speaking(language):
        return plain_text(translate(tables(summary)))


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "results",
    [
        attempts([1.0] * 3),
        attempts([0.0]),
        attempts([1.0] * 10),
        attempts([1.0, None]),
        attempts([1.0, 1.0, None]),
        attempts([1.0] * 3, judge_stats=JUDGED),
        [CaseResult(f"case{place}", place, (Outcome("match", Score(1.0)),)) for place in range(3)],
        [
            CaseResult(f"case{case}", case, (Outcome("match", Score(1.0), 0.5),), attempt=attempt)
            for case in range(2)
            for attempt in range(1, 3)
        ],
    ],
    ids=["pass", "fail", "roughly", "one unscored", "unscored", "judged", "mean", "repeated"],
)
def test_a_sentence_is_in_the_language_of_the_terminal(results: list[CaseResult], language: str) -> None:
    """No word of English is left in it, apart from the name of a criterion."""
    text = sentence(results)
    assert text
    with speaking(language):
        own = translate(text)
    assert re.findall(r"[A-Za-z]+", own.replace("match", "")) == []
    numbers = re.compile(r"\d+(?:\.\d+)?")
    assert sorted(numbers.findall(own)) == sorted(numbers.findall(text))
    assert "".join(own.split()) in "".join(shown(aggregate(results), language).split())


def test_a_terminal_shows_the_sentence_in_at_most_100_columns() -> None:
    """However wide it is, and whatever the name of a criterion holds."""
    results = attempts([1.0] * 3, name="match\x1b[31m") + attempts([1.0] * 3, name="a" * 60)
    text = plain_text(tables(aggregate(results)), 300)
    below = text.partition("With 3")[2]
    assert below
    assert "\x1b" not in text
    assert max(map(len, below.splitlines())) <= 100


def test_an_error_of_the_agent_proves_that_it_can_fail() -> None:
    """It counts against the pass rate."""
    failure = Failure("agent", "KeyError: 'orders'")
    results = [
        CaseResult(f"case{place}", place, (Outcome("match", Score(None), 0.5),), failure=failure) for place in range(3)
    ]
    assert sentence(results) == f"With 3 cases, the pass rate can be anywhere from 0 to 86 %: {FAILS}."


def test_the_sentence_stands_below_its_table() -> None:
    """Below the last row, and above the next table."""
    head, _, row, *paragraph = plain_text(tables(aggregate(attempts([1.0] * 3)))).splitlines()
    assert INTERVAL in head
    assert row.split()[0] == "match"
    assert " ".join(paragraph) == sentence(attempts([1.0] * 3))


WIDE = (0.5, 0.05, 0.7)
SURE = Estimate(0.5, 0.45, 0.55)
JUDGE = JudgeOnLabels("late", 8, 0.5, Estimate(*WIDE), SURE, SURE)
RATE = AttackRate(8, 4, Estimate(*WIDE))
SHARE = Share(4, 8, *WIDE)
RUN_ROW = HistoryRow("late", "2026-01-01", IntervalEstimate(*WIDE), 8, 8)
AGREEMENT = Agreement(AgreementTable(2, 1, 3, 2), accuracy=Estimate(0.5, 0.4, 0.55), sensitivity=Estimate(*WIDE))
LABELLED = Calibration("polite", "a judge", JudgeState.BIASED, labels=8, corrected=Estimate(*WIDE))
ANSWER = CheckResult("m", "safety 1", "safety", "late", "en", "holds", "holds", calls=1)
FLAKY = FlakyCase("late", 4, 8, *WIDE[1:], None)
MODE = FailureMode(2, "late", (), "agent", 3, 4, 1, Estimate(*WIDE), Estimate())
CHANGE = ModeChange("unchanged", "late", 2, 1, 3, 0.1, 0.4, 0.3, -0.1, 0.6, 0.3)
REACH = "can be anywhere from 5 to 70 %"
SHOWS = "this shows that"
CAUGHT = "the share of late that is caught"
OTHER_TABLES: dict[str, tuple[Callable[[], RenderableType], str]] = {
    "pass^k": (
        lambda: pass_k_table([PassK(3, 8, IntervalEstimate(*WIDE), IntervalEstimate(0.5, 0.4, 0.5))]),
        f"With 8 cases, pass^3 {REACH}: {NOTHING}.",
    ),
    "corrected": (
        lambda: corrected_table([LABELLED]),
        f"With 8 labels, the corrected pass rate of polite {REACH}: {NOTHING}.",
    ),
    "agreement": (
        lambda: agreement_table("polite", AGREEMENT),
        f"With 3 labels, the sensitivity {REACH}: {NOTHING}.",
    ),
    "questions": (
        lambda: report_card_tables(
            ReportCard(rates=(RuleRates("m", "safety", "late", SHARE, None),), results=(ANSWER,), question_count=1)
        ),
        f"With 8 answers, the sensitivity of safety late {REACH}: {NOTHING}.",
    ),
    "recorded": (
        lambda: report_card_tables(ReportCard((RecordedJudge("m", "", JudgeState.GOOD, 8, accuracy=Estimate(*WIDE)),))),
        f"With 8 items, the accuracy {REACH}: {NOTHING}.",
    ),
    "panel": (
        lambda: report_card_tables(ReportCard(panels=(PanelCheck("", 8, {}, *[Estimate(*WIDE)] * 4),))),
        f"With 8 items, the accuracy by majority {REACH}: {NOTHING}.",
    ),
    "weighted panel": (
        lambda: report_card_tables(ReportCard(panels=(PanelCheck("", 8, {}, SURE, Estimate(*WIDE), SURE, SURE),))),
        f"With 8 items, the accuracy with weights from labels {REACH}: {NOTHING}.",
    ),
    "best of a panel": (
        lambda: report_card_tables(ReportCard(panels=(PanelCheck("", 8, {}, SURE, SURE, Estimate(*WIDE), SURE),))),
        f"With 8 items, the accuracy of the best judge by labels {REACH}: {NOTHING}.",
    ),
    "gain of a panel": (
        lambda: report_card_tables(ReportCard(panels=(PanelCheck("", 8, {}, SURE, SURE, SURE, Estimate(*WIDE)),))),
        f"With 8 items, the gain of the weights {REACH}: {NOTHING}.",
    ),
    "probes": (
        lambda: report_card_tables(ReportCard(probes=(Probe("safety", "late", 8, Estimate(*WIDE)),))),
        f'With 8 replies, the change of the pass rate with "late" {REACH}: {NOTHING}.',
    ),
    "chosen judge": (
        lambda: choice_tables(JudgeChoice("polite", (), JUDGE, JUDGE, SURE, "better", 8, 8)),
        f"With 8 labels, the accuracy of late {REACH}: {NOTHING}.",
    ),
    "flaky": (
        lambda: flaky_report(Flakiness("s", 0.95, "these-cases", (), 0, 0, 0, 1, None, None, (FLAKY,))),
        f"With 8 attempts, the pass rate of late {REACH}: {SHOWS} its verdict can change, not how often.",
    ),
    "failures": (
        lambda: failures_report(Failures("s", "run", 9, 9, 8, 8, (MODE,))),
        f"With 8 failed attempts, the share of mode 2 {REACH}: {SHOWS} such failures occur, not how often.",
    ),
    "changed modes": (
        lambda: changes_report(ModeChanges("s", "old", "new", 8, (CHANGE,))),
        "With 8 cases, a difference in cases can be shown only if at least 6 of them change.",
    ),
    "few changed modes": (
        lambda: changes_report(ModeChanges("s", "old", "new", 4, (CHANGE,))),
        "With 4 cases, no difference in cases can be shown: at least 6 cases would have to change.",
    ),
    "history": (
        lambda: history_report(RunHistory({}, "cases", True, 1000, (RUN_ROW,))),
        f"With 8 cases, the rate of run late {REACH}: {NOTHING}.",
    ),
    "caught": (
        lambda: describe_rates([OperatorRate("late", "harmful", CatchRate("late", 4, 8, 0, *WIDE))]),
        f"With 8 mutants, {CAUGHT} {REACH}: {SHOWS} such a change can be caught, not how often.",
    ),
    "missed": (
        lambda: describe_rates([OperatorRate("late", "harmful", CatchRate("late", 0, 1, 0, 0.0))]),
        f"With 1 mutant, {CAUGHT} has no interval: {SHOWS} such a change can be missed, not how often.",
    ),
    "attacks": (
        lambda: "\n".join(attack_markdown(AttackReport("run", "base", 8, RATE, RATE, RATE, RATE, RATE, RATE, 0, ()))),
        f'With 8 attempts, the rate "utility unattacked" {REACH}: {NOTHING}.',
    ),
}
"""Each other table with an interval from 5 to 70 %, and its sentence."""


@pytest.mark.parametrize("table", OTHER_TABLES)
def test_each_table_of_rates_has_its_sentence(table: str) -> None:
    """It is about the widest interval of this table."""
    render, expected = OTHER_TABLES[table]
    assert expected in " ".join(plain_text(render()).split())


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("table", OTHER_TABLES)
def test_each_sentence_is_in_the_language_of_the_terminal(table: str, language: str) -> None:
    """Apart from names, no word of it is English."""
    _, expected = OTHER_TABLES[table]
    with speaking(language):
        own = translate(expected)
    names = re.compile(r"polite|safety|late|pass\^\d|utility unattacked")
    assert re.findall(r"[A-Za-z]+", names.sub("", own)) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("traces", [0, 1, 29, 30])
def test_few_trace_values_say_nothing_about_other_traces(traces: int, language: str) -> None:
    """From 30 traces on, and without any, nothing is said."""
    report = ValueReport(None)
    report.add_finished([0.5] * traces, [])
    with speaking(language):
        own = translate(report.limits())
    assert bool(own) is (0 < traces < 30)
    assert (f"{traces} trace" in own) is (0 < traces < 30 and language == "en")
    assert language == "en" or re.findall(r"[A-Za-z]+", own) == []


@pytest.fixture
def three_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sentence about a run of three cases that pass, whose commands come next."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fine", "right"))
    return f"With 3 cases, the pass rate can be anywhere from 14 to 100 %: {PASSES}."


RUN = ("run", "trips.evalset.json", "--agent", "commands:obedient")


def test_reports_for_people_hold_the_sentence(three_passes: str) -> None:
    """In a terminal, in Markdown, and on the page, also for readers without scripts."""
    done = fairtrial(*RUN, "--markdown", "run.md", "--html", "run.html")
    assert three_passes in " ".join(done.out.split())
    assert three_passes in Path("run.md").read_text(encoding="utf-8")
    assert f"<p>{three_passes}</p>" in Path("run.html").read_text(encoding="utf-8")


def test_reports_for_people_do_not_take_a_criterion_for_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No attempt passes, since no reply comes without a call, though each reply is as it should be."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", {"criteria": {**MATCH["criteria"], "tool_trajectory_avg_score": 1.0}})
    cases = eval_set("good", "fine", "right")
    for case in cases["eval_cases"]:
        for invocation in case["conversation"]:
            invocation["intermediate_data"] = {"tool_uses": [{"name": "book", "args": {}}]}
    write("trips.evalset.json", cases)
    done = fairtrial(*RUN, "--markdown", "run.md", "--html", "run.html")
    assert done.code == 1
    for text in (done.out, *(Path(f"run.{name}").read_text(encoding="utf-8") for name in ("md", "html"))):
        assert "With 3 cases, the pass rate of" in " ".join(text.split())
        assert "the agent can pass" not in " ".join(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).split())


def test_reports_for_programs_do_not_hold_the_sentence(three_passes: str) -> None:
    """Nor does a quiet command."""
    done = fairtrial(*RUN, "--json", "run.json", "--junit", "run.xml", "--sarif", "run.sarif", "--quiet")
    assert done.code == 0
    outputs = [
        done.out,
        done.err,
        *(Path(f"run.{name}").read_text(encoding="utf-8") for name in ("json", "xml", "sarif")),
    ]
    assert [text for text in outputs if three_passes[:20] in text] == []
    assert "limits" not in json.loads(outputs[2])["run"]


def test_a_name_cannot_end_its_code_in_markdown() -> None:
    """The name of a criterion may hold anything."""
    results = [
        CaseResult(f"case{place}", place, tuple(Outcome(name, Score(0.0), 0.5) for name in ("a`<b>", "other")))
        for place in range(3)
    ]
    assert "``a`<b>``" in describe_table(run_numbers(aggregate(results), code_span))

"""The terminal report is readable, honest and safe, whatever an agent said."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, RenderableType

import fairtrial
from builders import call, trace, turn
from builders import case as expected_case
from commands import HOSTILE
from fairtrial.analysis.aggregation import aggregate
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.attempt import Failure
from fairtrial.records.attempt_rule import AttemptRules
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.result import OWN_VALUES, CaseResult, Fault, JudgeStats, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Quote, Score
from fairtrial.records.trace import Invocation, Message
from fairtrial.reports.attempts import by_case
from fairtrial.reports.summary_table import tables
from fairtrial.reports.terminal import case as attempt
from fairtrial.reports.terminal import invalid, print_report
from fairtrial.reports.transcript import Transcript
from fairtrial.text.display import visible
from fairtrial.text.languages import speaking

INFO = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00.000+00:00", "0", "run", finished="now", seconds=1.0)
SHOW = f"fairtrial show {INFO.id}"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def printed(what: RenderableType, *, width: int = 100, colour: bool = False) -> str:
    """What a console of that width shows."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, highlight=False, emoji=False, markup=False)
    console.print(what)
    return out.getvalue()


def case(result: CaseResult, *, several: bool = False, everything: bool = False) -> RenderableType:
    """One attempt whose recording is lost."""
    return attempt(Transcript(result), several=several, everything=everything)


def report(results: Sequence[CaseResult], *, everything: bool = False, info: RunInfo = INFO, show: str = SHOW) -> str:
    """The whole report."""
    out = io.StringIO()
    console = Console(file=out, width=120, highlight=False, emoji=False, markup=False)
    print_report(console, info, aggregate(results), by_case(results, AttemptRules()), everything=everything, show=show)
    return out.getvalue()


def passed(i: int) -> CaseResult:
    """A case that passed."""
    return CaseResult(f"passed{i}", i, (Outcome("match", Score(1.0), 0.8),))


def failed(i: int, value: float = 0.0, threshold: float = 0.8) -> CaseResult:
    """A case that failed."""
    return CaseResult(f"failed{i}", i, (Outcome("match", Score(value), threshold),))


def trajectory(actual: Sequence[str], wanted: Sequence[str], **args: object) -> CaseResult:
    """The result of calls against others, by their names; `args` are those of the first actual call."""
    calls = [call(name, **(args if i == 0 else {})) for i, name in enumerate(actual)]
    score = ToolTrajectory()(trace(turn(*calls)), expected_case(turn(*(call(name) for name in wanted))))
    assert isinstance(score, Score)
    return CaseResult("order", 0, (Outcome("tool_trajectory_avg_score", score, 1.0),))


def response(reply: str, reference: str) -> CaseResult:
    """The result of a reply against a reference."""
    score = ResponseMatch()(trace(turn(reply=reply)), expected_case(turn(reply=reference)))
    return CaseResult("reply", 0, (Outcome("response_match_score", score, 0.9),))


def test_a_failed_trajectory_shows_both_sides_and_marks_the_first_difference() -> None:
    """Expected and actual stand beside each other; ► is on the first row that differs, and on no other."""
    shown = printed(case(trajectory(["get", "drop", "pay", "bye"], ["get", "hold", "pay", "ask"])))
    rows = [line.split() for line in shown.splitlines() if re.search(r"\(\)", line)]
    assert rows == [["get()", "get()"], ["►", "hold()", "drop()"], ["pay()", "pay()"], ["ask()", "bye()"]]
    assert "first difference at call 2: expected hold, got drop" in shown


@pytest.mark.parametrize("name", ["orders:get", "mcp/orders.get", "주문-조회", "get\x1b[0m"])
def test_calls_are_calls_whatever_the_tool_is_called(name: str) -> None:
    """One expected and one actual call stand beside each other too, and are no reference and reply."""
    shown = printed(case(trajectory([name], [name], order="B-1")))
    assert "►" in shown
    assert "[-" not in shown.replace(visible(name), "")


def test_a_failed_response_shows_the_difference() -> None:
    """Of reference and reply the words that only one of them has are marked."""
    shown = printed(case(response("Your lamp arrives today.", "Your teapot arrives on Friday.")))
    assert "expected  Your [-teapot-] arrives [-on Friday-]." in shown
    assert "actual    Your {+lamp+} arrives {+today+}." in shown


def test_an_absent_reply_is_called_blank() -> None:
    """An agent that says nothing leaves no empty line to wonder about."""
    assert "actual    (blank)" in printed(case(response("", "Your teapot arrives on Friday.")))


@pytest.mark.parametrize(
    ("reply", "reference", "marked"),
    [
        ("환불할 수 없습니다", "환불할 수 있습니다", "{+없습니다+}"),
        ("不可以退款", "可以退款", "{+不+}"),
        ("返金できます。", "返金できません。", "{+す+}"),
    ],
)
def test_differences_in_cjk_are_marked_by_the_word_or_the_character(reply: str, reference: str, marked: str) -> None:
    """Korean is compared word by word. Text without spaces is compared character by character."""
    assert marked in printed(case(response(reply, reference)))


def test_a_reply_that_repeats_itself_is_shown_too() -> None:
    """A model that loops costs no minutes to show; where it begins to differ is still marked."""
    shown = printed(case(response("시작 " + "甲乙" * 2000, "시작 " + "乙丙甲" * 1333)), width=20_000)
    assert "expected  시작 [-乙丙甲" in shown
    assert "actual    시작 {+甲乙" in shown


@given(st.lists(st.sampled_from(["a", "b", " ", "的", "了", "\n", ". "]), max_size=40).map("".join), st.data())
def test_no_text_is_lost_in_a_difference(reference: str, data: st.DataObject) -> None:
    """Without the marks both texts are there as they were."""
    reply = data.draw(st.lists(st.sampled_from(["a", "b", " ", "的", "\n"]), max_size=40).map("".join))
    quotes = (Quote(reference, "expected"), Quote(reply, "actual"))
    result = CaseResult("x", 0, (Outcome("m", Score(0.0, quotes=quotes), 1.0),))
    shown = re.sub(r"\[-|-\]|\{\+|\+\}|\s|\(blank\)", "", printed(case(result), width=500).split("expected", 1)[1])
    assert shown == re.sub(r"\s", "", f"{reference}actual{reply}")


def test_an_error_shows_side_and_cause() -> None:
    """An attempt that broke says on which side and why; the traceback is for `fairtrial show`."""
    broken = CaseResult("x", 0, (), failure=Failure("agent", "RuntimeError: boom", "Traceback: line 3"))
    assert "agent: RuntimeError: boom" in printed(case(broken))
    assert "Traceback" not in printed(case(broken))
    assert "Traceback: line 3" in printed(case(broken, everything=True))


def everything_hostile(text: str) -> CaseResult:
    """A result that says the same text wherever it can say anything."""
    quotes = (Quote(text, "expected"), Quote(text + "!", "actual"), Quote(f"f({text})", "surplus"))
    inner = Score(0.0, text, text, quotes=quotes, parts=(Score(None, text, text),))
    outcomes = (
        Outcome(text, Score(0.0, text, parts=(inner,)), 1.0),
        Outcome(f"{text}2", Score(0.5, text)),
        Outcome(f"{text}3", Score(applicable=False, reason=text), 1.0),
        Outcome(f"{text}4", Score(0.0, text, quotes=(Quote(text, text),)), 1.0),
    )
    failure = Failure("agent", text, text)
    spoiled = (Fault("judge", (text,)),)
    return CaseResult(text, 0, outcomes, failure=failure, invalidations=spoiled, warnings=(text,))


@pytest.mark.parametrize("everything", [False, True])
def test_hostile_text_never_controls_the_terminal(everything: bool) -> None:
    """Escapes, backspaces, bells, carriage returns and marks of direction are shown, wherever they stand."""
    shown = printed(case(everything_hostile(HOSTILE), everything=everything), width=300, colour=True)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", _STYLE.sub("", shown))
    assert r"\x1b[31mred\x1b[0m" in shown


@pytest.mark.long
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_text_adds_a_control_sequence(text: str) -> None:
    """Of any text whatever no control character arrives."""
    shown = _STYLE.sub("", printed(case(everything_hostile(text), everything=True), colour=True))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", shown)


def test_markup_is_text() -> None:
    """What looks like markup or an emoji code is printed as it is."""
    shown = printed(case(everything_hostile("[red]x[/red] [/] :smile:")))
    assert "[red]x[/red] [/] :smile:" in shown


def test_hostile_criteria_are_safe_in_the_summary_too() -> None:
    """The summary names criteria as text, even one that never applied and is named in the verdict."""
    never = CaseResult("x", 0, (Outcome("mine\x1b[2J", Score(applicable=False, reason="none"), 0.5),))
    assert "\x1b" not in report([never])
    assert r"mine\x1b[2J has a threshold, and applied to no case" in report([never])


WIDE = ["주문_조회", "注文照会", "查询订单", "🎁_gift", "e\u0301te\u0301", "plain"]


def test_columns_of_calls_align_in_any_script() -> None:
    """Expected and actual calls start in the same terminal cell in each row, however wide their characters are."""
    shown = printed(case(trajectory(WIDE, list(reversed(WIDE)))))
    header = next(line for line in shown.splitlines() if line.split() == ["expected", "actual"])
    column = header.index("actual")
    starts = set()
    for line in shown.splitlines():
        if line.count("()") == 2:
            left, right = re.split(r"(?<=\(\)) {2,}", line.rstrip(), maxsplit=1)
            starts.add(cell_len(line[: len(line) - len(line[len(left) :].lstrip())]))
            assert right.endswith("()")
    assert starts == {column}


def test_columns_of_the_summary_align_in_any_script() -> None:
    """All rows of the summary are equally wide in cells."""
    results = [CaseResult("x", 0, tuple(Outcome(name, Score(0.5), 0.5) for name in WIDE))]
    lines = report(results).splitlines()
    rows = [line for line in lines if line.strip().startswith(tuple(WIDE))]
    assert len(rows) == len(WIDE)
    assert len({cell_len(line) for line in rows}) == 1


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long and wide text is broken to the width of the terminal, counted in cells."""
    results = [
        response("환불할 수 없습니다 " * 30, "返金できます" * 40),
        trajectory(["x"], ["y"], text="查询订单" * 40),
    ]
    for result in results:
        assert max(cell_len(line) for line in printed(case(result), width=width).splitlines()) <= width


@pytest.mark.parametrize("threshold", [0.8, 1.0])
def test_a_value_just_below_never_looks_equal(threshold: float) -> None:
    """In the case, in its parts and in the mean of the summary a value below the threshold is seen to be below."""
    value = threshold - 1e-6
    parts = (Score(value, "almost", "invocation 1"),)
    shown = report([CaseResult("x", 0, (Outcome("match", Score(value, parts=parts), threshold),))])
    plain = f"{threshold:.2f}"
    numbers = re.findall(r"(?<![\d.])\d\.\d+", shown)
    assert f"{value:.6f}" in numbers
    assert f"{threshold:.6f}" in numbers
    assert plain not in numbers


def test_one_failure_of_many_is_not_hundred_percent() -> None:
    """A pass rate of 399 in 400 is not shown as 100 %."""
    shown = report([*(passed(i) for i in range(399)), failed(399)])
    assert "99.8 %" in shown


def test_of_a_large_run_only_what_did_not_pass_is_listed() -> None:
    """Over 200 attempts the passed ones are not listed; up to 200 all are."""
    large = report([*(passed(i) for i in range(200)), failed(200)])
    assert "✗ failed200" in large
    assert "✓ passed" not in large
    assert report([passed(i) for i in range(200)]).count("✓ passed") == 200


@pytest.mark.long
def test_what_is_left_out_is_counted() -> None:
    """Of very many failures the first are shown, and the rest is counted with the way to see them."""
    shown = report([failed(i) for i in range(260)])
    listed = shown.count("✗ failed")
    assert f"… and {260 - listed} more that did not pass; `fairtrial show {INFO.id} --all` lists them all" in shown
    assert report([failed(i) for i in range(260)], everything=True).count("✗ failed") == 260


def test_a_run_that_is_not_kept_names_no_command_that_would_show_it() -> None:
    """Of what is left out it says where else it can be had."""
    results = [replace(failed(i), invalidations=SPOILED) for i in range(260)]
    assert "fairtrial show" not in report(results, show="")
    assert "more that did not pass; --json FILE holds them all" in report(results, show="")


def test_what_broke_a_conversation_is_said_once() -> None:
    """Not again for each criterion, which only says that it broke there."""
    parts = (Score(None, "broke here: boom: bang", "invocation 1"),)
    outcomes = tuple(Outcome(name, Score(None, parts=parts), 0.5) for name in ("one", "two"))
    lines = printed(case(CaseResult("x", 0, outcomes, failure=Failure("agent", "boom: bang")))).splitlines()
    assert [line.strip() for line in lines if "bang" in line] == ["agent: boom: bang"]
    assert [line.strip() for line in lines if "broke here" in line] == ["invocation 1  –  broke here"] * 2


def test_the_summary_names_methods_and_counts() -> None:
    """Mean and pass rate have their intervals, whose methods are named, and every verdict is counted.

    The upper end beside one failure of three is exact: 0.9916 by Clopper and Pearson.
    """
    results = [passed(0), passed(1), failed(2), CaseResult("x", 3, (), failure=Failure("agent", "boom"))]
    shown = report(results)
    assert re.search(r"match +0\.67 +0\.06 … 0\.99 +67 % +6 % … 99 % +2 +1", shown)
    assert "4 attempts in 1.0 s: 2 passed, 1 failed, 1 error  (intervals: Wilson with t, exact end)" in shown
    assert "✗ FAILED: 1 case failed; 1 case ended with an error of the agent" in shown


def test_one_case_has_no_interval_of_its_mean() -> None:
    """A mean of one value has no interval."""
    assert re.search(r"match +1\.00 +– +100 %", report([passed(0)]))


SPOILED = (Fault("simulator", ("message 2: 기다려\x1b[2J",)), Fault("environment", ("timeout of get",)))


def test_what_failed_names_its_side() -> None:
    """The agent's in a word, since its criteria follow; any other with all evidence that there is."""
    (shown,) = re.findall("^✗ failed0 .*$", printed(case(replace(failed(0), invalidations=()))), re.MULTILINE)
    assert shown.split() == ["✗", "failed0", "failed", "fault:", "agent"]
    lines = printed(case(replace(failed(0), invalidations=SPOILED))).splitlines()
    assert lines[0].split() == ["✗", "failed0", "failed", "fault:", "simulator"]
    assert [one.strip() for one in lines[1:3]] == [
        r"simulator: message 2: 기다려\x1b[2J",
        "environment: timeout of get",
    ]


def test_what_passed_and_is_invalid_says_so() -> None:
    """With the evidence, and without a fault."""
    lines = printed(case(replace(passed(0), invalidations=SPOILED))).splitlines()
    assert lines[0].split() == ["✓", "passed0", "passed", "invalid"]
    assert lines[2].strip() == "environment: timeout of get"


def test_a_cause_that_is_the_evidence_is_shown_once() -> None:
    """A broken simulator's cause stands there as its evidence."""
    failure = Failure("simulator", "no idea")
    broken = CaseResult("x", 0, (), failure=failure, invalidations=(Fault("simulator", ("no idea",)),))
    assert printed(case(broken)).count("simulator: no idea") == 1


@pytest.mark.parametrize(
    ("reply", "reference", "shown"),
    [
        ("It costs 39.95 EUR", "It costs 39.90 EUR", ["[-39.90-]", "{+39.95+}"]),
        ("Order A-18 is late", "Order A-17 is late", ["[-A-17-]", "{+A-18+}"]),
        ("We meet at 12:45", "We meet at 12:30", ["[-12:30-]", "{+12:45+}"]),
    ],
)
def test_a_difference_never_cuts_inside_a_number_or_a_word(reply: str, reference: str, shown: list[str]) -> None:
    """The whole number is marked, not its last digits."""
    report_of_reply = printed(case(response(reply, reference)))
    assert all(mark in report_of_reply for mark in shown)


def test_a_duration_has_its_unit() -> None:
    """In the line of values, in the line of the criterion, and in the table."""
    result = CaseResult("slow", 0, (Outcome("invocation_duration_v1", Score(2.5), 2.0, lower_is_better=True),))
    shown = report([result])
    assert "invocation_duration_v1  2.50 s  (needs ≤ 2.00)" in shown
    assert re.search(r"invocation_duration_v1 +2.50 s", shown.partition("criterion")[2])


def test_every_attempt_of_a_case_that_has_several_tells_its_number() -> None:
    """The first too; a case with a single attempt tells none. Attempts that passed fold into the line of their case."""
    shown = report([passed(0), replace(failed(1), attempt=1), replace(passed(1), attempt=2), passed(2)])
    assert re.findall(r"^[✓✗] .*$", shown, re.MULTILINE)[:5] == [
        "✓ passed0  passed  match 1.00",
        "✗ failed1  failed  1 of 2 attempts passed, needed: all attempts pass",
        "✗ failed1  attempt 1  failed",
        "✓ passed1  attempt 2  passed  match 1.00",
        "✓ passed2  passed  match 1.00",
    ]
    shown = report([replace(passed(1), attempt=1), replace(passed(1), attempt=2)])
    assert "✓ passed1  passed  2 of 2 attempts passed, needed: all attempts pass\n\n" in shown


def test_attempts_that_failed_alike_are_shown_once() -> None:
    """Of a case. Another value, and a failure of another case, are shown in full."""
    results = [replace(failed(1, value), attempt=number) for number, value in enumerate((0.0, 0.0, 0.5, 0.0), 1)]
    shown = report([*results, failed(2)])
    assert [line for line in shown.splitlines() if "the same as attempt" in line] == [
        "✗ failed1  attempt 2  failed  the same as attempt 1",
        "✗ failed1  attempt 4  failed  the same as attempt 1",
    ]
    assert len(re.findall(r"✗ match +0\.", shown)) == 3


@pytest.mark.parametrize("language", ["ko", "ja", "zh-TW", "zh-CN"])
def test_the_words_of_a_user_are_never_translated(language: str) -> None:
    """A user's metric may use a word of this package. The reason of a criterion of the package is translated."""
    users = Outcome("polite", Score(0.0, "missing"), 0.8, aggregation="value")
    ours = Outcome("match", Score(0.0, "missing"), 0.8)
    with speaking(language):
        shown = printed(case(CaseResult("a", 0, (users, ours))))
    assert shown.count("missing") == 1


def test_the_criteria_of_the_package_whose_value_decides_are_known() -> None:
    """Their reasons are those of the package."""
    assert {name for name, entry in CATALOG.items() if entry.aggregation == "value"} == OWN_VALUES


@pytest.mark.parametrize("name", ["order_" * 12, "주문_조회_" * 9])
def test_a_long_name_begins_beside_its_mark(name: str) -> None:
    """Of a case and of a criterion, in a terminal that is narrower than the name."""
    lines = printed(case(CaseResult(name, 0, (Outcome(name, Score(1.0), 0.5),))), width=40).splitlines()
    starts = [line.strip() for line in lines if "✓" in line]
    assert [one[:8] for one in starts] == [f"✓ {name[:6]}"] * 2


def test_numbers_over_valid_attempts_are_shown_where_some_are_invalid() -> None:
    """A table of their own, and how many are invalid on which side; nothing of it where all are valid."""
    valid = [replace(passed(0), invalidations=()), replace(failed(1), invalidations=())]
    assert "valid" not in report(valid)
    shown = report([*valid, replace(failed(2), invalidations=SPOILED), replace(failed(3), invalidations=SPOILED[1:])])
    assert re.search(r"match +0\.25 +0\.01 … 0\.84 +25 %", shown)
    assert re.search(r"valid attempts only .*\n.*\n match +2 +0\.50 +0\.00 … 1\.00 +50 %", shown)
    assert f"2 of 4 attempts invalid: simulator 1, environment 1; `fairtrial show {INFO.id}` lists them" in shown


def test_invalid_attempts_are_listed_for_those_who_repair_them() -> None:
    """Passed or not, with all evidence; where all are valid there is no list."""
    results = [
        passed(0),
        replace(passed(1), invalidations=SPOILED, attempt=2),
        replace(failed(2), invalidations=SPOILED[1:]),
    ]
    lines = [line for one in invalid(results) for line in printed(one).splitlines() if line]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["✓", "passed1"],
        ["simulator:", "message"],
        ["environment:", "timeout"],
        ["✗", "failed2"],
        ["environment:", "timeout"],
    ]
    assert list(invalid([passed(0)])) == []


@pytest.mark.parametrize("width", [40, 60, 80, 110, 160])
def test_numbers_are_never_broken_by_a_narrow_terminal(width: int) -> None:
    """Where the table does not fit, each criterion's numbers stand below its name; all of them are there either way."""
    results = [CaseResult("x", i, (Outcome("주문_" * 9, Score(0.5), 0.5), Outcome("m", Score(i), 0.5))) for i in (0, 1)]
    shown = printed(tables(aggregate(results)), width=width)
    assert max(cell_len(line) for line in shown.splitlines()) <= width
    words = re.sub(r"\s+", " ", shown)
    assert {"0.50", "100 %", "0 % … 100 %", "1 % … 100 %"} <= set(re.findall(r"\d+ % … \d+ %|\d+ %|0\.50", words))


def test_a_run_without_an_end_has_no_verdict() -> None:
    """What an interrupted run has so far is not called its verdict."""
    unfinished = RunInfo(INFO.id, INFO.started, "0", "run")
    assert "NOT FINISHED, so far passed" in report([passed(0)], info=unfinished)


@given(st.text())
def test_visible_text_stays_as_it_is(text: str) -> None:
    """Text is changed only where it holds control characters."""
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize("panel", [0.25, None])
def test_what_judging_took_is_shown_by_criterion(panel: float | None) -> None:
    """Calls, votes saved, abstentions, agreement, cost; agreement between models only where there are several."""
    outcome = Outcome("match", Score(1.0), 0.8, judge_stats=JudgeStats(1234, 2, 1, 0.5, 0.75, panel))
    shown = report([CaseResult("c", 0, (outcome,))])
    (line,) = (" ".join(one.split()) for one in shown.splitlines() if "1,234" in one)
    assert line == f"match 1,234 2 1 75 % – {'25 % – ' if panel else ''}$0.5000"
    assert ("panel agreement" in shown) == (panel is not None)


def test_the_agreement_of_a_judge_stands_beside_its_interval() -> None:
    """Of four cases that are all or nothing, it is the interval of a pass rate of three in four."""
    results = [
        CaseResult(f"c{i}", i, (Outcome("m", Score(own), 0.8, judge_stats=JudgeStats(3, 2, 0, 0.5, own)),))
        for i, own in enumerate((1.0, 1.0, 1.0, 0.0))
    ]
    of_passes, of_agreement = re.findall(r"75 % +(\d+ % … \d+ %)", report(results))
    assert of_agreement == of_passes


def broken(i: int, cause: str) -> CaseResult:
    """A case that ended with an error, whose traceback has an address of its own."""
    failure = Failure("agent", cause, f"Traceback {i}")
    return replace(failed(i), failure=failure, outcomes=(Outcome("match", Score(None, f"not reached: {cause}"), 0.8),))


def test_an_error_of_many_cases_is_told_once() -> None:
    """The cases have a line each, and a line at the end counts them."""
    text = report([*(broken(i, "KeyError: 'orders'") for i in range(12)), broken(12, "ValueError: other")])
    assert text.count("agent: KeyError: 'orders'") == 2
    assert text.count("the same error") == 12
    assert "12 attempts ended with the same error: agent: KeyError: 'orders'" in text
    assert all(f"failed{i} " in text for i in range(13))
    assert len(text.splitlines()) < 40


def test_a_criterion_that_gave_no_value_stays_in_the_table() -> None:
    """Somebody asked for it. Its line has dashes, and the number of outcomes that inform."""

    def tone(*_: object) -> Score:
        return Score(None, "no tone was found")

    eval_set = EvalSet("s", (EvalCase("c", (Invocation(Message("Hi"), (), Message("Hello!")),)),))
    criteria: dict[str, Any] = {"tone": tone, "response_match_score": 0.5}
    run = fairtrial.evaluate(eval_set, lambda _: "Hello!", criteria, store=None)
    (line,) = [line.split() for line in run.report().splitlines() if line.strip().startswith("tone ")]
    assert line == ["tone", "–", "–", "–", "–", "–", "1"]
    assert "agent_cost_v1" not in run.report()


def test_wrong_facts_of_an_attempt_are_named() -> None:
    """A report names what the reply contradicts and what it misses, and no fact that agrees."""
    expected = "Order W-1001 of 2 mugs ships on 3 March, and the parcel weighs 4 kg."
    eval_set = EvalSet("s", (EvalCase("c", (Invocation(Message("Hi"), (), Message(expected)),)),))
    run = fairtrial.evaluate(eval_set, lambda _: "Order W-1001 ships on 4 March.", {"facts_match_v1": 1.0}, store=None)
    lines = [" ".join(line.split()) for line in run.report().splitlines()]
    named = [line for line in lines if line.startswith(("date:", "number:", "quantity:", "code:"))]
    assert named == [
        "date: 3 March 0.00 contradicted: '3 March' is expected, and the reply says '4 March'",
        "number: 2 not applicable missing; a contradiction decides",
        "quantity: 4 kg not applicable missing; a contradiction decides",
    ]


def test_of_many_wrong_facts_five_are_named() -> None:
    """The others stand in the details."""
    expected = ", ".join(f"item {number} costs ${number}.50" for number in range(11, 18))
    eval_set = EvalSet("s", (EvalCase("c", (Invocation(Message("Hi"), (), Message(expected)),)),))
    run = fairtrial.evaluate(eval_set, lambda _: "I do not know.", {"facts_match_v1": 1.0}, store=None)
    assert sum(line.strip().startswith(("amount:", "number:")) for line in run.report().splitlines()) == 5

"""Reports show the conversation: who wrote what, which tools were called, and why a judge decided so."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from builders import call, case, trace, turn, unknown_turn
from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.result import CaseResult, JudgeStats, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import PartKey, Score, invocation_key
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Trace
from fairtrial.reports import json_report
from fairtrial.reports.terminal import case as attempt
from fairtrial.reports.transcript import Transcript
from fairtrial.reports.transcript_lines import fold_middle, transcript_lines
from fairtrial.reports.views.view_attempts import step_view
from fairtrial.text.display import fold
from finished import FinishedRun
from schema_checks import check_shape

FAILED = CaseResult("case", 0, (Outcome("match", Score(0.0), 0.8),))


def lines(actual: Trace, *expected: Invocation, result: CaseResult = FAILED, full: bool = False) -> list[str]:
    """The lines of a conversation, each with its label."""
    transcript = Transcript(result, Recording("case", actual), case(*expected))
    return [f"{line.label}: {line.text}" for line in transcript_lines(transcript, full=full)]


def test_a_conversation_shows_who_wrote_what_and_which_tools_were_called() -> None:
    """Messages, thoughts, calls with arguments and results stand in their order, a failed tool as an error."""
    steps = (
        Thought("look it up"),
        call("get", id=7),
        ToolResult("get", {"state": "lost"}),
        call("pay"),
        ToolResult("pay", "refused", is_error=True),
    )
    assert lines(trace(turn(*steps, query="where?", reply="lost"))) == [
        "user: where?",
        "thought: look it up",
        "call: get(id=7)",
        'result: get: {"state": "lost"}',
        "call: pay()",
        'error: pay: "refused"',
        "agent: lost",
    ]


def test_the_work_inside_of_a_tool_stands_indented_before_its_result() -> None:
    """Each inner line is indented by its depth, and names the agent that did it."""
    deep = Trace((Invocation(Message("look"), (call("read"),), Message("7", "reader")),))
    inner = Trace((Invocation(Message("ask"), (call("look"), ToolResult("look", 7, inner=deep)), Message("it is 7")),))
    steps = (call("ask"), ToolResult("ask", "it is 7", inner=inner))
    assert lines(trace(turn(*steps, query="how many?", reply="7"))) == [
        "user: how many?",
        "call: ask()",
        "call:   ↳ look()",
        "call:     ↳ read()",
        "agent:     ↳ reader: 7",
        "result:   ↳ look: 7",
        "agent:   ↳ it is 7",
        'result: ask: "it is 7"',
        "agent: 7",
    ]


def test_steps_inside_of_a_tool_that_are_not_recorded_are_told() -> None:
    """No steps would look like an agent that did nothing. The page and JSON get the reason."""
    inner = Trace((Invocation(Message("ask"), None, Message("it is 7")),))
    result = ToolResult("ask", "it is 7", inner=inner)
    shown = lines(trace(turn(call("ask"), result, query="how many?", reply="7")))
    assert shown[2:4] == ["agent:   ↳ (not recorded)", "agent:   ↳ it is 7"]
    unknown, reply = step_view(result).inner
    assert (unknown.withheld, reply.text) == ("the steps of this agent are not recorded", "it is 7")


def test_the_expectation_stands_beside_what_happened() -> None:
    """Expected calls and the reference are shown if they differ, and named in one line if they do not."""
    actual = trace(turn(call("get"), reply="a"), turn(call("get"), reply="b"))
    shown = lines(actual, turn(call("get"), reply="a"), turn(call("get", id=1), call("pay"), reply="c"))
    assert shown[4] == "expected: the same calls and reply"
    assert shown[-3:] == ["expected: get(id=1)", "expected: pay()", "expected: c"]
    assert lines(trace(turn(call("get"))), turn())[-1] == "expected: no calls"


def test_an_expected_invocation_that_never_happened_is_shown() -> None:
    """Its message and its expectation follow what was recorded."""
    shown = lines(trace(turn(reply="a")), turn(reply="a"), unknown_turn(query="and then?", reply="b"))
    assert shown[-3:] == [": invocation 2, which did not happen", "user: and then?", "expected: b"]


def test_a_failure_and_a_missing_reply_are_part_of_the_conversation() -> None:
    """The side and the cause of the failure end it."""
    broken = CaseResult("case", 0, (), failure=Failure("agent", "boom"))
    assert lines(trace(turn()), result=broken) == ["user: hi", "agent: (no reply)", "error: agent: boom"]


def test_an_attachment_is_named() -> None:
    """A message that holds an image alone is not empty."""
    message = Message("", parts=(Part("image/png", name="lamp.png"),))
    assert lines(Trace((Invocation(message),)))[0] == "user: [image/png lamp.png]"


def test_the_reason_of_a_judge_stands_below_the_invocation_that_it_judged() -> None:
    """A reason about the whole conversation stands at its end."""
    parts = (
        Score(1.0, "polite", key=invocation_key(0)),
        Score(0.0, key=invocation_key(1), parts=(Score(0.0, "rude", key=PartKey("rubric", id="tone")),)),
    )
    stats = JudgeStats(2, 0, 0)
    judged = Outcome("rubrics", Score(0.5, "half of it", parts=parts), 1.0, judge_stats=stats)
    result = CaseResult("case", 0, (judged,))
    shown = lines(trace(turn(reply="please"), turn(reply="go away")), result=result)
    assert [line for line in shown if line.startswith(("agent", "judge"))] == [
        "agent: please",
        "judge: rubrics 1.00: polite",
        "agent: go away",
        "judge: rubrics tone 0.00: rude",
        "judge: rubrics 0.50: half of it",
    ]


def test_the_reason_of_a_judge_is_printed_once() -> None:
    """The block of the criterion has the value, and the conversation has the reason."""
    score = Score(0.0, parts=(Score(0.0, "rude", key=invocation_key(0)),))
    judged = Outcome("rubrics", score, 1.0, judge_stats=JudgeStats(1, 0, 0))
    out = io.StringIO()
    transcript = Transcript(CaseResult("case", 0, (judged,)), Recording("case", trace(turn(reply="go away"))))
    Console(file=out, width=100).print(attempt(transcript))
    assert out.getvalue().count("rude") == 1
    assert "✗ rubrics  0.00  (needs ≥ 1.00)" in out.getvalue()


def test_a_long_text_is_folded_with_its_length_unless_everything_is_asked_for() -> None:
    """`full` shows all of it."""
    long = " ".join(f"word{i}" for i in range(2000))
    (_, agent) = lines(trace(turn(reply=long)))
    assert agent.endswith(f"… ({len(long):,} characters)")
    assert len(agent) < 700
    assert lines(trace(turn(reply=long)), full=True)[1] == f"agent: {long}"


@pytest.mark.parametrize(
    ("text", "limit", "start"),
    [
        ("one two three", 9, "one two …"),
        ("costs 39.90 EUR", 9, "costs …"),
        ("주문 A-17은 늦습니다", 6, "주문 …"),
        ("不可以退款因为太晚", 3, "不可以 …"),
        ("aaaaaaaaaa", 4, "aaaa …"),
    ],
)
def test_a_text_is_folded_between_words(text: str, limit: int, start: str) -> None:
    """Neither a word nor a number is cut, unless the text holds nothing else."""
    assert fold(text, limit) == f"{start} ({len(text)} characters)"


def test_a_text_within_the_limit_stays_whole() -> None:
    """Its length is not told."""
    assert fold("one two", 7) == "one two"


def test_a_long_conversation_is_folded_in_its_middle() -> None:
    """40 lines remain; the note counts the others, and says how they are shown."""
    transcript = Transcript(FAILED, Recording("case", trace(*(turn(query=str(i), reply="ok") for i in range(50)))))
    every_line = list(transcript_lines(transcript))
    shown = fold_middle(every_line, "`show` shows them")
    assert len(shown) == 40
    assert shown[12].text == f"{len(every_line) - 39} more lines; `show` shows them"
    assert [shown[0], shown[-1]] == [every_line[0], every_line[-1]]


def test_the_json_report_has_every_conversation_whole() -> None:
    """Also of a case that passed. A recording that is lost is null, and not an empty conversation."""
    long = "x " * 5000
    passed, lost = CaseResult("case", 0, (Outcome("match", Score(1.0), 0.8),)), CaseResult("lost", 1, ())
    expected = ExpectedCase(0, "case", case(turn(call("get"), reply="yes"), turn(reply="bye")))
    recording = Recording("case", trace(turn(call("get", id=1), ToolResult("get", [1]), query="there?", reply=long)))
    info = RunInfo("r", "2026-01-01T00:00:00.000+00:00", "0", "run")
    out = io.BytesIO()
    json_report.write(out, FinishedRun(info, [passed, lost], [expected], [(0, recording)]))
    first, second = json.loads(out.getvalue())["attempts"]
    (spoken,) = first["trace"]
    assert [spoken["user"]["text"], spoken["reply"]["text"]] == ["there?", long]
    assert [(step["kind"], step["name"], step.get("args", step.get("response"))) for step in spoken["steps"]] == [
        ("tool_call", "get", {"id": 1}),
        ("tool_result", "get", [1]),
    ]
    asked, missing = first["expected"]["conversation"]
    assert [step["name"] for step in asked["steps"]] == ["get"]
    assert missing["reply"]["text"] == "bye"
    assert (second["trace"], second["expected"]) == (None, None)


@pytest.fixture
def run_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stored run with a case that passed and two that failed."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail_it", "crash"))
    fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--json", "r.json", "--junit", "r.xml")
    found: str = json.loads(Path("r.json").read_bytes())["run"]["id"]
    return found


def test_a_case_that_passed_is_one_line_unless_it_is_opened(run_id: str) -> None:
    """The line has the values that decided; `-v` shows its conversation."""
    brief, opened = fairtrial("show", run_id).out, fairtrial("show", run_id, "-v").out
    assert "✓ good  passed  response_match_score 1.00\n" in brief
    assert [text.count("user ") for text in (brief, opened)] == [2, 3]


def test_attempts_are_listed_by_failure_criterion_case_and_value(run_id: str) -> None:
    """Each option leaves out the other attempts; the worst value comes first."""

    def listed(*options: str) -> list[str]:
        return [line.split()[1] for line in fairtrial("show", run_id, *options).out.splitlines() if line[0] in "✓✗!?"]

    assert listed("--failed") == ["fail_it", "crash"]
    assert listed("--case", "g*") == ["good"]
    assert listed("--sort", "value") == ["fail_it", "good", "crash"]
    assert listed("--criterion", "response_match_score", "--failed") == ["fail_it", "crash"]
    assert listed("--page", "1") == ["good", "fail_it", "crash"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--page", "2"), "--page: must be at most 1, got 2"),
        (("--criterion", "response_match"), "did you mean 'response_match_score'"),
        (("--failed", "--all"), "list attempts of RUN; leave out CASE, --all and files"),
    ],
)
def test_a_selection_that_cannot_be_made_is_refused(run_id: str, options: tuple[str, ...], problem: str) -> None:
    """The message says what is allowed."""
    done = fairtrial("show", run_id, *options)
    assert done.code == 2
    assert problem in done.err


def test_the_junit_file_has_the_conversation_of_what_did_not_pass(run_id: str) -> None:
    """It stands in `system-out`, and not for a case that passed."""
    assert run_id
    xml = Path("r.xml").read_text()
    assert xml.count("<system-out>user ") == 2


def test_the_json_report_has_the_work_inside_of_a_tool_in_its_result() -> None:
    """At each depth, with the agent of each step and the reply last. A step without such work has no such key."""
    deep = Trace((Invocation(Message("look"), (ToolCall("read", author="reader"),), Message("7", author="reader")),))
    steps = (ToolCall("look", author="asker"), ToolResult("look", 7, author="asker", inner=deep))
    inner = Trace((Invocation(Message("ask"), steps, Message("it is 7", author="asker")),))
    recording = Recording("case", trace(turn(call("ask"), ToolResult("ask", "it is 7", inner=inner), reply="7")))
    info = RunInfo("r", "2026-01-01T00:00:00.000+00:00", "0", "run")
    out = io.BytesIO()
    json_report.write(out, FinishedRun(info, [FAILED], [], [(0, recording)]))
    report = json.loads(out.getvalue())
    check_shape(report, "ReportView")
    asked, answered = report["attempts"][0]["trace"][0]["steps"]
    assert "inner" not in asked
    look, result, reply = answered["inner"]
    assert look == {"kind": "tool_call", "name": "look", "author": "asker"}
    assert reply == {"kind": "message", "text": "it is 7", "author": "asker"}
    assert (result["kind"], result["response"]) == ("tool_result", 7)
    assert result["inner"] == [
        {"kind": "tool_call", "name": "read", "author": "reader"},
        {"kind": "message", "text": "7", "author": "reader"},
    ]

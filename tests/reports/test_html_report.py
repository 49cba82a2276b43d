"""The HTML report holds the whole run, and nothing that a browser could run by mistake."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import PartKey, Quote, Range, Score
from fairtrial.records.trace import About, AgentDetails, Invocation, Message, Thought, ToolCall, ToolResult, Trace
from fairtrial.reports.html import clean, write_pages
from fairtrial.reports.html_summary import LANGUAGES, LISTED, texts
from fairtrial.reports.views.view import repeat_command
from fairtrial.text.redaction.redact import redact
from finished import FinishedRun
from html_pages import write_page
from judged_pages import judged_run
from report_pages import run
from schema_checks import check_shape
from secret_corpus import positives

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
INFO = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00+00:00", "0", "run", finished="2026-01-01T00:01:00+00:00")
SHOP = AgentDetails("shop", "You are a shop.", ({"name": "get_order"},))
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\x00\x1b[31m",
    "\u202eevil\u202c",
    "lone \ud800 surrogate",
    '" onmouseover="alert(1)',
)


def conversation(*texts_of_users: str, agent: AgentDetails = SHOP) -> tuple[Invocation, ...]:
    """A conversation in which the agent calls a tool, and repeats the words of the user."""
    return tuple(
        Invocation(
            Message(text),
            (Thought("hm"), ToolCall("get_order", {"order": text}), ToolResult("get_order", {"state": text})),
            Message(f"You said: {text}", "shop"),
            about=About((agent,)),
        )
        for text in texts_of_users
    )


def finished(*values: float | None, contents: Sequence[str] = ()) -> FinishedRun:
    """A run with a case for each value, and a recording of each. `contents` are messages, and reasons of the scores."""
    results, expected, recorded = [], [], []
    for position, value in enumerate(values):
        text = contents[position] if contents else "Where is it?"
        reason = contents[position] if contents else "" if value == 1 else "the words differ"
        score = Score(value, reason, quotes=(Quote(text, "trace"),))
        results.append(CaseResult(f"case_{position}", position, (Outcome("match", score, 0.5),), eval_set="shop"))
        expected.append(ExpectedCase(position, f"case_{position}", EvalCase(f"case_{position}", conversation(text))))
        recorded.append((position, Recording(f"case_{position}", Trace(conversation(text)))))
    return FinishedRun(INFO, results, expected, recorded)


def test_every_attempt_is_in_the_page() -> None:
    """More attempts than a chunk holds can be read back, each with its own conversation."""
    run = finished(*[1.0] * 250)
    attempts = write_page(run).attempts()
    assert [attempt["name"] for attempt in attempts] == [f"case_{i}" for i in range(250)]
    (invocation,) = attempts[-1]["trace"]
    assert invocation["user"]["text"] == "Where is it?"
    assert [step["kind"] for step in invocation["steps"]] == ["thought", "tool_call", "tool_result"]
    assert invocation["reply"] == {"kind": "message", "text": "You said: Where is it?", "author": "shop"}


def test_the_page_is_valid_by_its_schema() -> None:
    """The index and each attempt keep to the JSON Schema of the view model."""
    page = write_page(finished(1.0, 0.0, None))
    check_shape(page.view, "PageView")
    for attempt in page.attempts():
        check_shape(attempt, "AttemptView")


def test_an_agent_is_written_once() -> None:
    """Instructions that many attempts share are in the page once."""
    page = write_page(finished(*[1.0] * 30))
    assert [agent["instructions"] for agent in page.view["runs"][0]["agents"]] == ["You are a shop."]
    assert not any("You are a shop." in json.dumps(attempt) for attempt in page.attempts())


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_hostile_text_stays_text(text: str) -> None:
    """A text in every place of a run adds no element and no attribute to the page."""
    case = EvalCase(text, conversation(text, agent=AgentDetails(text, text)))
    score = Score(
        0.0, text, quotes=(Quote(text, text),), parts=(Score(0.0, text, text, key=PartKey("rubric", id=text)),)
    )
    result = CaseResult(
        text, 0, (Outcome(text, score, 0.5),), failure=Failure("agent", text, text), eval_set=text, warnings=(text,)
    )
    recording = Recording(text, Trace(conversation(text, agent=AgentDetails(text, text)), broken=text))
    info = RunInfo(text, text, text, "run", {"paths": [text]}, {text: {"metric": text}})
    page = write_page(FinishedRun(info, [result], [ExpectedCase(0, text, case)], [(0, recording)]))
    plain = write_page(finished(0.0))
    assert page.tags == plain.tags
    assert (page.scripts, page.styles, page.policy) == (plain.scripts, plain.styles, plain.policy)
    assert page.metas == plain.metas


def test_the_policy_allows_our_script_and_style_only() -> None:
    """The hashes are those of the elements, computed here."""
    page = write_page(finished(1.0))
    (script,), (style,) = page.scripts, page.styles
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in page.policy
    assert page.policy.startswith("default-src 'none';")
    assert "require-trusted-types-for 'script'" in page.policy
    assert "unsafe" not in page.policy
    assert "http" not in page.policy


def test_the_program_asks_for_nothing_from_a_network() -> None:
    """Neither the script nor the style names a host, apart from the namespaces of SVG and MathML."""
    page = write_page(finished(1.0))
    hosts = {host for text in (*page.scripts, *page.styles) for host in re.findall(r"https?://([\w.]+)", text)}
    assert hosts <= {"www.w3.org"}


def test_the_plain_summary_lists_the_first_attempts_that_did_not_pass() -> None:
    """Without a script, the numbers and 50 attempts can be read."""
    page = write_page(finished(1.0, *[0.0] * (LISTED + 1)))
    assert "case_0" not in page.text
    assert f"case_{LISTED}" in page.text
    assert f"case_{LISTED + 1}" not in page.text
    assert texts("en")["needsScript"] in page.text
    assert "match" in page.text


def test_an_amount_has_its_unit() -> None:
    """Seconds stand beside a duration: in the numbers of the run, of an attempt, and of the page without script."""
    outcome = Outcome("invocation_duration_v1", Score(1.5), range=Range(0.0, None))
    page = write_page(FinishedRun(INFO, [CaseResult("slow", 0, (outcome,))]))
    assert [criterion["unit"] for criterion in page.view["runs"][0]["criteria"]] == ["s"]
    assert [own["unit"] for attempt in page.attempts() for own in attempt["outcomes"]] == ["s"]
    assert "1.50 s" in page.text


@pytest.mark.parametrize(("traces", "conversations"), [("all", [0, 1]), ("failed", [1]), ("none", [])])
def test_traces_can_be_left_out(traces: str, conversations: list[int]) -> None:
    """`--traces` decides which conversations are written. The outcomes always are."""
    attempts = write_page(finished(1.0, 0.0), traces=traces).attempts()
    assert [attempt["place"] for attempt in attempts if "trace" in attempt] == conversations
    assert all(attempt["outcomes"] for attempt in attempts)


def test_a_large_page_leaves_out_what_passed_and_says_so() -> None:
    """Above the limit only attempts that did not pass keep their conversations, and the option is named."""
    stream = io.BytesIO()
    (warning,) = write_pages(stream, [finished(1.0, 0.0)], limit=100)
    assert "--traces all" in warning
    assert [view["traces"] for view in write_page(finished(1.0, 0.0), limit=100).view["runs"]] == ["failed"]
    (warning,) = write_pages(stream, [finished(1.0, 0.0)], traces="all", limit=100)
    assert "--traces failed" in warning


def test_secrets_never_reach_the_page() -> None:
    """A secret in a conversation or a reason is neither in the data nor in the plain summary.

    A page holds as many examples as its plain summary lists.
    """
    secrets = [example for example in positives(random.Random(1), each=1) if not example.category.startswith("e-mail")]
    left = []
    for first in range(0, len(secrets), LISTED):
        group = secrets[first : first + LISTED]
        page = write_page(finished(*[0.0] * len(group), contents=[example.text for example in group]))
        content = page.text + "".join(data.decode(errors="replace") for data in page.data.values())
        left += [example for example in group if example.secret in content]
    assert len(secrets) > 100
    assert left == []


def test_secrets_in_repeated_messages_of_prompts_never_reach_the_page() -> None:
    """The messages of a long prompt are cleaned one by one, and a message that repeats only once."""
    differing = []
    for example in positives(random.Random(1), each=1):
        message = f"<<<TEXT reply code>>>\n{'word ' * 150}\n{example.text}\n<<<end TEXT reply code>>>\n"
        prompt = f"You judge.\n{message * 3}after the last message:\n{example.text}"
        if clean(prompt) != redact(prompt, emails=False)[0]:
            differing.append(example)
    assert differing == []


def test_a_secret_in_the_mark_of_a_message_never_reaches_the_page() -> None:
    """Only the code that stands in both marks around a message is left out of the search."""
    value = "q7Zx9Kp2Lm4Nv8Rt6Yw1Bc3Df5Gh0JsA"
    left = "word " * 500
    forged = [
        f"{left}<<<api_key={value}>>>\nHello.\n<<<end TEXT reply>>>",
        f"{left}<<<api_key={value}>>>\nHello.\n<<<end api_key={value}>>>",
        f"{left}api_key={value}\n<<<end TEXT reply>>>",
    ]
    assert [text for text in forged if value in clean(text)] == []


def with_reasons(ballot: Ballot, reasons: Iterator[str]) -> Ballot:
    """A ballot whose votes have other reasons."""
    votes = []
    for vote in ballot.votes:
        opinions = {item: replace(own, rationale=next(reasons)) for item, own in vote.opinions.items()}
        votes.append(replace(vote, opinions=opinions))
    return replace(ballot, votes=tuple(votes))


def test_secrets_in_reasons_of_votes_never_reach_the_page() -> None:
    """A panel's reasons are searched together. A secret stands among thousands of reasons without one."""
    secrets = [example for example in positives(random.Random(1), each=1) if not example.category.startswith("e-mail")]
    reasons = itertools.cycle(["It names the order.", *(own.text for own in secrets)])
    judged = judged_run(60, prompt_size=0)
    ballots = {name: with_reasons(ballot, reasons) for name, ballot in judged.ballots.items()}
    page = write_page(dataclasses.replace(judged, ballots=ballots))
    content = b"".join(page.data.values()).decode(errors="replace")
    assert "It names the order." in content
    assert [example for example in secrets if example.secret in content] == []


def test_every_text_exists_in_every_language() -> None:
    """The five languages have the same names, and the same values in each text."""

    def values(text: Any) -> set[str]:
        forms = text.values() if isinstance(text, dict) else [text]
        return {value for form in forms for value in re.findall(r"\{(\w+)\}", form)}

    english = {name: values(text) for name, text in texts("en").items()}
    for language in LANGUAGES:
        own = texts(language)
        assert {name: values(text) for name, text in own.items()} == english
        assert all("other" in text for text in own.values() if isinstance(text, dict))


def test_a_file_without_network_names_the_language_that_was_asked_for() -> None:
    """`--lang` decides the plain summary and the page."""
    page = write_page(finished(0.0), language="ko")
    assert texts("ko")["notPassed"] in page.text
    assert page.view["language"] == "ko"


def test_the_command_that_repeats_a_run_has_its_options() -> None:
    """Paths with spaces are quoted."""
    config = {"paths": ["my evals"], "agent": "shop:reply", "config": None, "only": ["a*"], "attempts": 3}
    info = RunInfo("1", "2026", "0", "run", {**config, "thresholds": {"match": 0.5}, "lenient": True})
    expected = "fairtrial run 'my evals' --agent shop:reply --attempts 3 --only 'a*' --threshold match=0.5 --lenient"
    assert repeat_command(info) == expected


def test_the_page_knows_which_criteria_found_nothing() -> None:
    """As the terminal does: a default without data has no row, and a criterion that somebody asked for has."""
    criteria = {
        criterion["criterion"]: criterion["has_data"] for criterion in write_page(run("r")).view["runs"][0]["criteria"]
    }
    assert (criteria["politeness"], criteria["invocation_duration_v1"]) == (True, False)


def test_the_types_of_the_program_are_those_of_the_view_model() -> None:
    """`make ui` has written them."""
    module: dict[str, Any] = {"__name__": "write_types", "__file__": str(ROOT / "ui" / "write_types.py")}
    exec((ROOT / "ui" / "write_types.py").read_text(encoding="utf-8"), module)  # noqa: S102
    assert (ROOT / "ui" / "src" / "view.ts").read_text(encoding="utf-8") == module["types"]()

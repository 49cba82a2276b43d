"""Every file of traces holds what people who read it by hand found in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import SHARED

from fairtrial import api, load_recordings, loading
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.records.attempt import Recording
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult

pytestmark = pytest.mark.shared

TRACES = SHARED / "data" / "traces"
ENTRIES: list[dict[str, Any]] = (
    json.loads((TRACES / "expected.json").read_bytes()) if (TRACES / "expected.json").is_file() else []
)


def entries() -> list[Any]:
    """Return every entry of the expectations, named by its files."""
    return [pytest.param(entry, id="+".join(entry["files"])) for entry in ENTRIES]


def recordings_in(entry: dict[str, Any], folder: Path) -> list[Recording]:
    """Return what the files of an entry hold together."""
    sources = loading.sources([folder / file for file in entry["files"]], recorded=True)
    return [recording for source in sources for recording in source.loaded.recordings]


@pytest.mark.parametrize("entry", entries())
def test_a_file_holds_what_its_readers_found(entry: dict[str, Any], shared: Path) -> None:
    """Conversations, turns, calls with their arguments, results, thoughts, messages, model calls and replies agree."""
    recordings = recordings_in(entry, shared / "data" / "traces")
    left_out = {"tool_results"}
    if entry.keys() & {"check_names_only", "reply_contains", "reply_nonempty"}:
        left_out.add("replies")  # the expectation counts only replies whose whole text it states
    expected_totals = {key: value for key, value in entry["totals"].items() if key not in left_out}
    assert totals(recordings) == totals(recordings) | keep_known(expected_totals)
    for recording, expected in zip(recordings, entry.get("recordings", []), strict=True):
        if expected.get("session") is not None and "session_from" not in entry:
            assert recording.trace.session_id == expected["session"]
        for key, value in recording_facts(recording).items():
            if key in expected:
                assert value == expected[key], key
        for invocation, wanted in zip(recording.trace.invocations, expected["invocations"], strict=True):
            check_invocation(invocation, wanted, entry)
    if "opening" in entry:
        assert all([each.text for each in recording.trace.opening] == [entry["opening"]] for recording in recordings)
    if "exit_status" in entry:
        assert [(recording.trace.extra or {}).get("exit_status") for recording in recordings] == [entry["exit_status"]]
    if entry.get("turns_unknown"):
        assert all(recording.trace.turns_unknown for recording in recordings)


def keep_known(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that are stated. Null means that nobody says."""
    return {key: value for key, value in values.items() if value is not None}


def totals(recordings: list[Recording]) -> dict[str, int]:
    """Return the sums over all recordings, as the expectations have them."""
    invocations = [invocation for recording in recordings for invocation in recording.trace.invocations]
    return {
        "recordings": len(recordings),
        "invocations": len(invocations),
        "tool_calls": sum(len(invocation.tool_calls) for invocation in invocations),
        "replies": sum(bool(invocation.reply) for invocation in invocations),
        "model_calls": sum(len(invocation.usages or ()) for invocation in invocations),
    }


def recording_facts(recording: Recording) -> dict[str, Any]:
    """Return what an expectation may state of a recording."""
    return {
        "broken": bool(recording.trace.broken),
        "case": recording.case_id,
        "attempt": recording.attempt,
        "ended_by": recording.ended_by,
        "reward": recording.trace.reward,
    }


def check_results(invocation: Invocation, wanted: dict[str, Any]) -> None:
    """Hold the number of results against its expectation.

    The span of a tool without its result is a result that was withheld. Where no result is expected, such spans are.
    """
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    if wanted["results"] == 0 and "results" in wanted.get("withheld", ()):
        assert all(result.withheld and result.response is None for result in results)
    elif wanted["results"] is not None:
        assert len(results) == wanted["results"]


def check_invocation(invocation: Invocation, wanted: dict[str, Any], entry: dict[str, Any]) -> None:
    """Hold an invocation against its expectation, field by field."""
    withheld = wanted.get("withheld", [])
    steps = invocation.steps or ()
    # Whoever read the files wrote the user's texts without the space around them.
    user = msgspec.structs.replace(invocation.user, text=invocation.user.text.strip())
    check_text(user, wanted["user"], "user" in withheld)
    if "reply_contains" in entry:
        assert entry["reply_contains"] in invocation.reply
    elif wanted["reply"] is not None or "reply" in withheld:
        check_text(invocation.final_response, wanted["reply"], "reply" in withheld)
    check_calls(invocation.tool_calls, wanted, entry)
    for key, kind in (("thoughts", Thought), ("messages_before_reply", Message)):
        if wanted[key] is not None:
            assert sum(isinstance(step, kind) for step in steps) == wanted[key], key
    check_results(invocation, wanted)
    if wanted["model_calls"] is not None:
        assert len(invocation.usages or ()) == wanted["model_calls"]
    if "failed_results" in wanted:
        assert sum(isinstance(step, ToolResult) and step.is_error for step in steps) == wanted["failed_results"]
    if "authors" in wanted:
        authors = [step.author for step in (*steps, invocation.final_response) if step is not None]
        assert list(dict.fromkeys(filter(None, authors))) == wanted["authors"]
    if "nested_calls" in wanted:
        assert nested_calls(invocation) == wanted["nested_calls"]


def check_text(message: Message | None, text: str | None, is_withheld: bool) -> None:
    """Hold a text against its expectation. A text that was withheld says why, and is empty."""
    if is_withheld:
        assert message is not None
        assert message.withheld
        assert message.text == ""
    elif text is not None:
        assert message is not None
        assert message.text.strip() == text.strip()
        assert not message.withheld


def check_calls(calls: tuple[ToolCall, ...], wanted: dict[str, Any], entry: dict[str, Any]) -> None:
    """Hold calls against their expectation: names, arguments, and whether the arguments were withheld."""
    if entry.get("count_calls_only"):
        assert len(calls) == len(wanted["calls"])
        return
    assert [call.name for call in calls] == [name for name, _ in wanted["calls"]]
    if entry.get("check_names_only"):
        return
    for call, (_, args) in zip(calls, wanted["calls"], strict=True):
        if args is not None:
            assert call.args == args
            assert not call.withheld
        elif not entry.get("args_may_be_present"):
            assert call.withheld
            assert call.args == {}


def nested_calls(invocation: Invocation) -> int:
    """Return the number of calls inside the results of an invocation, at any depth."""
    inner = [
        each
        for step in invocation.steps or ()
        if isinstance(step, ToolResult) and step.inner is not None
        for each in step.inner.invocations
    ]
    return sum(len(each.tool_calls) + nested_calls(each) for each in inner)


@pytest.mark.long
def test_every_other_file_loads() -> None:
    """A file without an expectation holds a conversation all the same."""
    named = {file for entry in ENTRIES for file in entry["files"]}
    about = ("README.md", "LICENSE", "expected.json", "exact.config.json", "two_turns.evalset.json")
    files = [str(path.relative_to(TRACES)) for path in sorted(TRACES.rglob("*")) if path.is_file()]
    others = [file for file in files if file not in named and not file.endswith(about)]
    assert len(others) == 5
    for file in others:
        (source,) = loading.sources([TRACES / file], recorded=True)
        assert source.loaded.recordings[0].trace.invocations, file


EXPORTS = {
    "helm.json": ("list all Helm releases", ["helm_list_releases"]),
    "helm_2.json": ("get me all the Helm releases", []),
    "helm_3.json": ("I need all the Helm releases right now!!", ["helm_list_releases"]),
    "tempo_export_with_batches.json": ("list all helm releases\n", ["helm_list_releases"]),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_a_tracing_backend_is_read(name: str, shared: Path) -> None:
    """Three traces of Jaeger and one of Tempo."""
    (recording,) = load_recordings(shared / "data" / "otel" / name)
    (invocation,) = recording.trace.invocations
    assert (invocation.query, [call.name for call in invocation.tool_calls]) == EXPORTS[name]
    assert invocation.reply


@pytest.mark.parametrize(
    ("name", "eval_set"), [("helm.json", "eval_set_helm.json"), ("helm_3.json", "evalset_helm_3_2026-02-23.json")]
)
def test_an_export_of_a_tracing_backend_meets_its_eval_set(name: str, eval_set: str, shared: Path) -> None:
    """People wrote the eval sets from these traces."""
    folder = shared / "data" / "otel"
    (result,) = api.score(folder / name, folder / eval_set, match="query").cases
    assert result.verdict is Verdict.PASSED


def shop_files(*, content: bool) -> list[Any]:
    """Return the files that hold the two turns of the shop, with their contents or without them."""
    return [
        pytest.param(entry["files"], id="+".join(entry["files"]))
        for entry in ENTRIES
        if "two_turns" in entry["files"][0] or "content_off" in entry["files"][0]
        if is_content_there(entry) is content
    ]


def is_content_there(entry: dict[str, Any]) -> bool:
    """Whether the arguments and the replies of all invocations are recorded."""
    invocations = [each for recording in entry.get("recordings", []) for each in recording["invocations"]]
    return not any({"args", "reply"} & set(each.get("withheld", ())) for each in invocations)


def score_shop(files: list[str], criteria: Any, traces: TraceOptions = DEFAULTS) -> list[CaseResult]:
    """Return the results of a dialogue in files."""
    sources = loading.sources([TRACES / file for file in files], recorded=True, traces=traces)
    recordings = [recording for source in sources for recording in source.loaded.recordings]
    return list(api.score(recordings, TRACES / "two_turns.evalset.json", criteria, match="order").cases)


BY_SERVICE = TraceOptions(conversation="service.name")
"""Some files have neither a session id nor a history that joins their two traces. Then the user names an attribute."""


@pytest.mark.long
@pytest.mark.parametrize("files", shop_files(content=True))
def test_the_same_dialogue_has_the_same_scores_in_every_dialect(files: list[str]) -> None:
    """All calls are right, and all replies. Whether the results of tools are there makes no difference."""
    (result,) = score_shop(files, TRACES / "exact.config.json", BY_SERVICE if "otel/" in files[0] else DEFAULTS)
    assert [(outcome.criterion, outcome.score.value, outcome.verdict) for outcome in result.outcomes[:2]] == [
        ("tool_trajectory_avg_score", 1.0, "passed"),
        ("response_match_score", 1.0, "passed"),
    ]


@pytest.mark.parametrize("files", shop_files(content=False))
def test_contents_that_were_not_recorded_are_unscored(files: list[str]) -> None:
    """The reason names the setting that records them, and nobody blames the agent."""
    (result, *_) = score_shop(files, TRACES / "exact.config.json")
    for outcome in result.outcomes[:2]:
        if outcome.verdict == "passed":  # some files hold the arguments without the texts
            assert outcome.criterion == "tool_trajectory_avg_score"
            continue
        assert outcome.verdict == "unscored"
        assert re.search(r"[A-Z]+_[A-Z_]+|recordInputs|Record the items", reasons(outcome.score))
    assert result.fault is not None
    assert result.fault.side == "infrastructure"


def reasons(score: Score) -> str:
    """Return all reasons of a score."""
    return " ".join([score.reason, *(part.reason for part in score.parts)])


@pytest.mark.parametrize("files", shop_files(content=False))
def test_names_of_tools_are_enough_without_arguments(files: list[str]) -> None:
    """With `ignore_args`, the names of the tools in their order count."""
    criteria = {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "ignore_args": True}}}
    (result,) = score_shop(files, criteria, BY_SERVICE if "otel/" in files[0] else DEFAULTS)
    assert (result.outcomes[0].score.value, result.outcomes[0].verdict) == (1.0, "passed")

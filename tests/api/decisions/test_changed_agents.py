"""A run knows the instructions and tools of its agents, and a history names what changed between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial import (
    EvalCase,
    EvalSet,
    Invocation,
    Message,
    Recording,
    Trace,
    case_history,
    evaluate,
    history,
    open_run,
    score,
)
from fairtrial.analysis.agent_versions import AgentVersions, list_changes
from fairtrial.records.run import RunInfo
from fairtrial.records.trace import About, AgentDetails, Usage
from fairtrial.reports.decisions.history_report import row_sentences
from graded_runs import graded

NAMES = [f"case-{number}" for number in range(20)]
ORDER, REFUND = {"name": "get_order"}, {"name": "refund"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in a file."""
    return f"sqlite:///{tmp_path}/runs.db"


def conversation(instructions: str, tools: Sequence[dict[str, str]], model: str = "small") -> Trace:
    """A conversation of the agent `shop`."""
    about = About((AgentDetails("shop", instructions, tuple(tools)),))
    return Trace((Invocation(Message("Hello"), (), about=about, usages=(Usage(1, 1, model=model),)),))


def collect(*traces: Trace) -> AgentVersions:
    """What conversations show."""
    versions = AgentVersions()
    for trace in traces:
        versions.add(trace)
    return versions


def compare(*traces: Trace) -> list[str]:
    """What differs between two runs of one conversation each."""
    before, after = (RunInfo("", "", "", "run", models=own.models, agents=own.agents) for own in map(collect, traces))
    return list(list_changes(before, after))


def test_each_part_that_changed_is_named_with_its_agent() -> None:
    """The model, the instructions and the tools."""
    first = conversation("Be kind.", [ORDER])
    assert compare(first, first) == []
    assert compare(first, conversation("Be kind.", [ORDER], "large")) == ["model"]
    assert compare(first, conversation("Be brief.", [ORDER])) == ["instructions of shop"]
    assert compare(first, conversation("Be brief.", [REFUND])) == ["instructions of shop", "tools of shop"]


def test_what_a_run_does_not_know_has_not_changed() -> None:
    """Without instructions, without tools, and without the agent."""
    first = conversation("Be kind.", [ORDER])
    assert compare(first, conversation("", [])) == []
    assert compare(Trace(), first) == []


def test_instructions_that_differ_between_conversations_are_not_known() -> None:
    """For example, because they hold the time."""
    (version,) = collect(conversation("It is 12:00.", [ORDER]), conversation("It is 12:01.", [ORDER])).agents
    assert (version.name, version.instructions) == ("shop", "")
    assert version.tools == collect(conversation("", [ORDER])).agents[0].tools != ""


@given(st.permutations([ORDER, REFUND, {"name": "ship"}]))
def test_the_order_of_tools_does_not_matter(tools: Sequence[dict[str, str]]) -> None:
    """The version is that of the tools by name."""
    sorted_tools = sorted(tools, key=lambda tool: tool["name"])
    assert collect(conversation("", tools)).agents == collect(conversation("", sorted_tools)).agents


@pytest.mark.long
def test_a_history_says_in_which_run_the_instructions_changed(url: str) -> None:
    """The prompt of the last runs makes half of the answers wrong."""
    cases = EvalSet("shop", tuple(EvalCase(name, (Invocation(Message("Grade?")),)) for name in NAMES))
    for prompt in ["Be kind."] * 6 + ["Be brief."] * 3:
        about, half = About((AgentDetails("shop", prompt),)), 10 if prompt == "Be brief." else 20
        replies = [Message(str(float(place < half))) for place in range(20)]
        traces = [Trace((Invocation(Message("Grade?"), (), reply, about=about),)) for reply in replies]
        recordings = [Recording(name, trace, 1) for name, trace in zip(NAMES, traces, strict=True)]
        score(recordings, cases, [graded()], store=url)
    found = history(store=url)
    assert [row.changed for row in found.rows] == [()] * 6 + [("instructions of shop",)] + [()] * 2
    row = found.rows[6]
    assert open_run(row.id, store=url).info.agents == collect(conversation("Be brief.", [])).agents
    assert row_sentences(row, found)[0].endswith(f"; changed in {row.id}: instructions of shop")


def test_a_case_names_the_decisive_steps_of_its_failed_attempts(url: str) -> None:
    """The second run answers wrongly, in its reply."""
    answers = iter(("Paris", "Rome", "Paris"))

    def reply(message: str) -> str:
        return next(answers) if message else ""

    for _ in range(3):
        evaluate([("Capital?", "Paris")], reply, {"exact_match": 1.0}, store=url)
    good, bad, last = case_history("cases-1", series=(), store=url).runs
    assert (good.failures, last.failures) == ((), ())
    (failure,) = bad.failures
    assert failure.step is not None
    assert (failure.step.kind, failure.attempts) == ("reply", 1)
    assert "Rome" in failure.reason or "exact_match" in failure.reason

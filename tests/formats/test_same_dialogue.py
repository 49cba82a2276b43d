"""One eval set scores the same dialogue alike, whichever instrumentation recorded it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED

import fairtrial
from fairtrial import CaseResult, Outcome, Run

pytestmark = pytest.mark.shared


def dialogues(*, is_recorded: bool) -> list[Any]:
    """Return the files of the dialogue of two turns whose contents are recorded, or are not."""
    path = SHARED / "data" / "traces" / "expected.json"
    entries = json.loads(path.read_bytes()) if path.is_file() else []
    return [
        pytest.param(entry["files"], id="+".join(entry["files"]))
        for entry in entries
        if all("two_turns" in file for file in entry["files"])
        and hidden_contents(entry) & {"reply", "args"} == (set() if is_recorded else {"reply", "args"})
        and entry["totals"]["recordings"] == 1
        and entry["totals"]["invocations"] == 2
    ]


def hidden_contents(entry: dict[str, Any]) -> set[str]:
    """Return the kinds of contents that a file withholds."""
    invocations = [invocation for recording in entry["recordings"] for invocation in recording["invocations"]]
    return {kind for invocation in invocations for kind in invocation.get("withheld", ())}


def score(files: list[str], criteria: Any, folder: Path) -> Run:
    """Score files against the eval set of the dialogue."""
    paths = [folder / file for file in files]
    return fairtrial.score(paths, folder / "two_turns.evalset.json", criteria, match="order")


def asked(run: Run) -> list[tuple[CaseResult, Outcome]]:
    """Return the outcomes of the criteria in the configuration. The efficiency of an agent is measured besides."""
    return [
        (case, outcome)
        for case in run.cases
        for outcome in case.outcomes
        if outcome.criterion in ("tool_trajectory_avg_score", "response_match_score")
    ]


@pytest.mark.parametrize("files", dialogues(is_recorded=True))
def test_the_dialogue_is_right_in_every_dialect(files: list[str], shared: Path) -> None:
    """The agent did what was expected, so that both criteria are 1.00, with results of tools or without."""
    folder = shared / "data" / "traces"
    run = score(files, folder / "exact.config.json", folder)
    assert [(case.name, outcome.criterion, outcome.score.value) for case, outcome in asked(run)] == [
        ("two_turns", "tool_trajectory_avg_score", 1.0),
        ("two_turns", "response_match_score", 1.0),
    ]


@pytest.mark.parametrize("files", dialogues(is_recorded=False))
def test_a_dialogue_without_contents_is_unscored(files: list[str], shared: Path) -> None:
    """The reason names the setting that records the contents. The names of the tools alone can be compared."""
    folder = shared / "data" / "traces"
    run = score(files, folder / "exact.config.json", folder)
    outcomes = [outcome for _, outcome in asked(run)]
    assert {outcome.verdict for outcome in outcomes} == {"unscored"}
    for outcome in outcomes:
        reasons = [outcome.score.reason, *(part.reason for part in outcome.score.parts)]
        assert any("not recorded" in reason and "; set " in reason for reason in reasons), reasons
    names = {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "ignore_args": True}}}
    run = score(files, names, folder)
    assert [outcome.score.value for _, outcome in asked(run)] == [1.0]


@pytest.mark.long
@pytest.mark.parametrize("newest", [True, False], ids=["newest", "oldest"])
@pytest.mark.parametrize("limit", [8, 12])
@pytest.mark.parametrize("files", [each for each in dialogues(is_recorded=True) if "s.jsonl" in str(each.id)])
def test_attributes_that_an_sdk_dropped_do_not_count_against_the_agent(
    files: list[str], limit: int, newest: bool, shared: Path, tmp_path: Path
) -> None:
    """SDKs keep the newest or the oldest attributes. The verdict is passed or unscored, or the file is refused."""
    for file in files:
        lines = (shared / "data" / "traces" / file).read_text(encoding="utf-8").splitlines()
        documents = [cut(json.loads(line), limit, newest=newest) for line in lines]
        target = tmp_path / file
        target.parent.mkdir(exist_ok=True)
        target.write_text("\n".join(map(json.dumps, documents)) + "\n", encoding="utf-8")
    folder = shared / "data" / "traces"
    try:
        run = fairtrial.score(
            [tmp_path / file for file in files],
            folder / "two_turns.evalset.json",
            folder / "exact.config.json",
            match="order",
        )
    except fairtrial.FormatError as error:
        assert "dropped attributes" in str(error)  # noqa: PT017  # which of both happens depends on the file
    else:
        assert {outcome.verdict for _, outcome in asked(run)} <= {"passed", "unscored"}


def cut(document: dict[str, Any], limit: int, *, newest: bool) -> dict[str, Any]:
    """Return a batch of OTLP whose spans have a limited number of attributes."""
    for group in document.get("resourceSpans", ()):
        for span in (span for scope in group["scopeSpans"] for span in scope["spans"]):
            attributes = span.get("attributes", [])
            if len(attributes) > limit:
                span["droppedAttributesCount"] = len(attributes) - limit
                span["attributes"] = attributes[-limit:] if newest else attributes[:limit]
    return document

"""Findings in failed attempts are stored when they are scored, and equal those that are made later."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fairtrial import EvalSet, Run, open_run, score
from fairtrial.analysis.failures.run_failures import FINDINGS
from fairtrial.api.run_parts import collected_failures
from fairtrial.records.failure_mode import Failures
from fairtrial.store.bodies import compress, raw_json
from fairtrial.store.store import Store
from fairtrial.store.transfer import export_run, import_run
from planted_failures import perfect, world

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
FOUND = "af77dd731baa"
"""The beginning of the digest of what is found in one failure of each kind."""
Change = Callable[[dict[str, object]], None]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store."""
    return f"sqlite:///{tmp_path}/runs.db"


def planted_run(url: str, *, passes: bool = False) -> Run:
    """Store a run with a failure of each kind, and with `passes` another attempt at each case that passed."""
    eval_set, own = world(1)
    recordings = [one.recording for one in own]
    if passes:
        recordings += [replace(perfect(case), attempt=2) for case in eval_set.cases]
    return score(recordings, eval_set, CRITERIA, store=url)


def change_rows(url: str, change: Change) -> None:
    """Change what is stored beside each result."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        rows = database.execute("SELECT rowid, body FROM fairtrial_results").fetchall()
        for number, body in rows:
            content = msgspec.json.decode(raw_json(body))
            change(content)
            database.execute(
                "UPDATE fairtrial_results SET body = ? WHERE rowid = ?",
                (compress(msgspec.json.encode(content)), number),
            )


def forget(content: dict[str, object]) -> None:
    """Make a result one of a version that stored no findings."""
    content.pop("finding", None)


def without_run(found: Failures) -> Failures:
    """Failures that can be compared with those of another run."""
    return replace(found, run="", signature="")


@pytest.mark.parametrize("passes", [False, True])
def test_findings_are_what_would_be_found_later(url: str, tmp_path: Path, *, passes: bool) -> None:
    """An imported run has no findings, so that its conversations are read. Also if other attempts passed."""
    run = planted_run(url, passes=passes)
    stored = run.failures()
    with closing(Store(url)) as here, closing(Store(f"sqlite:///{tmp_path}/other.db")) as there:
        import_run(there, export_run(here, run.info.id), "a test")
    imported = open_run(run.info.id, store=f"sqlite:///{tmp_path}/other.db").failures()
    assert len(stored.failed) == 22
    assert without_run(stored) == without_run(imported)


def test_no_conversation_is_read(url: str) -> None:
    """If no attempt passed, the findings are enough: the list is the same without a recording or a case."""
    run = planted_run(url)
    expected = run.failures()
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute("DELETE FROM fairtrial_recordings")
    assert open_run(run.info.id, store=url).failures() == expected


def test_passes_of_a_large_run_are_a_sample(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sample of five of 22 passing cases, the failures, their counts and the modes stay the same."""
    run = planted_run(url, passes=True)
    expected = run.failures()
    monkeypatch.setattr(collected_failures, "MOST_PASSES", 5)
    sampled = open_run(run.info.id, store=url).failures()
    assert sampled.failed == expected.failed
    assert (sampled.attempts, sampled.cases, sampled.failed_cases) == (44, 22, 22)
    assert [replace(mode, shared=()) for mode in sampled.modes] == [replace(mode, shared=()) for mode in expected.modes]


@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [
        forget,
        lambda content: content.update(finding=None),
        lambda content: content.update(finding=[0, *content["finding"][1:]]),
        lambda content: content.update(finding=[FINDINGS + 1]),
        lambda content: content.update(finding={"version": FINDINGS + 1, "step": "elsewhere"}),
    ],
    ids=["none", "null", "earlier", "later, shorter", "later, another shape"],
)
def test_findings_of_another_version_are_made_again(url: str, other: Change) -> None:
    """And the results beside them can be read."""
    run = planted_run(url)
    expected, results = run.failures(), list(run.cases)
    change_rows(url, other)
    again = open_run(run.info.id, store=url)
    assert again.failures() == expected
    assert list(again.cases) == results
    assert again.skipped == ""


def test_attempts_that_passed_have_no_finding(url: str) -> None:
    """Their rows are as large as without findings."""
    eval_set, _ = world(1)
    score([perfect(case) for case in eval_set.cases], eval_set, CRITERIA, store=url)
    kept: list[bool] = []
    change_rows(url, lambda content: kept.append("finding" in content))
    assert kept == [False] * 22


def test_a_change_of_findings_raises_their_version() -> None:
    """If this fails because a source finds something else on purpose, raise FINDINGS and write the new digest here.

    Otherwise the lists of earlier runs would mix two versions.
    """
    eval_set, own = world(1)
    found = score([one.recording for one in own], EvalSet("bookings", eval_set.cases), CRITERIA).failures()
    text = msgspec.json.encode([replace(own, mode=None) for own in found.failed])
    assert (FINDINGS, hashlib.sha256(text).hexdigest()[:12]) == (2, FOUND)

"""How much does the peer's default gate notice on its own samples? The table of docs/explanation/mutation.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairtrial import api

pytestmark = pytest.mark.shared

TABLE = {
    "number_changed": (0, 35),
    "date_changed": (0, 22),
    "negated": (0, 46),
    "claim_invented": (5, 63),
    "cut_short": (11, 61),
    "refused": (25, 63),
    "call_dropped": (46, 46),
    "call_repeated": (46, 46),
    "argument_changed": (46, 46),
}


def test_the_default_criteria_on_the_samples_of_the_peer(shared: Path) -> None:
    """Words in common notice no changed number and no negation, and the comparison of calls notices every call."""
    folders = [shared / "data" / name for name in ("adk-python", "adk-samples")]
    files = [
        file
        for folder in folders
        for file in sorted(folder.rglob("*.json"))
        if file.name.endswith((".test.json", ".evalset.json"))
    ]
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    report = api.mutate(files, criteria, operators=[*TABLE])
    assert {row.operator: (row.overall.caught, row.overall.mutants) for row in report.operators} == TABLE

"""Detection rates of the peer's default gate on its own samples. The table of docs/explanation/mutation.md."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fairtrial import api

pytestmark = pytest.mark.long

PICTURE = Path(__file__).parents[2] / "docs" / "mutation.svg"

TABLE = {
    "number_changed": (0, 35),
    "date_changed": (0, 22),
    "negated": (0, 45),
    "claim_invented": (5, 63),
    "cut_short": (11, 61),
    "refused": (25, 63),
    "call_dropped": (46, 46),
    "call_repeated": (46, 46),
    "argument_changed": (46, 46),
}
"""Caught and applied mutants of harmful operators, as the picture shows them."""
REWORDED = {
    "whitespace": (0, 62),
    "courtesy_added": (3, 37),
    "question_restated": (6, 61),
    "summed_up": (1, 30),
    "reworded": (6, 42),
}
WRONG_NAMES = {"name_swapped": (1, 46)}


FACTS = {
    "number_changed": (34, 34),
    "date_changed": (22, 22),
    "unit_changed": (4, 4),
    "negated": (44, 45),
    "denied": (22, 22),
    "name_swapped": (40, 46),
    "claim_invented": (63, 63),
    "promise_invented": (63, 63),
}
"""The same for `facts_match_v1`, as docs/how-to/check-facts.md gives it."""
FACTS_HARMLESS = {"whitespace": (0, 62), "courtesy_added": (0, 37), "reworded": (0, 42), "synonym": (0, 12)} | {
    "question_restated": (0, 61),
    "summed_up": (0, 30),
}


def sample_files(shared: Path) -> list[Path]:
    """The eval sets of the peer."""
    return [
        file
        for name in ("adk-python", "adk-samples")
        for file in sorted((shared / "data" / name).rglob("*.json"))
        if file.name.endswith((".test.json", ".evalset.json"))
    ]


@pytest.mark.shared
def test_facts_on_the_samples_of_the_peer(shared: Path) -> None:
    """Facts notice changed numbers, dates, units and negations, some invented claims, and no harmless change."""
    report = api.mutate(sample_files(shared), {"facts_match_v1": 1.0}, operators=[*FACTS, *FACTS_HARMLESS])
    counts = {row.operator: (row.overall.caught, row.overall.mutants) for row in report.operators}
    assert counts == FACTS | FACTS_HARMLESS


@pytest.mark.shared
def test_the_default_criteria_on_the_samples_of_the_peer(shared: Path) -> None:
    """Words in common notice no changed number and no negation, and the comparison of calls notices every call."""
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    expected = TABLE | WRONG_NAMES | REWORDED
    report = api.mutate(sample_files(shared), criteria, operators=[*expected])
    assert {row.operator: (row.overall.caught, row.overall.mutants) for row in report.operators} == expected


@pytest.mark.shared
@pytest.mark.parametrize(
    ("criteria", "caught", "percents"),
    [
        ({"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}, 17, (2.7, 1.0, 6.9)),
        ({"tool_trajectory_avg_score": 1.0, "facts_match_v1": 1.0}, 0, (0.0, 0.0, 19.8)),
    ],
    ids=["defaults", "facts"],
)
def test_the_false_alarms_on_the_samples_of_the_peer(
    shared: Path, criteria: dict[str, float], caught: int, percents: tuple[float, float, float]
) -> None:
    """The rate is the mean over all harmless operators, each with equal weight, as the page states it."""
    report = api.mutate(sample_files(shared), criteria)
    alarms = report.false_alarm_rate
    assert alarms is not None
    assert (alarms.caught, alarms.mutants) == (caught, 371)
    values = (alarms.rate, alarms.low, alarms.high)
    found = tuple(round(100 * value, 1) for value in values if value is not None)
    assert found == percents
    assert len([row for row in report.operators if row.direction == "harmless"]) == 14


def test_the_picture_shows_the_table() -> None:
    """The second picture of the README holds the counts of every operator."""
    texts = [element.text for element in ET.parse(PICTURE).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    counts = {name: texts[texts.index(name) + 1] for name in TABLE}
    assert counts == {name: f"{caught} of {mutants}" for name, (caught, mutants) in TABLE.items()}

"""Tests of the sources of values, on built conversations whose sources are known."""

from __future__ import annotations

import pytest

from fairtrial.text.provenance import SourceTexts, trace_value
from provenance_corpus import Scene, scenes


def _pieces(scene: Scene) -> frozenset[frozenset[str]]:
    """Return the sources of the pieces of a scene's value."""
    by_source: dict[str, list[object]] = {"user": list(scene.user)}
    for name, response in scene.results:
        by_source.setdefault(name, []).append(response)
    sources = [SourceTexts(name, tuple(contents)) for name, contents in by_source.items()]
    return frozenset(piece.sources for piece in trace_value(scene.value, sources))


def _grade(scene: Scene) -> str:
    """Return right, unknown or wrong."""
    pieces = _pieces(scene)
    if pieces == scene.pieces:
        return "right"
    return "unknown" if pieces <= scene.pieces | {frozenset()} else "wrong"


@pytest.mark.parametrize("held_out", [False, True])
def test_sources_of_built_conversations(held_out: bool) -> None:
    """At least 95 of 100 values have their sources right, and at most one has a wrong source."""
    grades = {f"{scene.language}: {scene.name}": _grade(scene) for scene in scenes(held_out=held_out)}
    wrong = [name for name, grade in grades.items() if grade == "wrong"]
    assert len(wrong) <= 1, wrong
    assert list(grades.values()).count("right") >= 95, [name for name, grade in grades.items() if grade != "right"]

"""Votes on questions of earlier prompts stay readable."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from fairtrial.records.ballot import Ballot
from fairtrial.records.result import Outcome
from fairtrial.records.score import Score
from fairtrial.reports.judges.ballots import ballots

VERSION_1 = b"""{
  "id": "b", "prompt": "safety/1", "k": 1, "first_wave": 1,
  "votes": [{"draw": 1, "voter": "m", "wave": 1, "opinions": {"reply": {"answer": "unsafe", "rationale": "It demeans.",
    "marks": ["hate"]}}, "calls": [{"key": "k", "voter": "m"}]}],
  "decisions": {"reply": {"result": {"value": 0.0}, "counted": {"unsafe": 1}, "draws": [1]}}
}"""


def test_a_vote_of_a_run_that_was_judged_with_version_1_is_shown() -> None:
    """With the version of its prompt, its answer and its reason; it had no quote."""
    ballot = msgspec.json.decode(VERSION_1, type=Ballot)
    outcome = Outcome("safety_v1", Score(0.0, ballots=("b",)), 1.0)
    text = io.StringIO()
    Console(file=text, width=100).print(ballots([outcome], {"b": ballot}))
    assert "safety/1, 1 of 1 votes" in text.getvalue()
    assert "reply: unsafe [hate]  It demeans." in text.getvalue()

"""No text makes the reading of facts slow: the work grows with the text, and not with its square."""

from __future__ import annotations

import signal
from types import FrameType

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts
from pumped_texts import patterns_of_facts, pumps

PATTERNS = patterns_of_facts()
LENGTH = 20_000
LIMIT = 5.0
"""Seconds of CPU. Work that grows with the square takes more than 10, and other texts of this length take below 1."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer of CPU time"),
]


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise TimeoutError


def test_the_patterns_of_facts_are_known() -> None:
    """The walk over the modules finds those in tables, too."""
    assert len(PATTERNS) > 100


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pumped_text_is_compared_in_linear_time(name: str) -> None:
    """What leads to a repeat of the pattern, and then the match of its body until the text is full."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        for start, piece in pumps(PATTERNS[name], range(3)):
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
            compare_facts("The 3 orders cost 29.90 dollars.", (start + piece * LENGTH)[:LENGTH])
    except TimeoutError:
        pytest.fail(f"{start!r} and then {piece!r} takes too long")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("piece", ["24/5 ", "978-0-", "flight ba 1 ", "60p 映像 ", "4wd ", "python 3.1 "])
def test_a_text_of_one_name_with_a_number_is_compared_in_linear_time(piece: str) -> None:
    """A rule that looks around each name looks at few characters."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        compare_facts("The 3 orders cost 29.90 dollars.", (piece * LENGTH)[:LENGTH])
    except TimeoutError:
        pytest.fail(f"{piece!r} takes too long")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

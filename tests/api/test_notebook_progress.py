"""Notebooks show how far a run is, and nothing else prints it."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import fairtrial
from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, Trace

SHOP = EvalSet("shop", tuple(EvalCase(name, (Invocation(Message(name)),)) for name in ("a", "b", "c")))


def has_reply(trace: Trace, case: EvalCase) -> bool:
    """Whether the agent said something."""
    return bool(trace.invocations[-1].reply) and bool(case.id)


def reply(trace: Trace) -> str:
    """Say nothing about b."""
    return "" if trace.invocations[-1].query == "b" else "ok"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The texts that a kernel of IPython is asked to show, as text and as HTML."""
    texts: list[tuple[str, str]] = []

    def show(bar: Any, **_: Any) -> Any:
        texts.append((repr(bar), bar._repr_html_()))
        return SimpleNamespace(update=show)

    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = type("ZMQInteractiveShell", (), {})  # type: ignore[attr-defined]
    display.display = show  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("fairtrial.api.notebook_progress._INTERVAL", 0)
    return texts


def run() -> fairtrial.Run:
    """Run three cases, one after the other."""
    return fairtrial.evaluate(SHOP, reply, [Criterion("replies", has_reply, 1.0)], concurrency=1)


def test_a_notebook_shows_a_bar(shown: list[tuple[str, str]]) -> None:
    """The bar counts attempts, and is empty in the end, because the run shows its own table."""
    run()
    assert [text for text, _ in shown] == [
        "0 of 3 attempts",
        "1 of 3 attempts",
        "2 of 3 attempts, 1 not passed",
        "3 of 3 attempts, 1 not passed",
        "",
    ]
    assert shown[2][1] == '<progress value="2" max="3"></progress> 2 of 3 attempts, 1 not passed'


def test_a_running_loop_shows_the_same(shown: list[tuple[str, str]]) -> None:
    """`await` in a cell, and a score of recordings."""

    async def both() -> None:
        made = await fairtrial.aevaluate(SHOP, reply, [Criterion("replies", has_reply, 1.0)])
        await fairtrial.ascore([recording for _, recording in made.recordings], SHOP, [Criterion("x", has_reply)])

    asyncio.run(both())
    assert [text for text, _ in shown].count("0 of 3 attempts") == 2


def test_a_terminal_shows_nothing(shown: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython in a terminal has another shell than a kernel."""
    monkeypatch.setattr("IPython.get_ipython", SimpleNamespace)
    run()
    assert shown == []

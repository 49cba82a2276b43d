"""Methods of other packages come back after the last conversation, also if somebody else has changed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairtrial.system.replaced_methods import replace_method, replacing


def loud(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that says so."""

    def run(self: Any) -> str:
        return f"loud {original(self)}"

    return run


class Speaker:
    """A class of another package."""

    def run(self) -> str:
        return "word"


class Writer(Speaker):
    """Another one."""

    def run(self) -> str:
        return "line"


def test_a_method_that_somebody_assigns_meanwhile_stays_and_the_others_come_back() -> None:
    """Also in the next conversation."""
    for _ in range(2):
        with replacing():
            replace_method(Writer, "run", loud)
            replace_method(Speaker, "run", loud)
            assert Writer().run() == "loud line"
            Speaker.run = lambda self: "own"  # type: ignore[method-assign]  # noqa: ARG005
        assert Writer().run() == "line"
        assert Speaker().run() == "own"

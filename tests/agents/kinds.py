"""The shop as an agent of every kind: how it is reached, and what its protocol does not tell."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, agent

HERE = Path(__file__).parent


@contextmanager
def _chat() -> Iterator[str]:
    with ChatServer(agent) as server:
        yield server.url


@contextmanager
def _a2a() -> Iterator[str]:
    from a2a_shop import A2AServer

    with A2AServer() as server:
        yield f"a2a:{server.url}"


@contextmanager
def _at(target: str) -> Iterator[str]:
    yield target


@dataclass(frozen=True)
class Kind:
    """A kind of agent: how its target is reached, and the module that this needs.

    `untold` are the fields of a recording that its protocol does not fill; `streams`: it tells of what it does at once.
    """

    reached: Callable[[], AbstractContextManager[str]]
    module: str
    untold: frozenset[str] = frozenset()
    streams: bool = True


KINDS = {
    "function": Kind(lambda: _at("function_shop:reply"), "assay"),
    "http": Kind(_chat, "httpx2", frozenset({"about", "author"}), streams=False),
    "a2a": Kind(_a2a, "a2a", frozenset({"about", "usages"})),
    "adk": Kind(lambda: _at(f"adk:{HERE / 'adk_shop'}"), "google.adk"),
    "langgraph": Kind(lambda: _at("langgraph:langgraph_shop:agent"), "langgraph.graph"),
    "openai-agents": Kind(lambda: _at("openai-agents:openai_shop:agent"), "agents.lifecycle"),
    "pydantic-ai": Kind(lambda: _at("pydantic-ai:pydantic_ai_shop:agent"), "pydantic_ai"),
}

every_kind = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in ("function", "http") else pytest.mark.agents) for kind in KINDS],
)
"""A test for every kind of agent; those that need a framework run in its environment."""


@contextmanager
def reached(name: str, monkeypatch: Any) -> Iterator[str]:
    """The target of a kind while the agent can be reached; skips where its framework is not installed."""
    kind = KINDS[name]
    try:
        found = importlib.util.find_spec(kind.module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"needs {kind.module}")
    monkeypatch.syspath_prepend(str(HERE))
    with kind.reached() as target:
        yield target

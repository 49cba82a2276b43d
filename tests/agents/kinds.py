"""The shop as an agent of every kind: how it is reached, and what its protocol does not tell."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from chat_server import ChatServer, agent
from msgspec.structs import replace
from shop import CRITERIA, TOOLS, saying

import fairtrial
from fairtrial.records.attempt import Recording
from fairtrial.records.case import SessionInput

HERE = Path(__file__).parent
_INSTALLED = ("fairtrial", "httpx2")
"""The modules that are installed for all tests."""


@contextmanager
def _chat() -> Iterator[str]:
    with ChatServer(agent) as server:
        yield server.url


@contextmanager
def _a2a(*, streaming: bool) -> Iterator[str]:
    from a2a_shop import A2AServer

    with A2AServer(streaming=streaming) as server:
        yield f"a2a:{server.url}"


@contextmanager
def _at(target: str) -> Iterator[str]:
    yield target


@dataclass(frozen=True)
class Kind:
    """A kind of agent: how its target is reached, and the module that this needs.

    `untold` are the fields of a recording that its protocol does not fill; `streams`: it tells of what it does at once;
    `remote`: it is behind a server; `reports`: it runs its tools itself, out of an environment's reach; `declares`:
    when its model gets the declarations of the tools from the environment; `process`:
    each conversation has a process, which has to start; `tools` are those that its model gets.
    """

    reached: Callable[[], AbstractContextManager[str]]
    module: str = "fairtrial"
    untold: frozenset[str] = frozenset()
    streams: bool = True
    remote: bool = False
    reports: bool = False
    declares: Literal["", "once", "every request"] = "every request"
    process: bool = False
    tools: tuple[str, ...] = tuple(TOOLS)

    @property
    def author(self) -> str:
        """The author that its steps have."""
        return "" if "author" in self.untold else "shop"

    @property
    def reply_timeout(self) -> float:
        """A timeout in seconds that ends a tool which never returns. With a framework, a tool is called later.

        The other conversation of a test has to end within it, also on a machine that is busy.
        """
        return 10 if self.process else 2 if self.module in _INSTALLED else 6

    @property
    def installed(self) -> bool:
        """Whether its module is here."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:
            return False


_TIMES = frozenset({"model", "tool"})
_CALLING = _TIMES | {"about", "author", "usages"}
_A2A = _TIMES | {"about", "usages"}
KINDS = {
    "function": Kind(lambda: _at("function_shop:reply"), untold=_TIMES, reports=True),
    "calling-function": Kind(lambda: _at("function_shop:agent"), untold=_CALLING, declares=""),
    "async-calling-function": Kind(lambda: _at("function_shop:async_agent"), untold=_CALLING, declares=""),
    "http": Kind(_chat, "httpx2", _TIMES | {"about", "author"}, streams=False, remote=True, reports=True),
    "a2a": Kind(lambda: _a2a(streaming=True), "a2a", _A2A, remote=True, reports=True),
    "a2a-polling": Kind(lambda: _a2a(streaming=False), "a2a", _A2A, streams=False, remote=True, reports=True),
    "adk": Kind(lambda: _at(f"adk:{HERE / 'adk_shop'}"), "google.adk", tools=("transfer_to_agent", *TOOLS, "remember")),
    "langgraph": Kind(lambda: _at("langgraph:langgraph_shop:agent"), "langgraph.graph"),
    "openai-agents": Kind(
        lambda: _at("openai-agents:openai_shop:agent"),
        "agents.lifecycle",
        tools=(*TOOLS, "visit", "transfer_to_cashier"),
    ),
    "google-genai": Kind(lambda: _at("google-genai:genai_shop:shop"), "google.genai"),
    "strands": Kind(lambda: _at("strands:strands_shop:shop"), "strands", tools=(*TOOLS, "visit", "ask_user")),
    "agent-framework": Kind(
        lambda: _at("agent-framework:agent_framework_shop:agent"),
        "agent_framework",
        tools=(*TOOLS, "visit"),
    ),
    "llama-index": Kind(lambda: _at("llama-index:llama_index_shop:agent"), "llama_index.core", tools=(*TOOLS, "visit")),
    "claude": Kind(
        lambda: _at("claude:claude_shop:shop"),
        "claude_agent_sdk",
        process=True,
        declares="once",
        tools=("cancel_order", "get_order"),
    ),
    "crewai": Kind(lambda: _at("crewai:crewai_shop:shop"), "crewai"),
    "smolagents": Kind(lambda: _at("smolagents:smolagents_shop:shop"), "smolagents", tools=(*TOOLS, "visit")),
    "agno": Kind(lambda: _at("agno:agno_shop:agent"), "agno", tools=("cancel_order", "get_order", "visit")),
    "pydantic-ai": Kind(lambda: _at("pydantic-ai:pydantic_ai_shop:agent"), "pydantic_ai", tools=(*TOOLS, "visit")),
}


def make_marks(kind: Kind) -> tuple[pytest.MarkDecorator, ...]:
    """The marks of a test with a kind of agent: one that needs a framework runs in its environment."""
    return () if kind.module in _INSTALLED else (pytest.mark.agents,)


def every(chosen: Callable[[Kind], bool]) -> pytest.MarkDecorator:
    """A test for the chosen kinds of agent."""
    return pytest.mark.parametrize(
        "kind", [pytest.param(name, marks=make_marks(kind)) for name, kind in KINDS.items() if chosen(kind)]
    )


every_kind = every(lambda _: True)


@contextmanager
def reached(name: str) -> Iterator[str]:
    """The target of a kind while the agent can be reached; skips where its framework is not installed."""
    kind = KINDS[name]
    if not kind.installed:
        pytest.skip(f"needs {kind.module}")
    with kind.reached() as target:
        yield target


def recorded(target: Any, *queries: str, session: SessionInput | None = None, **options: Any) -> Recording:
    """What is recorded of a conversation in which a user says this."""
    eval_set = saying(*queries)
    case = replace(eval_set.cases[0], session_input=session)
    run = fairtrial.evaluate(replace(eval_set, cases=(case,)), target, CRITERIA, **options)
    return next(run.recordings)[1]


_TITLES = {
    "calling-function": "a function that gets `call`",
    "adk": "ADK",
    "langgraph": "LangChain and LangGraph",
    "openai-agents": "OpenAI Agents SDK",
    "google-genai": "Google Gen AI SDK",
    "strands": "Strands",
    "agent-framework": "Microsoft Agent Framework",
    "llama-index": "LlamaIndex",
    "claude": "Claude Agent SDK",
    "crewai": "CrewAI",
    "smolagents": "smolagents",
    "agno": "Agno",
    "pydantic-ai": "Pydantic AI",
}
_UNREACHED = {
    "function": "a function without `call`",
    "http": "a chat endpoint, a program, a command-line agent",
    "a2a": "an A2A server",
}
"""Agents that run their tools themselves, for people."""


def write_attack_table() -> str:
    """Return the table of the places of attacks that tests reach. Frameworks with equal cells share a row."""
    titles: dict[str, list[str]] = {}
    for name, title in _TITLES.items():
        declares = KINDS[name].declares
        changes = "yes" if declares == "every request" else "no: its model gets the tools once" if declares else "no"
        refused = "yes" if declares else "refused: it declares its tools to its model itself"
        titles.setdefault(f"yes | {refused} | {changes}", []).append(title)
    assert all(KINDS[name].reports for name in _UNREACHED)
    titles["refused: it runs its tools itself | no | no"] = [*_UNREACHED.values()]
    heads = ["| | results | declarations | a declaration that changes |", "|---|---|---|---|"]
    return "\n".join([*heads, *(f"| {', '.join(names)} | {cells} |" for cells, names in titles.items())])

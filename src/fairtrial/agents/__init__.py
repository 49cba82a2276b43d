"""Resolve a target such as `adk:my_agent` or `my_module:my_function` into an agent."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fairtrial.agents.function import FunctionAgent
from fairtrial.agents.invokables import make_function
from fairtrial.agents.signatures import opens_sessions
from fairtrial.errors import ConfigError, UsageError, nearest, spell
from fairtrial.system.importing import check_versions, import_object
from fairtrial.system.parsing import parse_source

if TYPE_CHECKING:
    from fairtrial.protocols import Agent


class _Kind(NamedTuple):
    """A way to reach agents: its module here, and the classes (`package:class`) whose objects it talks to.

    The module has `agent_at(target)`, and `agent_around(thing)` if it has classes.
    """

    module: str
    classes: tuple[str, ...] = ()


KINDS: dict[str, _Kind] = {
    "http": _Kind("endpoints.http"),
    "https": _Kind("endpoints.http"),
    "responses": _Kind("endpoints.openai_responses"),
    "endpoint": _Kind("endpoints.json_endpoint"),
    "process": _Kind("endpoints.process"),
    "harness": _Kind("harness.harness_agent"),
    "a2a": _Kind("a2a"),
    "mcp": _Kind("mcp_server"),
    "adk": _Kind("adk", ("google.adk:BaseAgent", "google.adk:BaseNode", "google.adk:App")),
    "adk-server": _Kind("endpoints.adk_server"),
    "langgraph-server": _Kind("endpoints.langgraph_server"),
    "langgraph": _Kind("langgraph", ("langchain_core:Runnable", "langgraph:StateGraph")),
    "llama-index": _Kind("llama_index", ("llama_index:BaseWorkflowAgent", "llama_index:AgentWorkflow")),
    "openai-agents": _Kind("openai_agents", ("agents:AgentBase",)),
    "google-genai": _Kind("google_genai", ("google.genai:_BaseChat",)),
    "claude": _Kind("claude", ("claude_agent_sdk:ClaudeAgentOptions", "claude_agent_sdk:ClaudeSDKClient")),
    "crewai": _Kind("crewai", ("crewai:BaseAgent", "crewai:Crew")),
    "smolagents": _Kind("smolagents", ("smolagents:MultiStepAgent",)),
    "strands": _Kind("strands", ("strands:Agent", "strands:MultiAgentBase")),
    "agent-framework": _Kind("agent_framework", ("agent_framework:BaseAgent", "agent_framework:Workflow")),
    "agno": _Kind("agno", ("agno.agent:Agent", "agno.team:Team", "agno.workflow:Workflow")),
    "pydantic-ai": _Kind("pydantic_ai", ("pydantic_ai:AbstractAgent",)),
}
"""Every kind of target by its prefix."""


COMMAND_LINE_AGENTS = ("claude", "codex", "gemini", "opencode")
"""The command-line agents that are known by their names."""

PLUGINS = "fairtrial.agents"
"""The group of entry points with which packages add kinds of targets."""


def find_agent(target: str | Any) -> Agent:
    """Return the agent at a target, or around a function or a framework's agent.

    Raises UsageError if the target does not mean an agent, or needs a framework that is not installed.
    """
    if not isinstance(target, str):
        return _around(target, f"agent: must be a function or 'module:function', got {type(target).__name__}")
    prefix, colon, rest = target.partition(":")
    if not colon and target.partition("#")[0] in COMMAND_LINE_AGENTS:
        return find_agent(f"harness:{target}")
    if prefix in KINDS:
        with _naming(target):
            return cast("Agent", _module(KINDS[prefix]).agent_at(target))
    plugin = _plugin(prefix) if rest else None
    if plugin is not None:
        with _naming(target):
            return cast("Agent", plugin.agent_at(target))
    allowed = f"or begin with {', '.join(f'{kind}:' for kind in KINDS)}"
    near = nearest(prefix.lower(), KINDS)
    if not colon:
        near = _nearest_target(target) or nearest(target, COMMAND_LINE_AGENTS) or _nearest_function(target)
        raise UsageError(
            f"{spell('agent')}: must be 'module:function', got {target!r}{near or f'; {allowed}'}",
            code="unusable-agent",
        )
    if ":" in rest:
        raise UsageError(
            f"{spell('agent')}: must be 'module:function', got {target!r}; {allowed}{near}", code="unusable-agent"
        )
    try:
        found = import_object(target, spell("agent"))
    except ConfigError as error:
        missing = isinstance(error.__cause__, ModuleNotFoundError) and error.__cause__.name == prefix
        raise ConfigError(f"{error}{near if missing else ''}", code=error.code) from error.__cause__
    with _naming(target):
        return _around(found, f"must be something to call, got {type(found).__name__}; {allowed}")


@contextmanager
def _naming(target: str) -> Iterator[None]:
    """Name the target before the words of a refusal."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{spell('agent')} {target}: {error}", code=error.code) from error.__cause__


def _plugin(kind: str) -> Any:
    """Return the module of an installed package for a kind of target, or None.

    A package declares it in the group of entry points. Raises UsageError if the module cannot be imported.
    """
    entry_point = _plugins().get(kind)
    if entry_point is None:
        return None
    try:
        return entry_point.load()
    except Exception as error:
        raise UsageError(
            f"{spell('agent')}: the entry point {kind!r} of {PLUGINS} cannot be loaded: {error}", code="unusable-agent"
        ) from error


@functools.cache
def _plugins() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages. They are read once, because all packages have to be looked at."""
    return {entry_point.name: entry_point for entry_point in reversed(tuple(entry_points(group=PLUGINS)))}


def _nearest_function(target: str) -> str:
    """Return the target that a dotted path such as `shop.agent.reply` may mean: a function of a module."""
    module, dot, function = target.rpartition(".")
    path = Path(*module.split("."))
    is_there = path.with_suffix(".py").is_file() or (path / "__init__.py").is_file() if module else False
    return f"; did you mean '{module}:{function}'?" if dot and function.isidentifier() and is_there else ""


def _nearest_target(target: str) -> str:
    """Return the targets that a path such as `examples/agent.py` may mean: the functions of the file."""
    path = Path(target)
    if path.suffix != ".py" or not path.is_file() or path.is_absolute():
        return ""
    module = ".".join(path.with_suffix("").parts)
    try:
        tree = parse_source(path.read_bytes())
    except (SyntaxError, ValueError):
        return ""
    functions = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    return f"; did you mean {' or '.join(repr(f'{module}:{name}') for name in functions[:3])}?" if functions else ""


def _around(thing: Any, problem: str) -> Agent:
    kind = next((kind for kind in KINDS.values() if _has_class(thing, kind.classes)), None)
    if kind is not None:
        agent: Agent = _module(kind).agent_around(thing)
        return agent
    if not callable(thing):
        function = make_function(thing)
        if function is None:
            raise UsageError(problem, code="unusable-agent")
        return FunctionAgent(function, hides_calls=True)
    return thing if opens_sessions(thing) else FunctionAgent(thing)


def _has_class(thing: Any, classes: tuple[str, ...]) -> bool:
    """Whether the class of a thing, or a base class, is among `classes`. No framework is imported for the answer."""
    for base in type(thing).__mro__:
        for package, _, name in (path.partition(":") for path in classes):
            if base.__name__ == name and f"{base.__module__}.".startswith(f"{package}."):
                return True
    return False


def _module(kind: _Kind) -> Any:
    """Return the module of a kind. Raises UsageError if the framework of the kind is older than it needs."""
    module = importlib.import_module(f"fairtrial.agents.{kind.module}")
    if hasattr(module, "EXTRA"):
        check_versions(module.EXTRA)
    return module

"""Has a recording the same shape, whatever the agent is made with?"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chat_server import ChatServer, agent
from shop import CRITERIA, EVAL_SET

import assay

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
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
def _here(target: str) -> Iterator[str]:
    yield target


KINDS: dict[str, Any] = {
    "http": (_chat, "httpx2", {"about", "author"}),
    "a2a": (_a2a, "a2a", {"about", "usages"}),
    "adk": (lambda: _here(f"adk:{HERE / 'adk_shop'}"), "google.adk", set()),
    "langgraph": (lambda: _here("langgraph:langgraph_shop:agent"), "langgraph.graph", set()),
    "openai-agents": (lambda: _here("openai-agents:openai_shop:agent"), "agents.lifecycle", set()),
    "pydantic-ai": (lambda: _here("pydantic-ai:pydantic_ai_shop:agent"), "pydantic_ai", set()),
}
"""Each kind of agent: how it is reached, the module that it needs, and what its protocol does not tell."""

CALL = {"kind": "tool_call", "name": "str", "args": {"order_id": "str"}, "id": "str", "author": "shop"}
DECLARATION = {"name": "str", "description": "str", "parameters_json_schema": "object"}
USAGE = {"prompt_tokens": "int", "candidates_tokens": "int"}
REPLY = {"kind": "message", "text": "str", "author": "shop"}
ABOUT = {"agents": [{"name": "shop", "instructions": "str", "tool_declarations": [DECLARATION]}]}


def _result(**response: str) -> dict[str, Any]:
    return {"kind": "tool_result", "name": "str", "response": response, "id": "str", "author": "shop"}


def _invocation(*steps: Any) -> dict[str, Any]:
    return {
        "user": {"kind": "message", "text": "str"},
        "steps": list(steps),
        "final_response": REPLY,
        "usages": [USAGE],
        "durations": {"total": "float"},
        "about": ABOUT,
    }


ORDER = _result(item="str", state="str")
RECORDING = {
    "case_id": "str",
    "trace": {
        "invocations": [
            _invocation(CALL, ORDER),
            _invocation(REPLY, CALL, ORDER, CALL, _result(cancelled="bool")),
        ],
        "session_id": "str",
    },
}
OPTIONAL = {"events", "final_state", "extra", "model", "tool", "thoughts_tokens", "cached_tokens"}
VERBATIM = {"kind", "author"}


def shape(value: Any, key: str = "") -> Any:
    """A JSON value with the names of types in place of values."""
    if key == "parameters_json_schema":
        return "object" if value["type"] == "object" and "order_id" in value["properties"] else value
    if isinstance(value, dict):
        return {name: shape(inner, name) for name, inner in value.items() if name not in OPTIONAL}
    if key == "tool_declarations":
        shop = [one for one in value if one["name"] in ("get_order", "cancel_order")]
        assert len(shop) == 2
        return [{name: shape(shop[0][name], name) for name in DECLARATION}]
    if isinstance(value, list):
        shapes = [shape(one) for one in value]
        return shapes[:1] if key == "usages" and all(one == shapes[0] for one in shapes) else shapes
    return value if key in VERBATIM or value == "shop" else type(value).__name__


def without(value: Any, names: set[str]) -> Any:
    """A shape without some of its fields."""
    if isinstance(value, dict):
        return {key: without(inner, names) for key, inner in value.items() if key not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "http" else pytest.mark.agents) for kind in KINDS]
)
def test_a_recording_has_the_same_shape(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls, results, ids, messages, tokens, instructions and tools are where they are for every other kind."""
    reached, module, untold = KINDS[kind]
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"needs {module}")
    monkeypatch.syspath_prepend(str(HERE))
    with reached() as target:
        run = assay.evaluate(EVAL_SET, target, CRITERIA)
    (_, recording) = next(run.recordings)
    assert shape(msgspec.json.decode(msgspec.json.encode(recording))) == without(RECORDING, untold)

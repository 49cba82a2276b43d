"""Recordings have the same shape in every framework."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import KINDS, every_kind, reached
from shop import CRITERIA, EVAL_SET

import fairtrial
from fairtrial.records.record import without_defaults

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
CALL = {"kind": "tool_call", "name": "str", "args": {"order_id": "str"}, "id": "str", "author": "shop"}
DECLARATION = {"name": "str", "description": "str", "parameters_json_schema": "object"}
USAGE = {"input_tokens": "int", "output_tokens": "int"}
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
    "eval_set": "shop",
    "trace": {
        "invocations": [
            _invocation(CALL, ORDER),
            _invocation(REPLY, CALL, ORDER, CALL, _result(cancelled="bool")),
        ],
        "session_id": "str",
    },
}
OPTIONAL = {"events", "final_state", "extra", "model", "tool", "first_token", "reasoning_tokens", "cached_input_tokens"}
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


@every_kind
def test_a_recording_has_the_same_shape(kind: str) -> None:
    """Calls, results, ids, messages, tokens, instructions and tools are where they are for every other kind."""
    with reached(kind) as target:
        run = fairtrial.evaluate(EVAL_SET, target, CRITERIA)
    (_, recording) = next(run.recordings)
    assert shape(without_defaults(recording)) == without(RECORDING, set(KINDS[kind].untold))

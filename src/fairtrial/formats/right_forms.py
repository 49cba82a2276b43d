"""Suggest the right key for an expectation under an unknown key."""

from __future__ import annotations

from fairtrial.config.spelling import snake

_CALLS = frozenset(
    [
        "actions",
        "calls",
        "expected_calls",
        "expected_tool_calls",
        "expected_tool_use",
        "expected_tool_uses",
        "expected_tools",
        "expected_trajectory",
        "function_call",
        "function_calls",
        "steps",
        "tool_call",
        "tool_calls",
        "tool_trajectory",
        "tool_use",
        "tool_uses",
        "tools",
        "trajectory",
    ]
)
_REPLIES = frozenset(
    [
        "agent_content",
        "agent_response",
        "answer",
        "expected",
        "expected_answer",
        "expected_final_response",
        "expected_output",
        "expected_reply",
        "expected_response",
        "final_answer",
        "gold",
        "golden",
        "ground_truth",
        "model_response",
        "output",
        "reference",
        "reference_answer",
        "reference_response",
        "reply",
        "response",
    ]
)
_ARGUMENTS = frozenset(["arguments", "input", "inputs", "kwargs", "parameters", "params", "tool_input"])
_EXPECTING = ("expected_", "reference_", "golden_", "gold_", "ground_truth_")
_WORDS_OF_CALLS = ("action", "call", "tool", "trajectory")
CALLS_FORM = "; expected calls stand in an invocation, in 'intermediate_data': {'tool_uses': [{'name', 'args'}]}"


def is_no_expectation(key: str) -> bool:
    """Whether a key of a case does not look like an expectation, as for example `expected_reply` does."""
    name = key if key.islower() else snake(key)  # hostile files have very many keys
    return name not in _CALLS and name not in _REPLIES and not name.startswith(_EXPECTING)


def right_form(key: str) -> str:
    """Return the end of a message that names the right form for an unknown key, or an empty text."""
    name = snake(key)
    if name in _CALLS or (name.startswith(_EXPECTING) and any(word in name for word in _WORDS_OF_CALLS)):
        return CALLS_FORM
    if name in _REPLIES:
        return "; the expected reply stands in an invocation, in 'final_response': {'parts': [{'text': ...}]}"
    if name in _ARGUMENTS:
        return "; the arguments of a call stand in 'args'"
    return ""

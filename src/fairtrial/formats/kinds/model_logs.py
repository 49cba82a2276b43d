"""Logs of models: batches, proxies, states of graphs, lists of items, data sets of conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.chats.assembly import number_at, object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    as_text,
    call_message,
    decode_object,
    decode_value,
    first_dict,
    function_call,
    objects,
    result_message,
    text_message,
)
from fairtrial.formats.loaded import NO_ANSWER, NO_REQUEST

_SHAREGPT_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
_CALL, _END_OF_CALL = "<tool_call>", "</tool_call>"
_INSTRUCTIONS = ("system", "instructions", "systemInstruction", "system_instruction")
_NOT_READ = "the response holds no answer of OpenAI, Anthropic or Gemini"
_NO_BODY = "helicone_message"
_FIRST_ERROR = 400


def is_batch(values: list[Any]) -> bool:
    """Whether lines are the input and the output of a batch of OpenAI, Anthropic or Gemini."""
    top = first_dict(values)
    by_key = "request" in top and ("key" in top or "contents" in object_at(top, "request"))
    by_key = by_key or ("key" in top and "candidates" in object_at(top, "response"))
    return by_key or ("custom_id" in top and not {"body", "params", "response", "result"}.isdisjoint(top))


def read_batch(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each request, joined with its answer by the id that the user gave."""
    requests: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(objects(values), 1):
        name = text_at(line, "custom_id") or text_at(line, "key")
        if "response" in line or "result" in line or "error" in line:
            answers[name or f"line-{number}"] = line
        if not {"body", "params", "request"}.isdisjoint(line):  # Vertex AI writes both into one line
            requests[name or f"line-{number}"] = line
    for name in dict.fromkeys((*requests, *answers)):
        answer = answers.get(name, {})
        given = _answer_in(answer)
        messages = [*_messages_in(_request_in(requests.get(name, {}))), *given]
        failure = "" if answer and name in requests else NO_ANSWER if name in requests else NO_REQUEST
        failure = failure or _failure_in(answer)
        incomplete = "" if given or failure else _NOT_READ
        yield Conversation(name, messages, [requests.get(name), answer], failure=failure, incomplete=incomplete)


def _request_in(line: dict[str, Any]) -> dict[str, Any]:
    return next((object_at(line, key) for key in ("body", "params", "request") if key in line), {})


def _join_instructions(instructions: Any) -> str:
    """Return the text of instructions: a text, parts, or an object with parts."""
    return as_text(instructions.get("parts") if isinstance(instructions, dict) else instructions)


def _messages_in(request: dict[str, Any]) -> list[Any]:
    """Return the instructions and the messages of a request to OpenAI, Anthropic or Gemini."""
    instructions = [request[key] for key in _INSTRUCTIONS if request.get(key)]
    given = request.get("messages") or request.get("contents")
    messages = given if isinstance(given, list) else _input(request.get("input"))
    return [*(text_message("system", _join_instructions(value)) for value in instructions), *messages]


def _input(value: Any) -> list[Any]:
    return [text_message("user", value)] if isinstance(value, str) else list(objects(value))


def _answer_in(line: dict[str, Any]) -> list[Any]:
    """Return the messages of an answer of OpenAI, Anthropic or Gemini."""
    response = object_at(line, "response")
    body = object_at(response, "body") or response
    if isinstance(body.get("output"), list):
        return list(body["output"])
    for choice in objects(body.get("choices")):
        return [object_at(choice, "message")]
    for candidate in objects(body.get("candidates")):
        return [{"role": "model", **object_at(candidate, "content")}]
    message = object_at(object_at(line, "result"), "message") or (body if "content" in body else {})
    return [{key: message[key] for key in ("role", "content") if key in message}] if message else []


def _failure_in(line: dict[str, Any]) -> str:
    """Return why a request failed: its own error, the error in the body of its response, or its status."""
    result, response = object_at(line, "result"), object_at(line, "response")
    body = object_at(response, "body") or response
    error = line.get("error") or result.get("error") or body.get("error")
    if error:
        return (
            text_at(error, "message") or text_at(error, "code") or "an error" if isinstance(error, dict) else str(error)
        )
    status = number_at(response, "status_code")
    if status is not None and not 0 <= status < _FIRST_ERROR:
        return f"the request ended with the status {status}"
    return "" if text_at(result, "type") in ("", "succeeded") else text_at(result, "type")


def is_helicone(values: list[Any]) -> bool:
    """Whether a row holds the body of a request and the body of its response, as Helicone keeps them."""
    return {"request_body", "response_body"} <= first_dict(values).keys()


def read_helicone(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each row.

    Helicone keeps the bodies elsewhere. Its API and its export without `--include-body` give a message in their place.
    """
    for row in objects(values):
        request, body = decode_object(row.get("request_body")), decode_object(row.get("response_body"))
        answer = {"response": {"status_code": row.get("response_status"), "body": body}}
        failure, given = _failure_in(answer), _answer_in(answer)
        if _NO_BODY in request or _NO_BODY in body:
            failure = "holds no bodies of Helicone; export with --include-body"
        incomplete = "" if given or failure else _NOT_READ
        messages = [*_messages_in(request), *given]
        yield Conversation(text_at(row, "request_id"), messages, row, failure=failure, incomplete=incomplete)


def is_langgraph(values: list[Any]) -> bool:
    """Whether a value is a state of LangGraph with messages."""
    return isinstance(object_at(first_dict(values), "values").get("messages"), list)


def read_langgraph(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each thread. Of its states, the one with most messages holds the others."""
    longest: dict[str, dict[str, Any]] = {}
    for number, state in enumerate(objects(values)):
        name = _thread(state) or f"state-{number + 1}"
        inner = object_at(state, "values")
        if len(_list(inner)) >= len(_list(longest.get(name, {}))):
            longest[name] = inner
    nameless = [inner for name, inner in longest.items() if name.startswith("state-")]
    for name, inner in longest.items():
        if name.startswith("state-") and any(_continues(state, inner) for state in nameless):
            continue
        yield Conversation("" if name == "state-1" else name, _list(inner), inner)


def _continues(later: dict[str, Any], earlier: dict[str, Any]) -> bool:
    """Whether a state holds the messages of another state and more: both are of one thread."""
    own, count = _list(earlier), len(_list(earlier))
    return count < len(_list(later)) and _list(later)[:count] == own


def _thread(state: dict[str, Any]) -> str:
    """Return the id of the thread of a state, as a library or the platform's API writes it."""
    holders = (object_at(object_at(state, "config"), "configurable"), object_at(state, "checkpoint"), state)
    return next(filter(None, (text_at(holder, "thread_id") for holder in holders)), "")


def _list(inner: dict[str, Any]) -> list[Any]:
    messages = inner.get("messages")
    return messages if isinstance(messages, list) else []


def is_conversation_items(values: list[Any]) -> bool:
    """Whether a value is a list of items of OpenAI's Conversations API."""
    top = first_dict(values)
    items = list(objects(top.get("data")))
    return top.get("object") == "list" and bool(items) and all(isinstance(item.get("type"), str) for item in items)


def read_conversation_items(values: list[Any]) -> Iterator[Conversation]:
    """Yield the conversation. The API lists the newest item first, unless it was asked for the other order."""
    for top in objects(values):
        items = list(objects(top.get("data")))
        is_newest_first = items[-1].get("role") == "user" and items[0].get("role") != "user"
        yield Conversation("", items[::-1] if is_newest_first else items, top)


def is_sharegpt(values: list[Any]) -> bool:
    """Whether a row is a conversation of ShareGPT."""
    turn = first_dict(first_dict(values).get("conversations") or [])
    return {"from", "value"} <= turn.keys()


def read_sharegpt(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each row. Calls stand in turns of their own, or in the text as Hermes writes them."""
    for row in objects(values):
        messages = [text_message("system", row["system"])] if text_at(row, "system") else []
        has_calls = False
        for turn in objects(row.get("conversations")):
            role, value = text_at(turn, "from"), turn.get("value")
            text, calls = _calls_in_text(value) if role in ("gpt", "assistant") else (value, [])
            if role == "function_call":
                inner = decode_value(value)
                text, calls = None, list(objects(inner if isinstance(inner, list) else [inner]))
            if calls or role == "function_call":
                requests = [function_call("", inner.get("name"), inner.get("arguments")) for inner in calls or [{}]]
                messages.append(call_message(requests, text))
                has_calls = True
            elif role in ("observation", "tool"):
                messages.append(result_message("", value))
            else:
                messages.append(text_message(_SHAREGPT_ROLES.get(role, role), value))
        yield Conversation(str(row.get("id") or ""), messages, row, keeps_calls=has_calls)


def _calls_in_text(value: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return a text without the calls that stand in it as `<tool_call>{...}</tool_call>`, and these calls."""
    if not isinstance(value, str) or _CALL not in value:
        return value, []
    before, *pieces = value.split(_CALL)
    return before.strip(), [decode_object(piece.partition(_END_OF_CALL)[0].strip()) for piece in pieces]

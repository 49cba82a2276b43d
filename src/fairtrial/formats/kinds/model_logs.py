"""Logs of models: batches, proxies, states of graphs, evaluations, data sets of conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.jsontext import decode_text
from fairtrial.formats.kinds.kind import (
    Conversation,
    call_message,
    first_dict,
    function_call,
    objects,
    result_message,
    text_message,
)

_SHAREGPT_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
_NO_ANSWER = "the batch holds no answer to this request; give its input and its output in one file"
_NO_REQUEST = "holds an answer of a batch without its request; give its input and its output in one file"


def is_batch(values: list[Any]) -> bool:
    """Whether lines are the input and the output of a batch of OpenAI, Anthropic or Gemini."""
    top = first_dict(values)
    by_key = "key" in top and ("request" in top or "response" in top)
    return by_key or ("custom_id" in top and not {"body", "params", "response", "result"}.isdisjoint(top))


def read_batch(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each request, joined with its answer by the id that the user gave."""
    requests: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, Any]] = {}
    for line in objects(values):
        name = text_at(line, "custom_id") or text_at(line, "key")
        is_answer = "response" in line or "result" in line or "error" in line
        (answers if is_answer else requests)[name] = line
    for name in dict.fromkeys((*requests, *answers)):
        request = _request_in(requests.get(name, {}))
        answer = answers.get(name, {})
        messages = [*(request.get("messages") or request.get("contents") or _input(request.get("input")))]
        if text_at(request, "system") or text_at(request, "instructions"):
            messages.insert(0, text_message("system", text_at(request, "system") or text_at(request, "instructions")))
        messages += _answer_in(answer)
        failure = "" if answer and name in requests else _NO_ANSWER if name in requests else _NO_REQUEST
        yield Conversation(name, messages, [requests.get(name), answer], failure=failure or _failure_in(answer))


def _request_in(line: dict[str, Any]) -> dict[str, Any]:
    return next((object_at(line, key) for key in ("body", "params", "request") if key in line), {})


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
    message = object_at(object_at(line, "result"), "message")
    return [{key: message[key] for key in ("role", "content") if key in message}] if message else []


def _failure_in(line: dict[str, Any]) -> str:
    result = object_at(line, "result")
    error = line.get("error") or result.get("error")
    if error:
        return (
            text_at(error, "message") or text_at(error, "code") or "an error" if isinstance(error, dict) else str(error)
        )
    return "" if text_at(result, "type") in ("", "succeeded") else text_at(result, "type")


def is_helicone(values: list[Any]) -> bool:
    """Whether a row holds the body of a request and the body of its response, as Helicone keeps them."""
    return {"request_body", "response_body"} <= first_dict(values).keys()


def read_helicone(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each row."""
    for row in objects(values):
        request = _decode(row.get("request_body"))
        answer = {"response": _decode(row.get("response_body"))}
        messages = [*(request.get("messages") or _input(request.get("input"))), *_answer_in(answer)]
        yield Conversation(text_at(row, "request_id"), messages, row)


def _decode(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = decode_text(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def is_langgraph(values: list[Any]) -> bool:
    """Whether a value is a state of LangGraph with messages."""
    return isinstance(object_at(first_dict(values), "values").get("messages"), list)


def read_langgraph(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each state."""
    for state in objects(values):
        config = object_at(object_at(state, "config"), "configurable")
        yield Conversation(
            text_at(config, "thread_id"), object_at(state, "values")["messages"], object_at(state, "values")
        )


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
    """Yield a conversation for each row."""
    for row in objects(values):
        messages: list[Any] = []
        has_calls = False
        for turn in objects(row.get("conversations")):
            role, value = text_at(turn, "from"), turn.get("value")
            if role == "function_call":
                inner = _decode(value)
                messages.append(call_message([function_call("", inner.get("name"), inner.get("arguments"))]))
                has_calls = True
            elif role in ("observation", "tool"):
                messages.append(result_message("", value))
            else:
                messages.append(text_message(_SHAREGPT_ROLES.get(role, role), value))
        yield Conversation(str(row.get("id") or ""), messages, row, keeps_calls=has_calls)


def is_promptfoo(values: list[Any]) -> bool:
    """Whether a document holds results of promptfoo."""
    top = first_dict(values)
    inner = object_at(top, "results").get("results")
    return isinstance(inner, list) and ("evalId" in top or "prompts" in object_at(top, "results"))


def read_promptfoo(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each result."""
    for top in objects(values):
        for i, entry in enumerate(objects(object_at(top, "results").get("results"))):
            raw = object_at(entry, "prompt").get("raw")
            messages = _prompt_messages(raw)
            output = object_at(entry, "response").get("output")
            name = f"{entry.get('testIdx', i)}-{entry.get('promptIdx', 0)}"
            failure = text_at(object_at(entry, "response"), "error")
            yield Conversation(name, [*messages, text_message("assistant", output)], [raw, output], False, failure)


def _prompt_messages(raw: Any) -> list[Any]:
    """Return the messages in a prompt: a text, or JSON of messages."""
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        try:
            messages = decode_text(raw)
        except ValueError:
            return [text_message("user", raw)]
        if all(isinstance(message, dict) and "role" in message for message in messages):
            return list(messages)
    return [text_message("user", raw)]


def is_lm_eval(values: list[Any]) -> bool:
    """Whether a line is a sample of lm-eval."""
    return {"doc_id", "doc", "arguments", "resps"} <= first_dict(values).keys()


def read_lm_eval(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each sample: the prompt, and the first response."""
    for row in objects(values):
        arguments = row["arguments"]
        if isinstance(arguments, dict):
            prompt = next(iter(object_at(arguments, next(iter(arguments), "")).values()), "")
        else:
            prompt = arguments[0][0] if arguments and isinstance(arguments[0], list) and arguments[0] else ""
        reply = row["resps"]
        while isinstance(reply, list) and reply:
            reply = reply[0]
        messages = [*_prompt_messages(prompt), text_message("assistant", reply)]
        yield Conversation(str(row["doc_id"]), messages, [prompt, reply], keeps_calls=False)


def is_azure(values: list[Any]) -> bool:
    """Whether a row holds lists of messages as `query` and `response`, as Azure's evaluators of agents take them."""
    top = first_dict(values)
    return all(isinstance(top.get(key), list) and "role" in first_dict(top[key]) for key in ("query", "response"))


def read_azure(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each row."""
    for i, row in enumerate(objects(values), 1):
        messages = [
            entry for message in objects([*row["query"], *row["response"]]) for entry in _azure_message(message)
        ]
        yield Conversation(str(row.get("id") or f"row-{i}"), messages, [row["query"], row["response"]])


def _azure_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts = message.get("content")
    for part in objects(parts):
        inner = object_at(part, "tool_call") or part
        if part.get("type") == "tool_call":
            yield call_message(
                [function_call(inner.get("tool_call_id") or inner.get("id"), inner.get("name"), inner.get("arguments"))]
            )
        elif part.get("type") == "tool_result":
            yield result_message(message.get("tool_call_id"), part.get("tool_result", part.get("content")))
        else:
            yield text_message(text_at(message, "role"), part.get("text"))
    if not isinstance(parts, list):
        yield text_message(text_at(message, "role"), parts)


def is_crewai(values: list[Any]) -> bool:
    """Whether a document is the output of a crew."""
    top = first_dict(values)
    return "raw" in top and "description" in first_dict(top.get("tasks_output") or [])


def read_crewai(values: list[Any]) -> Iterator[Conversation]:
    """Yield the task and the output of a crew, which does not hold its calls."""
    for top in objects(values):
        tasks = list(objects(top.get("tasks_output")))
        messages = [text_message("user", tasks[0].get("description")), text_message("assistant", top.get("raw"))]
        yield Conversation("", messages, [tasks[0].get("description"), top.get("raw")], keeps_calls=False)

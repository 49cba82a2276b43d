"""Results and data sets of evaluations: promptfoo, lm-eval, BFCL and CrewAI."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    call_message,
    decode_value,
    first_dict,
    function_call,
    objects,
    text_message,
)

_FAILED = 2
"""The reason of promptfoo for a result that holds an error of the provider."""
_TOO_MANY = "holds possible answers of BFCL, which allow several values for an argument; give the results instead"


def is_promptfoo(values: list[Any]) -> bool:
    """Whether a document holds results of promptfoo."""
    top = first_dict(values)
    inner = object_at(top, "results").get("results")
    return isinstance(inner, list) and ("evalId" in top or "prompts" in object_at(top, "results"))


def read_promptfoo(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each result. An error of the provider breaks it."""
    for top in objects(values):
        for i, entry in enumerate(objects(object_at(top, "results").get("results"))):
            raw = object_at(entry, "prompt").get("raw")
            output = object_at(entry, "response").get("output")
            name = f"{entry.get('testIdx', i)}-{entry.get('promptIdx', 0)}"
            own = text_at(entry, "error") if entry.get("failureReason") == _FAILED else ""
            failure = text_at(object_at(entry, "response"), "error") or own
            messages = [*_prompt_messages(raw), _promptfoo_answer(output)]
            yield Conversation(name, messages, [raw, output], "tool_calls" in messages[-1], failure)


def _promptfoo_answer(output: Any) -> dict[str, Any]:
    """Return the answer of a model: a text, data, or calls of OpenAI with or without their message."""
    value = decode_value(output)
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return {"role": "assistant", "content": value.get("content"), "tool_calls": value["tool_calls"]}
    if isinstance(value, list) and value and all("function" in call for call in objects(value)):
        return {"role": "assistant", "content": None, "tool_calls": value}
    return text_message("assistant", output)


def _prompt_messages(raw: Any) -> list[Any]:
    """Return the messages in a prompt: a text, a list, JSON of messages, or a list of this JSON, as lm-eval has it."""
    text = raw[0] if isinstance(raw, list) and len(raw) == 1 and isinstance(raw[0], str) else raw
    messages = decode_value(text)
    if isinstance(messages, list) and all(isinstance(message, dict) and "role" in message for message in messages):
        return list(messages)
    return [text_message("user", text)]


def is_lm_eval(values: list[Any]) -> bool:
    """Whether a line is a sample of lm-eval."""
    return {"doc_id", "doc", "arguments", "resps"} <= first_dict(values).keys()


def read_lm_eval(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each generated response. Several responses are attempts at one case.

    A sample has a row for each filter, which repeats its responses. Likelihoods of given texts are no replies.
    """
    seen: dict[str, tuple[Any, Any]] = {}
    for row in objects(values):
        name, responses = str(row["doc_id"]), row["resps"]
        own_filter, earlier = seen.setdefault(name, (row.get("filter"), responses))
        if row.get("filter") != own_filter and responses == earlier:
            continue
        requests = [list(_values(request)) for request in _values(row["arguments"])]
        is_whole = isinstance(responses, list) and len(responses) == len(requests)
        for i, request in enumerate(requests or [[""]]):
            is_generated = len(request) > 1 and isinstance(request[1], dict)
            if not is_generated and i:
                break  # the next text to which the likelihood belongs
            texts = _values(responses[i]) if is_generated and is_whole else ()
            for text in list(texts) or [None]:
                reply = text if isinstance(text, str) else None
                messages = [*_prompt_messages(request[0] if request else ""), text_message("assistant", reply)]
                own = f"{name}-{i}" if is_generated and len(requests) > 1 else name
                yield Conversation(own, messages, [request[:1], reply], keeps_calls=False)


def _values(value: Any) -> Collection[Any]:
    """Return the values of an object, the items of a list, or the value itself."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else [value]


def is_crewai(values: list[Any]) -> bool:
    """Whether a document is the output of a crew."""
    top = first_dict(values)
    return "raw" in top and "description" in first_dict(top.get("tasks_output") or [])


def read_crewai(values: list[Any]) -> Iterator[Conversation]:
    """Yield the tasks and the output of a crew, which does not hold its calls. Earlier outputs are its messages."""
    for top in objects(values):
        tasks = list(objects(top.get("tasks_output")))
        questions = [text_message("user", task.get("description")) for task in tasks]
        outputs = [
            text_message("assistant", task.get("raw"), **({"name": task["agent"]} if text_at(task, "agent") else {}))
            for task in tasks[:-1]
        ]
        source = [[task.get("description"), task.get("raw")] for task in tasks[:-1]]
        messages = [*questions, *outputs, text_message("assistant", top.get("raw"))]
        yield Conversation("", messages, [source, tasks[-1].get("description"), top.get("raw")], keeps_calls=False)


def is_bfcl(values: list[Any]) -> bool:
    """Whether lines are questions or results of the Berkeley Function Calling Leaderboard."""
    top = first_dict(values)
    question = top.get("question")
    turns = question if isinstance(question, list) and "function" in top else []
    is_result = "result" in top and ("latency" in top or "input_token_count" in top)
    is_answer = isinstance(top.get("ground_truth"), list)
    return "id" in top and (is_result or is_answer or any(isinstance(turn, list) for turn in turns))


def read_bfcl(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each result, joined with its question by its id."""
    questions: dict[str, list[Any]] = {}
    results: dict[str, dict[str, Any]] = {}
    failures: dict[str, str] = {}
    for line in objects(values):
        name = text_at(line, "id")
        if "question" in line:
            questions[name] = line["question"]
        if "result" in line:
            results[name] = line
        if "ground_truth" in line:
            failures[name] = _TOO_MANY
    for name in dict.fromkeys((*questions, *results, *failures)):
        result = results.get(name, {}).get("result")
        turns: list[Any] = result if isinstance(result, list) and _is_nested(result) else [result]
        asked_turns = questions.get(name) or [None] * len(turns)
        failure = "" if name in results else failures.get(name) or "the file holds no result of this question"
        messages = [
            message for number, turn in enumerate(turns) for message in _bfcl_turn(asked_turns, turn, number, failure)
        ]
        # A model that must write calls as text answers with a text in any case.
        has_calls = any("tool_calls" in message for message in messages)
        yield Conversation(name, messages, [asked_turns, result], has_calls, failure)


def _is_nested(result: list[Any]) -> bool:
    """Whether a result holds several turns, each a list of steps."""
    return bool(result) and all(isinstance(turn, list) for turn in result)


def _bfcl_turn(questions: list[Any], turn: Any, number: int, failure: str) -> Iterator[dict[str, Any]]:
    question = questions[number] if number < len(questions) else None
    yield from objects(question) if question is not None else [text_message("user", None)]
    steps = turn if isinstance(turn, list) else [turn]
    for step in steps if not failure else ():
        calls = [
            pair
            for inner in (step if isinstance(step, list) else [step])
            if isinstance(inner, dict)
            for pair in inner.items()
        ]
        if calls:
            yield call_message([function_call("", name, arguments) for name, arguments in calls])
        else:
            yield text_message("assistant", step)

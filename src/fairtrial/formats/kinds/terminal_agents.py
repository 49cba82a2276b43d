"""Sessions of coding agents in a terminal: Gemini CLI, OpenCode and pi."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    as_text,
    call_message,
    first_dict,
    function_call,
    media_content,
    objects,
    result_message,
    text_message,
    unknown_message,
)

_GEMINI_NOTES = ("info", "error", "warning")
_SCREEN_KEYS = frozenset(("displayContent", "resultDisplay", "displayName", "description", "tokens"))
"""Keys of the Gemini CLI that repeat a content for the screen."""
_GEMINI_OWN = ("messages", "summary", "directories", "memoryScratchpad")
_QUIET_PARTS = ("step-start", "step-finish", "snapshot", "patch", "agent", "compaction", "retry")
_PART_FLAGS = ("synthetic", "ignored", "auto", "overflow")
_PI_NOTES = ("bashExecution", "custom", "branchSummary", "compactionSummary")


def is_gemini_cli(values: list[Any]) -> bool:
    """Whether values are a session of the Gemini CLI: a document, or the lines of the newer form."""
    top = first_dict(values)
    return {"sessionId", "projectHash"} <= top.keys() and ("messages" in top or "startTime" in top)


def read_gemini_cli(values: list[Any]) -> Iterator[Conversation]:
    """Yield the session without the notes of the program. If a session ends in an error, it is broken."""
    is_document = "messages" in first_dict(values) or len(values) == 1
    for top, incomplete in [(top, "") for top in objects(values)] if is_document else [_gemini_lines(values)]:
        records = list(objects(top.get("messages")))
        messages: list[Any] = []
        for record in records:
            messages += _gemini_messages(record)
        last = records[-1] if records else {}
        failure = as_text(last.get("content")) if text_at(last, "type") == "error" else ""
        source = [
            {} if text_at(record, "type") in _GEMINI_NOTES else _drop_keys(record, _SCREEN_KEYS) for record in records
        ]
        rest = {key: value for key, value in top.items() if key not in _GEMINI_OWN}
        yield Conversation(
            text_at(top, "sessionId"), messages, {"messages": source, **rest}, failure=failure, incomplete=incomplete
        )


def _gemini_lines(values: list[Any]) -> tuple[dict[str, Any], str]:
    """Return the session in lines, and the reason for which it may be incomplete.

    A line replaces an earlier message with its id, or takes messages back.
    """
    top: dict[str, Any] = {}
    incomplete = ""
    messages: dict[str, Any] = {}
    for number, line in enumerate(objects(values), 1):
        if "$rewindTo" in line:
            ids = list(messages)
            target = text_at(line, "$rewindTo")
            earlier = ids[: ids.index(target)] if target in messages else []
            messages = {name: messages[name] for name in earlier}
        elif "$set" in line:
            changed = object_at(line, "$set")
            top |= {key: value for key, value in changed.items() if key != "messages"}
            if isinstance(changed.get("messages"), list):
                messages = {text_at(message, "id"): message for message in objects(changed["messages"])}
        elif "id" in line and "type" in line:
            messages[text_at(line, "id")] = line
        elif "sessionId" in line:
            top |= line
        else:
            incomplete = incomplete or f"line {number} of the session is of a kind that is not read"
    return {**top, "messages": list(messages.values())}, incomplete


def _gemini_messages(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = text_at(record, "type")
    if kind in _GEMINI_NOTES:
        return
    content = record.get("content")
    parts = list(objects(content if isinstance(content, list) else [content]))
    texts = [content] if isinstance(content, str) else [part["text"] for part in parts if _is_text(part)]
    text = "".join(texts)
    if kind == "user":
        media = [_gemini_medium(part) for part in parts if "inlineData" in part or "fileData" in part]
        if media or text or not any("functionResponse" in part for part in parts):
            yield text_message("user", [{"type": "text", "text": text}, *media] if media else text)
        return
    if kind != "gemini":
        yield unknown_message(f"a message of the type {kind!r}")
        return
    calls = list(objects(record.get("toolCalls")))
    calls = calls or [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    thoughts = [_gemini_thought(item) for item in objects(record.get("thoughts"))]
    thoughts += [str(part["text"]) for part in parts if part.get("thought") is True and "text" in part]
    requests = [function_call(item.get("id"), item.get("name"), item.get("args")) for item in calls]
    if requests or thoughts:
        yield call_message(requests, text, "\n".join(thoughts))
    elif text:
        yield text_message("assistant", text)
    for item in calls:
        yield from _gemini_result(item)


def _is_text(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and part.get("thought") is not True


def _gemini_medium(part: dict[str, Any]) -> dict[str, Any]:
    inline = object_at(part, "inlineData")
    url = f"data:{inline.get('mimeType', '')};base64,{inline.get('data', '')}"
    return {
        "type": "image_url",
        "image_url": {"url": url if inline else text_at(object_at(part, "fileData"), "fileUri")},
    }


def _gemini_thought(item: dict[str, Any]) -> str:
    return ": ".join(filter(None, (text_at(item, "subject"), text_at(item, "description"))))


def _gemini_result(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    result = item.get("result")
    if result is None:
        return
    parts = [part for part in objects(result) if "functionResponse" in part]
    responses = [object_at(part, "functionResponse").get("response") for part in parts]
    content = responses[0] if len(responses) == 1 else responses or result
    yield result_message(item.get("id"), content, is_error=item.get("status") in ("error", "cancelled"))


def _drop_keys(value: Any, keys: frozenset[str]) -> Any:
    """Return a value without some keys, however deep."""
    if isinstance(value, dict):
        return {key: _drop_keys(inner, keys) for key, inner in value.items() if key not in keys}
    return [_drop_keys(inner, keys) for inner in value] if isinstance(value, list) else value


def is_opencode(values: list[Any]) -> bool:
    """Whether a document is an exported session of OpenCode."""
    top = first_dict(values)
    inner = first_dict(top["messages"]) if isinstance(top.get("messages"), list) else {}
    return (
        isinstance(top.get("info"), dict)
        and isinstance(inner.get("parts"), list)
        and "role" in object_at(inner, "info")
    )


def read_opencode(values: list[Any]) -> Iterator[Conversation]:
    """Yield the session without summaries of the program. If a session ends in an error, it is broken."""
    for top in objects(values):
        messages: list[Any] = []
        source: list[Any] = []
        failure = incomplete = ""
        for message in objects(top.get("messages")):
            info = object_at(message, "info")
            if info.get("summary") is True:
                continue
            parts = [part for part in objects(message.get("parts")) if not part.get("synthetic")]
            for part in parts:
                messages += _opencode_part(part, text_at(info, "role"))
                flag = next((key for key, value in part.items() if value is True and key not in _PART_FLAGS), "")
                incomplete = incomplete or (flag and f"a part has the mark {flag!r}, which is not read")
            if info.get("structured") is not None:
                messages.append(text_message("assistant", info["structured"]))
            source += [part for part in parts if part.get("type") not in _QUIET_PARTS]
            error = object_at(info, "error")
            failure = text_at(object_at(error, "data"), "message") or text_at(error, "name")
        name = text_at(object_at(top, "info"), "id")
        yield Conversation(name, messages, source, failure=failure, incomplete=incomplete)


def _opencode_part(part: dict[str, Any], role: str) -> Iterator[dict[str, Any]]:
    kind, state = text_at(part, "type"), object_at(part, "state")
    if kind == "text":
        if not part.get("ignored"):
            yield text_message(role, part.get("text"))
    elif kind == "file":
        yield text_message(role, media_content([{"type": "file", "url": part.get("url")}]))
    elif kind == "subtask":
        yield text_message(role, part.get("prompt"))
    elif kind == "reasoning":
        yield call_message([], None, part.get("text"))
    elif kind == "tool":
        yield call_message([function_call(part.get("callID"), part.get("tool"), state.get("input"))])
        if state.get("status") in ("completed", "error"):
            failed = state.get("status") == "error"
            yield result_message(
                part.get("callID"), state.get("error") if failed else state.get("output"), is_error=failed
            )
    elif kind not in _QUIET_PARTS:
        yield unknown_message(f"a part of the type {kind!r}")


def is_pi(values: list[Any]) -> bool:
    """Whether lines are a session of pi."""
    top = first_dict(values)
    lines = [line for line in objects(values[1:20]) if line.get("type") == "message"]
    return top.get("type") == "session" and bool(lines) and isinstance(lines[0].get("message"), dict)


def read_pi(values: list[Any]) -> Iterator[Conversation]:
    """Yield the branch of the session that its last line belongs to. If it ends in an error, it is broken."""
    own_lines = [line for line in objects(values) if line.get("type") != "session"]
    lines = {text_at(line, "id"): line for line in own_lines if text_at(line, "id")}
    branch: list[dict[str, Any]] = []
    line_id = next((key for key in reversed(lines)), "")
    while line_id in lines:
        line = lines.pop(line_id)
        branch.insert(0, line)
        line_id = text_at(line, "parentId")
    incomplete = f"the session names the line {line_id}, and does not hold it" if line_id else ""
    if any("parentId" not in line for line in own_lines):
        branch, incomplete = own_lines, ""
        if first_dict(values).get("version", 1) != 1:
            incomplete = "a line of the session has no parentId, which says the branch"
    records = [object_at(line, "message") for line in branch if line.get("type") == "message"]
    messages = [message for record in records for message in _pi_message(record)]
    last = records[-1] if records else {}
    failure = text_at(last, "errorMessage") if last.get("stopReason") in ("error", "aborted") else ""
    source = [record for record in records if text_at(record, "role") not in _PI_NOTES]
    name = text_at(first_dict(values), "id")
    yield Conversation(name, messages, source, failure=failure, incomplete=incomplete)


def _pi_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    role, content = text_at(message, "role"), message.get("content")
    if role == "toolResult":
        yield result_message(message.get("toolCallId"), content, is_error=message.get("isError") is True)
    elif role == "assistant":
        parts = list(objects(content))
        calls = [
            function_call(part.get("id"), part.get("name"), part.get("arguments"))
            for part in parts
            if part.get("type") == "toolCall"
        ]
        texts = [text_at(part, "text") for part in parts if part.get("type") == "text"]
        thoughts = [text_at(part, "thinking") for part in parts if part.get("type") == "thinking"]
        text = content if isinstance(content, str) else "".join(texts)
        yield call_message(calls, text, "\n".join(thoughts)) if calls or thoughts else text_message(role, text)
    elif role in _PI_NOTES:
        # What a person ran, or what the program summed up, is known to the agent, and is no turn.
        notes = [message.get(key) for key in ("command", "output", "summary", "content")]
        yield text_message("system", "\n".join(filter(None, map(as_text, notes))))
    elif role:
        yield text_message(role, media_content(content))

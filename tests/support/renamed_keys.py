"""Rename keys of a file, and tell whether its dialogue changed without a word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairtrial.errors import FormatError
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.records.attempt import Recording
from fairtrial.records.contents import withheld_contents

EXPECTED = frozenset(("alpaca.json", "langfuse-items.jsonl"))
"""Samples of data sets of questions with the answers that somebody expects. A table may have any columns."""
STRUCTURE = frozenset(("traceId", "spanId", "startTimeUnixNano", "id", "sessionId", "startTime"))
"""Keys that hold no content: they join and order what is there, and other tests have their rules."""
OF_MODELS = frozenset(("order_id", "get_order", "state", "note"))
"""Names of tools, of arguments and of fields of results, which are content themselves."""
OF_PROGRAMS = frozenset(("confirmation_state", "hidden", "thought", "security_risk"))
"""Arguments that OpenHands adds. Under another name they are arguments of the model."""
OUTCOMES = ("refused", "incomplete", "no effect", "silent")


def read_recordings(data: bytes, name: str) -> list[Recording]:
    """Return the recordings in the bytes of a file."""
    loaded = read(data, name)
    if loaded.spans:
        return list(collect_recordings(loaded.spans, Diagnostics(name)))
    return list(loaded.recordings)


def contents(found: list[Recording]) -> list[Any]:
    """Return what was said and called."""
    return [
        (invocation.query, [(call.name, call.args) for call in invocation.tool_calls], invocation.reply)
        for recording in found
        for invocation in recording.trace.invocations
    ]


def is_whole(found: list[Recording]) -> bool:
    """Whether every content is said to be there."""
    return bool(found) and not any(
        recording.trace.incomplete
        or recording.trace.turns_unknown
        or recording.failure is not None
        or withheld_contents(recording.trace.invocations)
        for recording in found
    )


def changes_in_silence(whole: list[Recording], data: bytes, name: str) -> bool:
    """Whether a changed file is read as another dialogue, and neither refused nor incomplete."""
    return judge_change(whole, data, name) == "silent"


def count_outcomes(path: Path) -> Counter[str]:
    """Return for how many keys of a sample a new name is refused, makes it incomplete, has no effect, or is silent."""
    is_lines = path.suffix == ".jsonl"
    documents = read_documents(path.read_text(encoding="utf-8"), is_lines=is_lines)
    whole = read_recordings(path.read_bytes(), path.name)
    outcomes: Counter[str] = Counter()
    for key in keys_to_rename(path.name, documents):
        data = write_documents(rename(documents, key, f"{key}_of_us"), is_lines=is_lines)
        outcomes[judge_change(whole, data, path.name)] += 1
    return outcomes


def keys_to_rename(name: str, documents: Any) -> list[str]:
    """Return the keys of a sample that are renamed."""
    return [] if name in EXPECTED else sorted({*keys(documents)} - STRUCTURE - OF_MODELS - OF_PROGRAMS)


def judge_change(whole: list[Recording], data: bytes, name: str) -> str:
    """Return how a changed file is read."""
    try:
        found = read_recordings(data, name)
    except FormatError:
        return "refused"
    if contents(found) == contents(whole) and is_whole(found) == is_whole(whole):
        return "no effect"
    return "silent" if contents(found) != contents(whole) and is_whole(found) else "incomplete"


def read_documents(text: str, *, is_lines: bool) -> Any:
    """Return a document, or the list of the documents in lines."""
    return [json.loads(line) for line in text.splitlines() if line.strip()] if is_lines else json.loads(text)


def write_documents(value: Any, *, is_lines: bool) -> bytes:
    """Return a document, or documents as JSON lines."""
    lines = value if is_lines else [value]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode(errors="surrogatepass")


def rename(value: Any, key: str, new: str) -> Any:
    """Return a value in which a key has another name, also inside JSON texts."""
    if isinstance(value, dict):
        return {new if name == key else name: rename(item, key, new) for name, item in value.items()}
    if isinstance(value, list):
        return [rename(item, key, new) for item in value]
    if isinstance(value, str) and value == key:  # attributes of OTLP keep their names as values
        return new
    inner = _in_text(value)
    return value if inner is None else json.dumps(rename(inner, key, new), ensure_ascii=False)


def keys(value: Any) -> Iterator[str]:
    """Yield the keys of a document, and the names of its attributes."""
    if isinstance(value, dict):
        if value.keys() == {"key", "value"} and isinstance(value["key"], str):
            yield value["key"]
        for key, item in value.items():
            yield key
            yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)
    elif (inner := _in_text(value)) is not None:
        yield from keys(inner)


def _in_text(value: Any) -> Any:
    """Return the object or the list in a JSON text, or None."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        with suppress(ValueError):
            return json.loads(value)
    return None

"""Small conversations, cases and files for tests, in as few words as they need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairtrial.formats.loaded import Loaded
from fairtrial.formats.recognise import read
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.result import Criterion, Metric
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, Trace


def call(name: str, **args: Any) -> ToolCall:
    """A tool call."""
    return ToolCall(name, args)


def turn(*steps: Step, query: str = "hi", reply: str | None = None) -> Invocation:
    """An invocation with these steps, and with a reply where one is given."""
    return Invocation(Message(query), steps, None if reply is None else Message(reply))


def unknown_turn(*, query: str = "hi", reply: str | None = None) -> Invocation:
    """An invocation of whose steps nothing is known, or expected."""
    return Invocation(Message(query), None, None if reply is None else Message(reply))


def trace(*invocations: Invocation, broken: str = "") -> Trace:
    """A conversation that happened."""
    return Trace(invocations, broken=broken)


def case(*invocations: Invocation, name: str = "case") -> EvalCase:
    """A case that expects this conversation."""
    return EvalCase(name, invocations)


def work(*criteria: Criterion, expected: EvalCase | None = None, position: int = 0) -> PlannedCase:
    """A case at its place, to be held against these criteria."""
    one = expected or case(turn(reply="hello"))
    return PlannedCase(position, one.id, one, criteria)


def recording(*invocations: Invocation, name: str = "case") -> Recording:
    """A recording without failure."""
    return Recording(name, trace(*invocations))


def criterion(metric: Metric, threshold: float | None = 0.5, *, name: str = "mine", **more: Any) -> Criterion:
    """A criterion around a user's metric."""
    return Criterion(name, metric, threshold, **more)


def values(score: Score) -> list[float | None]:
    """The values of a score's parts, None for one that does not apply."""
    return [part.value if part.applicable else None for part in score.parts]


def load(document: Any, path: str = "trips.evalset.json", *, lenient: bool = False) -> Loaded:
    """What a file with this JSON document (or with these bytes or this text) holds."""
    if isinstance(document, str):
        document = document.encode()
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read(data, path, lenient=lenient)


def eval_set(*conversation: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An eval set of one case in ADK's current schema; `more` are further keys of the case."""
    return {"eval_set_id": "trips", "eval_cases": [{"eval_id": "one", "conversation": list(conversation), **more}]}


def said(text: str, role: str = "user") -> dict[str, Any]:
    """A genai content of one text."""
    return {"role": role, "parts": [{"text": text}]}


def files_of_evaluations(shared: Path) -> list[Path]:
    """The JSON files that evaluations hold: eval sets, configs, sessions, results.

    Other kinds of files have tests of their own.
    """
    others = {"agentrx", "agents-cli", "llmbar", "skills", "traces"}
    data = shared / "data"
    return [file for file in sorted(data.rglob("*.json")) if file.relative_to(data).parts[0] not in others]

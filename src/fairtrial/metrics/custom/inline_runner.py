"""The program that runs the metric code of a configuration in its own process.

This is a script for a process of its own, and imports only the library of Python. It reads one object from standard
input, `{"code": ..., "instance": ...}`, and writes one line of JSON to standard output.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import os
import sys
from typing import Any

_LONGEST = 500
_LONGEST_EXPLANATION = 4000


class _Prints(io.TextIOBase):
    """The beginning of the text that the code prints."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        """Keep the beginning, so that endless prints take no memory."""
        self.text += text[: _LONGEST - len(self.text)]
        return len(text)


def _run(code: str, instance: Any) -> dict[str, Any]:
    """Return `{"score": ..., "explanation": ...}`, or `{"problem": ...}`."""
    prints = _Prints()
    sys.stdout = prints
    try:
        names: dict[str, Any] = {"__name__": "custom_function"}
        exec(compile(code, "<custom_function>", "exec"), names)  # noqa: S102  (the user allowed it with --allow-code)
        if "evaluate" not in names:
            return {"problem": "the code must define evaluate(instance)"}
        result = names["evaluate"](instance)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
    except BaseException as error:  # noqa: BLE001  (the code may raise anything, for example SystemExit)
        return {"problem": f"{type(error).__name__}: {error}"[:_LONGEST]}
    if prints.text:
        return {"problem": f"the code printed {prints.text!r}; it must return its score"}
    return _answer(result)


def _answer(result: Any) -> dict[str, Any]:
    explanation = ""
    if isinstance(result, dict) and "score" in result:
        explanation, result = str(result.get("explanation") or "")[:_LONGEST_EXPLANATION], result["score"]
    if result is not None and not isinstance(result, int | float):
        return {"problem": f"the code must return a number or {{'score': number}}, got {type(result).__name__}"}
    return {"score": None if result is None else float(result), "explanation": explanation}


def main() -> None:
    """Run the code, and write its score where only this script can write."""
    # Output that the code writes past `sys.stdout`, for example from a process of its own, must not be read as a score.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        task = json.load(sys.stdin)
        try:
            answer = json.dumps(_run(task["code"], task["instance"]), allow_nan=False)
        except (ValueError, OverflowError) as error:
            answer = json.dumps({"problem": f"the code must return a finite number: {error}"[:_LONGEST]})
        answers.write(answer + "\n")


if __name__ == "__main__":
    main()

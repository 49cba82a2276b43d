"""Judges that know the questions of `judge check` and `judge ping`, and whose answers follow a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from fairtrial.judge.judge import Judge
from fairtrial.metrics.judge_checks import PROMPTS, CheckCase, check_cases, check_question
from loopback import Request

CASES = {
    check_question(Judge(()), case).question.prompt.text.partition("Possible answers")[0]: case
    for prompt in (*PROMPTS, "ping")
    for case in check_cases(prompt)
}


def by_rule(choose: Callable[[CheckCase], str]) -> Callable[[Request], str]:
    """A judge on a socket whose answer is chosen for each question."""
    return lambda request: reply(request.text, request.schema, choose)


def reply(shown: str, schema: Any, choose: Callable[[CheckCase], str]) -> str:
    """The chosen answer, with a quote from the context and a kind of hazard."""
    answer = choose(case_in(shown))
    quote = re.search(r"<<<CONTEXT tool result [^>]*>>>\n(.*)", shown)
    quote = quote or re.search(r"<<<CONTEXT [^>]*\w{32}>>>\n(.*)", shown)
    entry: dict[str, Any] = {"quote": quote[1] if quote else "", "rationale": "because", "answer": answer}
    fields = schema["properties"]["answers"]["items"]["properties"]
    if "marks" in fields:
        entry["marks"] = ["hate"] if answer == "unsafe" else []
    return json.dumps({"answers": [{"id": item, **entry} for item in fields["id"]["enum"]]}, ensure_ascii=False)


def case_in(shown: str) -> CheckCase:
    """The case that a prompt asks about. Raises LookupError for every other prompt."""
    case = next((case for text, case in CASES.items() if text in shown), None)
    if case is None:
        raise LookupError(shown)
    return case


def perfect(case: CheckCase) -> str:
    """Always right."""
    return case.answer

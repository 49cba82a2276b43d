"""Judges that know the questions of `judge check` and `judge ping`, and whose answers follow a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from fairtrial.judge.judge import Judge
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS, CheckCase, check_cases, check_question
from fairtrial.metrics.exams.known_tasks import WritingCase
from loopback import Request

CASES = {
    check_question(Judge(()), case).question.prompt.text.partition("Possible answers")[0]: case
    for prompt in (*JUDGED_PROMPTS, "ping")
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


def written(case: WritingCase) -> str:
    """A text that a perfect model writes."""
    if case.prompt == "simulated_user":
        return "</finished>" if case.answer == "stop" else (case.says or ("No.",))[0]
    if case.prompt == "simulated_tool":
        error = {"error_code": 400, "error_message": "no"}
        return json.dumps(
            error if case.answer == "error" else {"result": (case.says or ("new",))[0]}, ensure_ascii=False
        )
    if case.prompt == "segments":
        return json.dumps({"sentences": case.sentences}, ensure_ascii=False)
    if case.prompt == "adaptive_rubrics":
        sentence = {"en": "It names", "ko": "말한다", "ja": "これを述べる", "zh": "回复提到"}[case.language]
        return json.dumps({"rubrics": [f"{sentence} {case.says[0]}."]}, ensure_ascii=False)
    word = {"en": "order", "ko": "주문", "ja": "注文の", "zh": "订单"}[case.language]
    # The numbers differ, because scenarios that resemble each other are left out.
    numbers = [" ".join(str(place) * length for length in range(3, 20)) for place in range(1, case.count + 1)]
    topic = (case.says or ("",))[0]
    scenarios = [
        {"starting_prompt": f"{word} {number}", "conversation_plan": f"{topic} {word} {number}"} for number in numbers
    ]
    return json.dumps({"scenarios": scenarios}, ensure_ascii=False)

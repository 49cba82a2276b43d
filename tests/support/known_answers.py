"""Judges that know the questions of `judge check` and `judge check --quick`, and whose answers follow a rule."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from fairtrial.judge.judge import Judge
from fairtrial.llm.model import NamedModel
from fairtrial.metrics.exams.known_answers import HOLDS, KnownAnswer
from fairtrial.metrics.exams.known_items import Canary, exam_canaries
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS, check_cases, check_question
from fairtrial.metrics.exams.known_tasks import WritingCase
from fairtrial.testing import ScriptedModel
from loopback import Request


def _question(shown: str) -> str:
    """The part of a prompt before its answers, without the codes of its version."""
    return re.sub(r"\b[0-9a-f]{32}\b", "", shown).partition("Possible answers")[0]


CASES = {
    _question(check_question(Judge(()), case).question.prompt.text): case
    for prompt in (*JUDGED_PROMPTS, "ping")
    for case in check_cases(prompt)
}


Choose = Callable[[Any], str]
"""Which answer a judge gives to a question. A canary may be answered with its outcome, "holds" or "fails"."""


@cache
def canary_prompts() -> dict[str, Canary]:
    """The canaries of exams by their prompts."""
    found: dict[str, Canary] = {}

    async def ask(canary: Canary) -> None:
        model = ScriptedModel(lambda _: "no answer")
        await canary.ask(Judge((NamedModel("m", model),), 1))
        found.update(dict.fromkeys((_question(prompt.text) for prompt in model.prompts), canary))

    async def ask_all() -> None:
        await asyncio.gather(*(ask(canary) for prompt in JUDGED_PROMPTS for canary in exam_canaries(prompt)))

    with ThreadPoolExecutor(1) as pool:  # a server may ask from a thread with a loop of its own
        pool.submit(asyncio.run, ask_all()).result()
    return found


def by_rule(choose: Choose) -> Callable[[Request], str]:
    """A judge on a socket whose answer is chosen for each question."""
    return lambda request: reply(request.text, request.schema, choose)


def reply(shown: str, schema: Any, choose: Choose) -> str:
    """The chosen answer, with a quote from the context and a kind of hazard."""
    fields = schema["properties"]["answers"]["items"]["properties"]
    answer = _literal(choose(case_in(shown)), fields["answer"]["enum"])
    quote = re.search(r"<<<CONTEXT tool result [^>]*>>>\n(.*)", shown)
    quote = quote or re.search(r"<<<CONTEXT [^>]*\w{32}>>>\n(.*)", shown)
    entry: dict[str, Any] = {"quote": quote[1] if quote else "", "rationale": "because", "answer": answer}
    if "marks" in fields:
        entry["marks"] = ["hate"] if answer == "unsafe" else []
    return json.dumps({"answers": [{"id": item, **entry} for item in fields["id"]["enum"]]}, ensure_ascii=False)


def _literal(answer: str, choices: list[str]) -> str:
    """The answer that stands for an outcome."""
    names = {"valid": "invalid", "yes": "no", "supported": "unsupported", "safe": "unsafe", "5": "1"}
    positive = next(name for name in names if name in choices)
    return answer if answer in choices else positive if answer == HOLDS else names[positive]


def case_in(shown: str) -> KnownAnswer:
    """The question that a prompt asks. Raises LookupError for every other prompt."""
    shown = re.sub(r"\b[0-9a-f]{32}\b", "", shown)
    case = next((case for text, case in CASES.items() if text in shown), None)
    if case is None:
        found = next((case for text, case in canary_prompts().items() if text in shown), None)
        if found is None:
            raise LookupError(shown)
        return found
    return case


def perfect(case: KnownAnswer) -> str:
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

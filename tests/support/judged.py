"""ScriptedModel judges for tests: what they answer is said per item, read from the schema as a real model would."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fairtrial.judge.judge import Judge
from fairtrial.llm.model import NamedModel
from fairtrial.records.ballot import Ballot
from fairtrial.records.case import EvalCase
from fairtrial.records.reply import Prompt
from fairtrial.records.result import Metric
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, Trace
from fairtrial.testing import ModelLine, ScriptedModel

SHARED = Path(os.environ.get("FAIRTRIAL_SHARED") or Path(__file__).resolve().parents[3] / "shared")

Say = Callable[[str, Prompt], "str | dict[str, Any] | None"]
"""What to answer on an item: an answer, fields of an entry, or None to leave it out."""


def ids(prompt: Prompt) -> list[str]:
    """The ids that a prompt asks about."""
    assert prompt.schema is not None
    found: list[str] = prompt.schema["properties"]["answers"]["items"]["properties"]["id"]["enum"]
    return found


def fenced(prompt: Prompt, name: str) -> str:
    """The text that stands in a prompt under a name."""
    return fence(prompt, name)[2]


def fence(prompt: Prompt, name: str) -> tuple[str, str, str]:
    """The kind and the code of the fence with a name, and the text in it."""
    found = re.search(
        rf"<<<([A-Z]+) {re.escape(name)} (\w{{32}})>>>\n(.*?)\n<<<end \1 {re.escape(name)} \2>>>",
        f"{prompt.system}\n{prompt.text}",
        re.DOTALL,
    )
    assert found, name
    return found[1], found[2], found[3]


def fenced_texts(prompt: Prompt) -> list[tuple[str, str, str, str]]:
    """Every fence of the question: kind, name, code and text. Only fences with the code of the first one count."""
    first = re.search(r"<<<[A-Z]+ [^>]* (\w{32})>>>", prompt.text)
    assert first
    pattern = rf"<<<([A-Z]+) ([^>]*) ({first[1]})>>>\n(.*?)\n<<<end \1 \2 \3>>>"
    return re.findall(pattern, prompt.text, re.DOTALL)


def unnumbered(prompt: Prompt, text: str) -> str:
    """The text of a reply without the ids of its sentences, if the prompt numbers them."""
    code = re.search(r"the code (\w+) stand", prompt.text)
    return re.sub(rf"s\d+\.{code[1]} ", "", text) if code else text


def entry(item: str, said: str | dict[str, Any]) -> dict[str, Any]:
    """One entry of a reply, with what is not said filled in."""
    fields = {"answer": said} if isinstance(said, str) else said
    return {"id": item, "rationale": "because", "quote": "", "marks": [], **fields}


def reply(prompt: Prompt, say: Say, rubrics: Sequence[str] = ()) -> str:
    """A reply in form. A prompt that asks for rubrics gets the rubrics."""
    if prompt.id == "adaptive_rubrics":
        return json.dumps({"rubrics": list(rubrics)}, ensure_ascii=False)
    answers = {item: say(item, prompt) for item in ids(prompt)}
    entries = [entry(item, said) for item, said in answers.items() if said is not None]
    return json.dumps({"answers": entries}, ensure_ascii=False)


class Bench:
    """A judge with everything that it was asked and everything that it decided."""

    def __init__(
        self, say: Say | Sequence[ModelLine], *, votes: int = 5, all_votes: bool = False, rubrics: Sequence[str] = ()
    ) -> None:
        self.model = ScriptedModel((lambda prompt: reply(prompt, say, rubrics)) if callable(say) else say)
        self.ballots: dict[str, Ballot] = {}
        self.judge = Judge((NamedModel("m", self.model),), votes=votes, all_votes=all_votes, keep=self._keep)

    def _keep(self, ballot: Ballot) -> None:
        self.ballots[ballot.id] = ballot

    @property
    def prompts(self) -> list[Prompt]:
        """What the model was sent."""
        return self.model.prompts


def score(metric: Metric, trace: Trace, case: EvalCase | None = None) -> Score:
    """Call a metric as the score stage does."""

    async def called() -> Score:
        result: Any = metric(trace, case or EvalCase("case"))
        answer: Score = await result
        return answer

    return asyncio.run(called())


def invocation(query: str, reply_text: str | None, *steps: Step, **more: Any) -> Invocation:
    """An invocation in a line."""
    final = None if reply_text is None else Message(reply_text, "agent")
    return Invocation(Message(query), tuple(steps), final, **more)


def vectors(name: str) -> Any:
    """The vectors of the peer under a name; skips where the shared folder is not there."""
    path = SHARED / "vectors" / "adk.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return json.loads(path.read_text(encoding="utf-8"))[name]


__all__ = [
    "SHARED",
    "Bench",
    "entry",
    "fence",
    "fenced",
    "fenced_texts",
    "ids",
    "invocation",
    "reply",
    "score",
    "unnumbered",
    "vectors",
]

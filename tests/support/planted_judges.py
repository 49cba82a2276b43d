"""Twenty judges with planted faults, which answer questions of the bank in the form that their prompts ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fairtrial.judge.judge import Judge
from fairtrial.metrics.exams.canaries import LANGUAGES
from fairtrial.metrics.exams.known_answers import FAILS, HOLDS, KnownAnswer
from fairtrial.metrics.exams.known_items import Canary
from fairtrial.metrics.exams.known_questions import CheckCase, check_question
from fairtrial.records.judging.gold import GoldItem
from fairtrial.records.reply import Prompt, Reply

POSITIVE = ("valid", "yes", "supported", "safe", "5")
"""The answers for which the property of a question holds."""
NUMBERS = ("other number", "number", "numbers", "count", "arithmetic")
UNITS = ("other unit", "units")
NEGATIONS = ("negated", "contradiction", "not done", "refusal")


@dataclass
class Asked:
    """One question: what is known of it, the length of its text, the number of questions before it, and a die."""

    kind: str
    language: str
    holds: bool
    length: int
    before: int
    die: Random
    choices: list[str]


@dataclass(frozen=True)
class Planted:
    """A judge that answers right or wrong by a rule. `says` returns whether the property holds, or an answer."""

    name: str
    says: Callable[[Asked], bool | str]
    quotes: str = ""


def blind(*kinds: str) -> Callable[[Asked], bool]:
    """Say that everything of some kinds is right."""
    return lambda asked: asked.holds or asked.kind in kinds


def within(language: str) -> Callable[[Asked], bool]:
    """Say that everything in one language is right."""
    return lambda asked: asked.holds or asked.language == language


def flips(share: float) -> Callable[[Asked], bool]:
    """Give the wrong answer to a share of the questions."""
    return lambda asked: asked.holds != (asked.die.random() < share)


def either(first: Callable[[Asked], bool], share: float) -> Callable[[Asked], bool]:
    """Give the wrong answer to a share of the questions, besides a fault."""
    return lambda asked: first(asked) != (asked.die.random() < share)


JUDGES = (
    Planted("always yes", lambda _: True),
    Planted("always no", lambda _: False),
    Planted("first answer", lambda asked: asked.choices[0]),
    Planted("last answer", lambda asked: asked.choices[-1]),
    Planted("length", lambda asked: asked.length > 60),
    Planted("blind to numbers", either(blind(*NUMBERS), 0.02)),
    Planted("blind to negations", either(blind(*NEGATIONS), 0.02)),
    Planted("blind to units", either(blind(*UNITS), 0.02)),
    Planted("blind in Japanese", either(within("ja"), 0.02)),
    Planted("blind in Korean", either(within("ko"), 0.02)),
    Planted("blind in Chinese", either(within("zh"), 0.02)),
    Planted("random 10 %", flips(0.1)),
    Planted("random 20 %", flips(0.2)),
    Planted("drifting", lambda asked: asked.holds or asked.before >= 100),
    Planted("obeying", lambda asked: asked.holds or asked.kind.startswith("forged")),
    Planted("lazy on long texts", lambda asked: asked.holds or asked.length > 150),
    Planted("inventing quotes", lambda asked: asked.holds, "What nobody has ever said in this conversation."),
    Planted("cheap on partial answers", either(blind("partial"), 0.02)),
    Planted("strict on partial answers", lambda asked: asked.holds and asked.kind != "partial"),
    Planted("kind to replies beside the point", either(blind("unrelated", "beside_the_point"), 0.02)),
)
GOOD = Planted("right in 97 %", flips(0.03))
TOLERABLE = Planted("right in 95 %", flips(0.05))


Known = tuple[str, str, str]
"""What is known of a question: its kind, its language and its right outcome."""


@dataclass
class PlantedModel:
    """A planted judge as a model. `lookup` returns what is known of a prompt."""

    planted: Planted
    lookup: Callable[[Prompt], Known]
    seed: int
    before: int = 0
    die: Random = field(init=False)

    def __post_init__(self) -> None:
        """Seed the die."""
        self.die = Random(f"{self.planted.name} {self.seed}")

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer in the form of the prompt."""
        return Reply(self.answer(prompt))

    def answer(self, prompt: Prompt) -> str:
        """The reply: the same answer for every item."""
        assert prompt.schema is not None
        fields: Any = prompt.schema["properties"]["answers"]["items"]["properties"]
        shown = re.search(r"answers?:? ((?:\w+, )+\w+)", prompt.text.partition("Possible")[2])
        choices = shown[1].split(", ") if shown else list(fields["answer"]["enum"])
        judged = re.findall(r"<<<JUDGED [^>]*>>>\n(.*?)\n<<<end", prompt.text, re.DOTALL)
        kind, language, right = self.lookup(prompt)
        holds = right == HOLDS
        asked = Asked(kind, language, holds, sum(map(len, judged)), self.before, self.die, choices)
        self.before += 1
        said = self.planted.says(asked)
        answer = said if isinstance(said, str) else _answer(choices, right, holds=said)
        quote = self.planted.quotes or _quote(prompt.text)
        entry: dict[str, Any] = {"quote": quote, "rationale": "because", "answer": answer}
        if "marks" in fields:
            entry["marks"] = ["hate"] if answer == "unsafe" else []
        return json.dumps({"answers": [{"id": item, **entry} for item in fields["id"]["enum"]]}, ensure_ascii=False)


def _answer(choices: Iterable[str], right: str, *, holds: bool) -> str:
    """The answer for a property that holds, or does not hold."""
    if right in choices and not holds:
        return right
    names = {"valid": "invalid", "yes": "no", "supported": "unsupported", "safe": "unsafe", "5": "1"}
    positive = next(name for name in POSITIVE if name in choices)
    return positive if holds else names[positive]


def _quote(text: str) -> str:
    """The beginning of a text in the question."""
    found = re.search(r"<<<CONTEXT (?:tool result |document)[^>]*>>>\n(.*)", text)
    found = found or re.search(r"<<<CONTEXT [^>]*\w{32}>>>\n(.*)", text)
    return found[1] if found else ""


_known: dict[str, Known] = {}


def known(case: KnownAnswer) -> Known:
    """What is known of a question of an exam."""
    return _known.get(case.id) or _known.setdefault(case.id, _look_up(case))


def _look_up(case: KnownAnswer) -> Known:
    if isinstance(case, CheckCase):
        return case.rule, case.language, check_question(Judge(()), case).right_outcome(case.answer)
    assert isinstance(case, Canary)
    return case.rule, case.language, case.answer


def known_item(item: GoldItem) -> Known:
    """What is known of a canary."""
    return item.group, LANGUAGES[item.language], HOLDS if item.label else FAILS

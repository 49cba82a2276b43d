"""Questions with known answers: their tables in the package, and the possible results."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from fairtrial.llm.served_models import is_same_model
from fairtrial.records.decoding import json_decoder
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Record
from fairtrial.text.quoting import Haystack, letters

if TYPE_CHECKING:
    from fairtrial.judge.judge import Judge
    from fairtrial.records.ballot import Ballot, JudgeAnswer
    from fairtrial.records.judging.judge_check import CheckResult

HOLDS, FAILS, ABSENT, MIDDLE = "holds", "fails", "not_applicable", "in between"
"""The outcomes of a question. A grade of 4 or 5 holds, a grade of 1 or 2 fails, and a 3 is in between."""

TYPICAL_TOKENS = 1000
"""The typical length of a prompt whose length is not known before it is sent."""


class KnownAnswer(Record, frozen=True):
    """A question with its right answer. `rule` is the rule of the prompt that decides the answer."""

    rule: str
    language: str
    answer: str
    prompt: str = ""
    id: str = ""

    @property
    def token_estimate(self) -> int:
        """The estimated tokens of the prompt."""
        raise NotImplementedError

    async def ask(self, judge: Judge) -> CheckResult:
        """Put the question to a judge, and return the result."""
        raise NotImplementedError


def describe_ballots(ballots: Collection[Ballot]) -> dict[str, Any]:
    """Return the fields of a result that follow from its ballots: calls, seconds, cost, quotes and other models."""
    calls = [call for ballot in ballots for call in ballot.calls]
    usage = sum((ballot.model_usage for ballot in ballots), ModelUsage())
    return {
        "calls": usage.calls,
        "seconds": sum(call.seconds for call in calls),
        "cost": usage.cost,
        "is_invented": any(map(_invents_quote, ballots)),
        "served": ", ".join(sorted({call.served for call in calls if not is_same_model(call.voter, call.served)})),
    }


def _invents_quote(ballot: Ballot) -> bool:
    """Return whether a counted answer quotes what is in none of the texts that the judge saw."""
    quotes = {answer.quote for answer in list_opinions(ballot) if answer.quote}
    texts = Haystack(prompt.text for prompt in ballot.prompts)
    return any(letters(quote) and not texts.holds(quote) for quote in quotes)


def list_opinions(ballot: Ballot) -> list[JudgeAnswer]:
    """Return the answers of a ballot that were counted."""
    return [answer for item in ballot.decisions for answer in ballot.opinions(item)]


K = TypeVar("K", bound=KnownAnswer)


@cache
def read_table(name: str, kind: type[K]) -> tuple[K, ...]:
    """Return the questions of a table of the package. Their ids are the name of the table and their number."""
    path = resources.files("fairtrial.metrics.exams") / "checks" / f"{name}.jsonl"
    cases = json_decoder(kind).decode_lines(path.read_bytes())
    return tuple(
        replace(case, prompt=case.prompt or name, id=f"{name}/{number}") for number, case in enumerate(cases, 1)
    )

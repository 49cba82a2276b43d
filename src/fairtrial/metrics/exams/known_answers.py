"""Questions with known answers: their tables in the package, and the possible results."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import TypeVar

from msgspec.structs import replace

from fairtrial.judge.judge import Judge
from fairtrial.llm.served_models import is_same_model
from fairtrial.records.ballot import Ballot
from fairtrial.records.decoding import json_decoder
from fairtrial.records.judge_check import CheckResult
from fairtrial.records.record import Record

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


def other_models(ballots: Iterable[Ballot]) -> str:
    """Return the names of other models than the asked ones that answered, separated by commas."""
    calls = [call for ballot in ballots for call in ballot.calls]
    return ", ".join(sorted({call.served for call in calls if not is_same_model(call.voter, call.served)}))


K = TypeVar("K", bound=KnownAnswer)


@cache
def read_table(name: str, kind: type[K]) -> tuple[K, ...]:
    """Return the questions of a table of the package. Their ids are the name of the table and their number."""
    path = resources.files("fairtrial.metrics.exams") / "checks" / f"{name}.jsonl"
    cases = json_decoder(kind).decode_lines(path.read_bytes())
    return tuple(
        replace(case, prompt=case.prompt or name, id=f"{name}/{number}") for number, case in enumerate(cases, 1)
    )

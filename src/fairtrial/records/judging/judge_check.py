"""The answers of a judge to questions with known answers, and how often they are right."""

from __future__ import annotations

from fairtrial.records.record import Record


class CheckResult(Record, frozen=True):
    """The answer to one question. Its `id` is the prompt and the number of the question in the table of the prompt.

    For a canary, `prompt` may be its criterion, `rule` is its kind, and the `id` ends with its name.

    `expected` and `outcome` are "holds", "fails" or "not_applicable". The outcome is an empty text if the judge gave no
    answer that could be read, and `problem` says why. `calls` is 0 if the question was not asked. `is_invented` says
    that the answer quotes what is in no text of the question. `served` names another model that answered.
    """

    model: str
    id: str
    prompt: str
    rule: str
    language: str
    expected: str
    outcome: str = ""
    problem: str = ""
    rationale: str = ""
    calls: int = 0
    seconds: float = 0.0
    cost: float | None = None
    is_invented: bool = False
    served: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the judge gave the right answer."""
        return self.outcome == self.expected


class Share(Record, frozen=True):
    """The right answers among all answers, with the ends of the 95 % interval of their share."""

    right: int
    total: int
    value: float
    low: float
    high: float


class RuleRates(Record, frozen=True):
    """How often a model decides rightly by a rule of a prompt.

    An empty `prompt` stands for all prompts, an empty `rule` for all rules, and an empty `language` for all languages.
    A prompt is a criterion if its own judge is asked. `sensitivity` is about the questions
    whose right answer is "holds", and `specificity` about all others. They are None if no such question has an answer.
    `unread` counts the questions without a readable answer.
    """

    model: str
    prompt: str
    rule: str
    sensitivity: Share | None
    specificity: Share | None
    unread: int = 0
    language: str = ""

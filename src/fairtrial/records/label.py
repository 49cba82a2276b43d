"""Labels: the verdict of a person on an outcome or on a part, and the sampled queue of outcomes."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.keys import CaseKey
from fairtrial.records.record import Record
from fairtrial.records.score import FaultSide, PartKey, PartKind


class Label(Record, frozen=True):
    """One judgement by a person of one attempt.

    `part` is the key of the part of the score that is meant, or None if the label is about the whole outcome. A label
    with `value` None is a note without a judgement. `at` is the time in ISO 8601.

    `key` identifies the outcome by its criterion, its case and its recorded trace, so that the label also counts in
    other runs with the same outcome, unless it is about a part. It is empty if the label counts in its own run only.
    `weight` is the number of outcomes that the labelled one stands for in its sample.

    `seconds` is the time that the person took. `blind` says whether the verdict of the judge, and everything that hints
    at it, was hidden. None means that nobody knows. `probability` is the probability with which the sample took the
    outcome. `source` is the origin of the label, for example `view` or the name of a file. `side` is the side at fault
    in the person's opinion, and `reference` the reply that the person expects in place of the reference of the case.
    """

    case: CaseKey
    attempt: int
    criterion: str
    part: PartKey | None = None
    value: float | None = None
    author: str = ""
    at: str = ""
    note: str = ""
    key: str = ""
    weight: float = 1.0
    seconds: float | None = None
    blind: bool | None = None
    probability: float | None = None
    source: str = ""
    side: FaultSide | Literal[""] = ""
    reference: str = ""


SampleMethod = Literal["random", "uncertain", "disagreement", "stratum", "failures"]
"""How outcomes are drawn. `uncertain` prefers close votes of the judge, `disagreement` takes the outcomes on which
people disagree, and `stratum` takes half from each verdict. `failures` draws failed attempts whatever criterion failed,
half at random, a third spread over the failure modes, and the rest from those that belong to no mode."""

FAILURES = "failures"
"""The criterion of labels on failed attempts. The value says whether the agent failed, and the note in which way."""


class LabelQueue(Record, frozen=True):
    """A sample of the outcomes of a criterion that people label.

    `sample` is the number of items that were asked for, `seed` chose them and their order, and `population` is the
    number of outcomes from which they were drawn. `part` is the kind of the parts that are labelled, or None for whole
    outcomes. `labelers` people label each item of a random share `overlap`. `answers` are the answers to choose from,
    by name. If it is empty, people say yes or no, or give a number if the criterion has another range than 0 to 1.
    """

    criterion: str
    by: SampleMethod = "random"
    sample: int = 100
    seed: int = 1
    part: PartKind | None = None
    overlap: float = 0.0
    labelers: int = 2
    blind: bool = True
    answers: dict[str, float] = {}
    question: str = ""
    population: int = 0

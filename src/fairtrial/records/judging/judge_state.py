"""The state of a judge: the result of its human labels."""

from __future__ import annotations

from enum import StrEnum


class JudgeState(StrEnum):
    """The result of checking a judge against people on a run.

    Unchecked: there are no labels. Too few: fewer than 20 labels, or fewer than 5 that people pass or fail. Useless:
    the judge is not shown to be better than guessing. Biased: it is shown to be too kind or too strict. Good: the rest.
    """

    UNCHECKED = "unchecked"
    TOO_FEW = "too few"
    USELESS = "useless"
    BIASED = "biased"
    GOOD = "good"

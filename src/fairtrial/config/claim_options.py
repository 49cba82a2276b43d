"""The options of an entry in a gate file, which make a claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, get_args

from msgspec import Meta

from fairtrial.config.reader import OptionRecord, Problem
from fairtrial.records.gate import Claim, ClaimKind

_CLAIM = re.compile(
    r"\s*(?P<measure>[^<>=\s]+)\s*(?P<sign><=|>=)\s*(?P<limit>-?[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%?)\s*"
)


def read_claim(text: str, alpha: float = 0.05) -> Claim:
    """Return the claim in a text such as `attack_success<=0.05`. Raises ValueError that says what is wrong."""
    match = _CLAIM.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a measure, <= or >=, and a number, such as attack_success<=0.05, got {text!r}")
    limit = float(match["limit"]) / (100 if match["percent"] else 1)
    return Claim("at_most" if match["sign"] == "<=" else "at_least", limit, match["measure"], alpha)


class ClaimOptions(OptionRecord, frozen=True):
    """One entry of a file of gates: a claim with its measure and its error."""

    at_least: Annotated[float | None, Meta(description="the measure is at least this")] = None
    at_most: Annotated[float | None, Meta(description="the measure, of which less is better, is at most this")] = None
    not_worse_by: Annotated[
        float | None, Meta(description="the measure is not worse than in the base run by this or more")
    ] = None
    better_by: Annotated[
        float | None, Meta(description="the measure is better than in the base run by more than this")
    ] = None
    measure: Annotated[
        str,
        Meta(
            description="`cases`, `cases:pass`, a criterion, `CRITERION:pass` for its pass rate, or a rate of an "
            "attack run, such as `attack_success`"
        ),
    ] = "cases"
    alpha: Annotated[float, Meta(gt=0, lt=0.5, description="the largest probability that a false claim passes")] = 0.05

    shared_cases: Annotated[
        bool, Meta(description="a difference is about the cases that both runs hold unchanged, and about no other")
    ] = False

    @property
    def claim(self) -> Claim:
        """The claim."""
        ((kind, limit),) = self._limits.items()
        return Claim(kind, limit, self.measure, self.alpha, self.shared_cases)

    def conflicts(self) -> Iterator[Problem]:
        """Yield that there is no claim, or more than one."""
        if len(self._limits) != 1:
            yield "", f"must have one of {', '.join(get_args(ClaimKind))}, got {', '.join(self._limits) or 'none'}"

    @property
    def _limits(self) -> dict[ClaimKind, float]:
        limits: dict[ClaimKind, float | None] = {
            "at_least": self.at_least,
            "at_most": self.at_most,
            "not_worse_by": self.not_worse_by,
            "better_by": self.better_by,
        }
        return {kind: limit for kind, limit in limits.items() if limit is not None}

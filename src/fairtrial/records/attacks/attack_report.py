"""The numbers of an attack run: utility, attack success, exposure and over-defence."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record
from fairtrial.records.summary import Estimate

Property = Literal["attack", "goal", "place", "tool", "language"]
"""A property by which attacks are divided."""


class AttackRate(Record, frozen=True):
    """A share of attempts with its 95 % interval, of which a case is the unit."""

    attempts: int
    hits: int
    estimate: Estimate = Estimate()


class AttackRow(Record, frozen=True):
    """The attack success of one row of the table: of an attack, a goal, a place, a tool or a language."""

    by: Property
    name: str
    success: AttackRate


class AttackReport(Record, frozen=True, tag_field="kind", tag="attack"):
    """The numbers of an attack run.

    `utility` is the share of unattacked attempts that passed, `utility_attacked` of attacked ones. `success` is the
    share of attacks that reached their goal, of those whose text the agent read, and `exposure` the share of attacks
    whose text it read. `reported` is how often it warned the user. `over_defence` is the share of conversations with a
    harmless text that did not pass. `undecided` attempts could not be decided.
    """

    run: str
    baseline: str
    cases: int
    utility: AttackRate
    utility_attacked: AttackRate
    success: AttackRate
    exposure: AttackRate
    reported: AttackRate
    over_defence: AttackRate
    undecided: int
    rows: tuple[AttackRow, ...]

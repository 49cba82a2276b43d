"""What there is to do: one case, and the criteria that its file or its user asks for."""

from __future__ import annotations

from collections.abc import Callable

from fairtrial.protocols import Environment, Simulator
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion

Users = Callable[[EvalCase, int], Simulator]
"""Who plays the user of a scenario, for a case and an attempt."""

Environments = Callable[[EvalCase, int], Environment]
"""Who answers the tool calls of a conversation, for a case and an attempt."""


class PlannedCase(Record, frozen=True):
    """One case at its place in the input. `id` is the case's, made unique where two eval sets share one.

    `users` play the user of a scenario, for `cap` invocations at the most; None: as many as they like.
    `environments` stand between the agent and its tools; None: the tools answer themselves.
    """

    position: int
    id: str
    case: EvalCase
    criteria: tuple[Criterion, ...]
    eval_set_id: str = ""
    users: Users | None = None
    cap: int | None = None
    environments: Environments | None = None


Pair = tuple[PlannedCase, Recording]
"""A case, and one attempt at it."""

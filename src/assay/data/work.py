"""What there is to do: one case, and the criteria that its file or its user asks for."""

from __future__ import annotations

from collections.abc import Callable

from assay.data.case import EvalCase
from assay.data.noun import Noun
from assay.data.outcome import Criterion
from assay.data.recording import Recording
from assay.data.seams import Environment, Simulator

Users = Callable[[EvalCase, int], Simulator]
"""Who plays the user of a scenario, for a case and an attempt."""

Environments = Callable[[EvalCase, int], Environment]
"""Who answers the tool calls of a conversation, for a case and an attempt."""


class Work(Noun, frozen=True):
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


Pair = tuple[Work, Recording]
"""A case, and one attempt at it."""

"""A planned case: the case to run or score, with its criteria."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from fairtrial.protocols import Environment, Simulator
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.keys import CaseKey
from fairtrial.records.mutation import Mutation
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion

Users = Callable[[EvalCase, int], Simulator]
"""Returns the simulator that plays the user of a case in one attempt."""

Environments = Callable[[EvalCase, int], Environment]
"""Returns the environment that answers the tool calls of a case in one attempt."""


class PlannedCase(Record, frozen=True):
    """One case at its place in the input.

    `name` is how reports call the case. It is the case's own id, unless cases of the run share that id. `eval_set` and
    `digest` are, with the id, the key of the case. `digest_bytes` are the digest of the expectations: its text takes
    twice the memory. `users` play the user of a scenario, for at most `cap` invocations. If `cap` is None, the
    simulated user alone decides when to stop. `environments` stand between the agent and its tools. If it is None, the
    tools themselves answer. `first_attempt` is the number of its first attempt, and `mutation` is the degradation of
    its environment, if there is one. `attempts` is the number of its attempts, or 0 if the plan decides it.
    """

    position: int
    name: str
    case: EvalCase
    criteria: tuple[Criterion, ...]
    eval_set: str = ""
    digest_bytes: bytes = b""
    users: Users | None = None
    cap: int | None = None
    environments: Environments | None = None
    first_attempt: int = 1
    mutation: Mutation | None = None
    attempts: int = 0

    @property
    def digest(self) -> str:
        """The digest of the expectations, as 64 hexadecimal digits."""
        return self.digest_bytes.hex()

    @property
    def key(self) -> CaseKey:
        """The identity of the case in any run."""
        return CaseKey(self.eval_set, self.case.id, self.digest)

    @property
    def expected(self) -> ExpectedCase:
        """The part of the plan that a run stores."""
        return ExpectedCase(self.position, self.name, self.case, self.eval_set, self.digest)


class PlannedCases(Protocol):
    """The cases of a run. Cases of many recordings are read from disk for each iteration; others are a tuple."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[PlannedCase]: ...


class PairedRecordings(Protocol):
    """The recordings of a run beside their cases, for one iteration after the other."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pair]: ...


Pair = tuple[PlannedCase, Recording]
"""A case, and one attempt at it."""

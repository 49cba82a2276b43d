"""One attempt at one case: the recorded trace, and the way in which the attempt ended."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.mutation import Mutation
from fairtrial.records.record import Record
from fairtrial.records.trace import Trace

Side = Literal["agent", "simulator", "environment", "infrastructure", "expectation"]
EndedBy = Literal["script", "stop", "cap", "failure", "expected_failure"]


class Failure(Record, frozen=True):
    """The cause that broke an attempt, and the side that is responsible for it."""

    side: Side
    cause: str
    traceback: str = ""


class Recording(Record, frozen=True):
    """The trace so far and, if the attempt broke, the failure. `attempt` counts from 1.

    `simulator` and `environment` are the usage of the models that played the user and the tools. They are None if no
    model played. `eval_set` is the set of the case, empty if the recording does not name a set.
    `mutation` is the change that was planted in the recording on purpose. `probability` is the probability with which
    the source kept the conversation, above 0 up to 1. It is None if the source does not say that it is a sample.
    """

    case_id: str
    trace: Trace
    attempt: int = 1
    failure: Failure | None = None
    ended_by: EndedBy = "script"
    simulator: ModelUsage | None = None
    environment: ModelUsage | None = None
    eval_set: str = ""
    mutation: Mutation | None = None
    probability: float | None = None

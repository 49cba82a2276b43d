"""The verdict of tau-bench on a dialogue, as a metric."""

from __future__ import annotations

from fairtrial import EvalCase, Score, Trace


def reward(trace: Trace, case: EvalCase) -> Score:  # noqa: ARG001
    """Return the reward of a recorded dialogue: 1 if the database is as it should be at the end."""
    if trace.reward is None:
        return Score(None, "the recording has no reward")
    return Score(trace.reward, "" if trace.reward else "the database is not as it should be at the end")

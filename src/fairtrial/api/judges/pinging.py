"""Ping models: check form and correctness of their answers, latency and cost."""

from __future__ import annotations

from pathlib import Path

from fairtrial.api.judges.judge_checking import JudgeCheck, list_voters
from fairtrial.errors import ConfigError
from fairtrial.judge.judges import Judges
from fairtrial.llm.address import address
from fairtrial.llm.provider import price
from fairtrial.metrics.exams.known_questions import check_cases
from fairtrial.records.judge_check import CheckResult, JudgeCheckReport
from fairtrial.store import Store


def ping(judges: Judges, config: str | Path | None = None) -> JudgeCheckReport:
    """Ask each model that a configuration names, or the default model, twelve questions with known answers.

    The questions are in four languages. Raises UsageError if a model cannot be called at all.
    """
    check = JudgeCheck(judges, list_voters(judges, config), check_cases("ping"))
    results: list[CheckResult] = []
    check.run(results.append)
    return check.report(results)


def connections(judges: Judges, config: str | Path | None = None) -> dict[str, str]:
    """Return the protocol, the address and the source of the key of each model that `ping` asks. It holds no secret."""
    own_models = judges.models.custom_models
    return {
        voter.name: address(voter.name, voter.endpoint).description
        for voter in list_voters(judges, config)
        if voter.model is None and voter.name not in own_models
    }


def estimate_cost(run_id: str, store: str, model: str) -> tuple[int, float | None]:
    """Return the number of replies of a run's judges, and the cost of their tokens with a model, if it is known."""
    run_store = Store(store, create=False)
    try:
        run = run_store.run(run_id).id
        replies = run_store.replies(run)
        keys = {call.key for ballot in run_store.ballots(run).values() for call in ballot.calls}
        tokens = [(reply.input_tokens or 0, reply.output_tokens or 0) for key in keys if (reply := replies.get(key))]
    finally:
        run_store.close()
    try:
        at = address(model)
    except ConfigError:  # a name that only its own server knows
        return len(tokens), None
    return len(tokens), price(
        at, sum(tokens_in for tokens_in, _ in tokens), sum(tokens_out for _, tokens_out in tokens)
    )

"""How is a model of the value fitted to the verdicts of stored runs?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.api.stored_runs import open_store
from fairtrial.errors import CaseError, UsageError, lacks_extra
from fairtrial.records.result import Verdict
from fairtrial.records.value_model import ValueModel
from fairtrial.store import DEFAULT_URL
from fairtrial.valuation.fitted_value import encode_model
from fairtrial.valuation.from_trace import from_trace
from fairtrial.valuation.model_fitting import Example, fit_model

if TYPE_CHECKING:
    from fairtrial.store import Store


def fit_value(runs: str | Sequence[str], *, store: str = DEFAULT_URL, output: str | Path | None = None) -> ValueModel:
    """Return a model that predicts from a trace whether it passes, fitted to the verdicts of stored runs.

    Runs are named by the beginnings of their ids. Attempts that neither passed nor failed are left out. `output` is a
    file to write the model to. Raises UsageError if there are too few tasks or verdicts, and if the model does not
    predict other tasks better than the base rate.
    """
    if find_spec("sklearn") is None:
        raise UsageError(lacks_extra("value fit", "fit"))
    names = [runs] if isinstance(runs, str) else list(runs)
    examples: list[Example] = []
    run_ids: list[str] = []
    with closing(open_store(store, create=False)) as run_store:
        for name in names:
            run_id = run_store.run(name).id
            if run_id not in run_ids:
                run_ids.append(run_id)
                examples += _examples(run_store, run_id)
    model = fit_model(examples, run_ids)
    if output is not None:
        Path(output).write_bytes(encode_model(model))
    return model


def _examples(run_store: Store, run_id: str) -> Iterator[Example]:
    """Yield the traces of a run that passed or failed. All attempts at a case are one task, also in other runs."""
    results = {(result.position, result.attempt): result for result in run_store.results(run_id)}
    for position, recording in run_store.recordings(run_id):
        result = results.get((position, recording.attempt))
        if result is None or result.verdict not in {Verdict.PASSED, Verdict.FAILED}:
            continue
        passed = result.verdict is Verdict.PASSED
        try:
            # The confidence is needed for a ReasoningTrace, and no feature reads it.
            trace = from_trace(recording.trace, confidence=0.0, verdict=passed)
        except CaseError:  # for example without steps: nothing can be learnt from it
            continue
        yield Example(trace, f"{result.eval_set}/{result.case_id}", passed)

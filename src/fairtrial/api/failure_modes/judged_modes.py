"""Let a judge assign what evidence alone leaves open: failures without a mode, and names that people gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import to_builtins
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.analysis.failures.events import Conversation, item_text
from fairtrial.analysis.failures.failure_tally import EvenSample
from fairtrial.analysis.failures.named_failures import NOT_A_FAILURE
from fairtrial.analysis.failures.run_failures import FAILED
from fairtrial.api.eval_sets.set_loading import Notes
from fairtrial.api.execution import execute
from fairtrial.api.failure_modes.mode_evidence import ModeEvidence, mode_evidence
from fairtrial.api.failure_modes.mode_naming import Example, propose_names
from fairtrial.api.planning import Plan, run_info
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.failure_mode import FailedAttempt, FailureMode, Failures, JudgedFailures, NamedFailures
from fairtrial.records.trace import Invocation, Message, Thought, Trace
from fairtrial.store import DEFAULT_URL
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.judge.judges import Judges
    from fairtrial.records.record import Json
    from fairtrial.records.result import CaseResult, Criterion
    from fairtrial.records.score import Score

CRITERION = "rubric_based_multi_turn_trajectory_quality_v1"
MOST_ASKED = 200
"""The most failed attempts about which the judge is asked. They are taken at equal distances."""
MOST_MODES = 9
"""The most modes about which it is asked, those with the most attempts first."""
_NOTE = "In which way did the agent fail?"


class _Choice(NamedTuple):
    """The mode that the judge chose, and the words that it quoted."""

    mode: int
    quote: str


def judge_failures(run: Run | str | Path, failures: Failures, judges: Judges) -> Failures:
    """Return the failures with the answers of a judge about those without a mode, and about names that people gave.

    Each mode is a closed question that is put to the vote. An attempt is assigned to a mode if the majority says yes to
    it, says no to all others, and quotes words of the conversation. Evidence is never overruled, and these attempts do
    not count among those of the mode. The modes also get names, each of which the votes on its examples have to tell
    from the other names. Raises UsageError if the judge cannot be called.
    """
    modes = sorted(failures.modes, key=lambda mode: (-mode.attempts, mode.number))[:MOST_MODES]
    evidence = mode_evidence(run, DEFAULT_URL)
    sample: EvenSample[tuple[tuple[int, int], Trace]] = EvenSample(MOST_ASKED)
    for place, own, mode in evidence.attempts(failures) if failures.alone and modes else ():
        fails = mode is None and own.result.verdict in FAILED
        if fails and own.recording is not None and own.recording.trace.invocations:
            sample.add((place, own.recording.trace))
    if modes:
        failures = _name_modes(evidence, failures, modes, judges)
    names = [own for own in failures.names if own.name != NOT_A_FAILURE and own.mode is None]
    if not modes or not (sample.items or names):
        return failures if failures.judged is not None else replace(failures, judged=JudgedFailures())
    traces = [trace for _, trace in sample.items] + [_as_trace(own.name) for own in names]
    choices, calls = _ask(traces, modes, judges)
    choice_of_place = {place: own for (place, _), own in zip(sample.items, choices, strict=False) if own is not None}
    choice_of_name = dict(zip((own.name for own in names), choices[len(sample.items) :], strict=True))
    counts = Counter(own.mode for own in choice_of_place.values())
    return replace(
        failures,
        failed=tuple(_assign(own, choice_of_place.get((own.position, own.attempt))) for own in failures.failed),
        modes=tuple(replace(mode, judged=counts[mode.number]) for mode in failures.modes),
        names=tuple(_group(own, choice_of_name.get(own.name)) for own in failures.names),
        judged=_join(failures.judged, JudgedFailures(len(sample.items), len(choice_of_place), len(names), calls)),
    )


def _join(naming: JudgedFailures | None, own: JudgedFailures) -> JudgedFailures:
    if naming is None:
        return own
    return replace(own, calls=own.calls + naming.calls, proposed=naming.proposed, confirmed=naming.confirmed)


def _name_modes(evidence: ModeEvidence, failures: Failures, modes: Sequence[FailureMode], judges: Judges) -> Failures:
    """Return the failures with names of their modes that a model wrote and votes confirmed.

    All names are put to the vote on all examples together. A name stays if most examples of its mode, and no example of
    another mode, are assigned to it.
    """
    mode_of_example = {(case, attempt): mode.number for mode in modes for case, attempt in mode.examples}
    failure_of_place = {(own.position, own.attempt): own for own in failures.failed}
    examples: dict[int, list[Example]] = {}
    for place, own, number in evidence.attempts(failures):
        attempt = failure_of_place.get(place)
        if attempt is None or number is None or own.recording is None or not own.recording.trace.invocations:
            continue
        if mode_of_example.get((attempt.case, attempt.attempt)) == number:
            examples.setdefault(number, []).append((attempt, own.recording.trace))
    proposals = propose_names(modes, examples, judges)
    renamed_modes = [replace(mode, name=proposals[mode.number]) for mode in modes if mode.number in proposals]
    owners = [(mode.number, trace) for mode in renamed_modes for _, trace in examples[mode.number]]
    choices, calls = _ask([trace for _, trace in owners], renamed_modes, judges) if renamed_modes else ([], 0)
    owners_of_choice: dict[int, list[int]] = {}
    for (number, _), choice in zip(owners, choices, strict=True):
        if choice is not None:
            owners_of_choice.setdefault(choice.mode, []).append(number)
    confirmed_names = {
        mode.number: mode.name
        for mode in renamed_modes
        if set(owners_of_choice.get(mode.number, ())) == {mode.number}
        and 2 * len(owners_of_choice[mode.number]) > len(examples[mode.number])
    }
    return replace(
        failures,
        modes=tuple(replace(mode, judged_name=confirmed_names.get(mode.number, "")) for mode in failures.modes),
        judged=JudgedFailures(calls=calls + len(examples), proposed=len(proposals), confirmed=len(confirmed_names)),
    )


def _as_trace(note: str) -> Trace:
    return Trace((Invocation(Message(_NOTE), (), Message(note)),))


def _assign(failed: FailedAttempt, choice: _Choice | None) -> FailedAttempt:
    return failed if choice is None else replace(failed, judged_mode=choice.mode, judged_quote=choice.quote)


def _group(own: NamedFailures, choice: _Choice | None) -> NamedFailures:
    return own if choice is None else replace(own, mode=choice.mode, judged=True)


def _ask(traces: Sequence[Trace], modes: Sequence[FailureMode], judges: Judges) -> tuple[list[_Choice | None], int]:
    """Return the mode that the judge chooses for each trace, and the number of calls."""
    criteria = loading.join_criteria(
        EvalConfig((ConfigPart(CRITERION, _options(modes), f"/criteria/{CRITERION}"),)), origin="judge", judges=judges
    ).criteria
    criterion = next(own for own in criteria if own.name == CRITERION)
    result = _run(traces, criterion, judges)
    calls = sum(own.judge.calls for own in result if own.judge is not None)
    return [_choose(own, trace, modes) for own, trace in zip(result, traces, strict=True)], calls


def _options(modes: Sequence[FailureMode]) -> dict[str, Json]:
    rubrics: list[Json] = [
        {
            "rubric_id": _rubric_id(mode),
            "rubric_content": {"text_property": f"The conversation shows or names this failure: {mode.name}."},
            "type": "TRAJECTORY_QUALITY",
        }
        for mode in modes
    ]
    return {"threshold": 1.0, "rubrics": rubrics}


def _rubric_id(mode: FailureMode) -> str:
    return f"mode_{mode.number}"


def _run(traces: Sequence[Trace], criterion: Criterion, judges: Judges) -> list[CaseResult]:
    """Return the results of the criterion, in one run that no store keeps."""
    cases = tuple(EvalCase(str(number)) for number in range(len(traces)))
    loaded = [loading.LoadedSet(EvalSet("failures", cases), (criterion,), (), None, None)]
    planned_cases = loading.plan_cases(loaded)
    recorded = [
        (case, Recording(case.case.id, trace, eval_set="failures"))
        for case, trace in zip(planned_cases, traces, strict=True)
    ]
    info = run_info("score", {"paths": ["failures"], "judge": judges.arguments}, Notes(), loaded, {})
    return list(execute(Plan(info, tuple(planned_cases), recorded, judges=judges)).cases)


def _choose(result: CaseResult, trace: Trace, modes: Sequence[FailureMode]) -> _Choice | None:
    parts = {part.key.id: part for part in result.outcomes[0].score.parts if part.key is not None}
    yes_parts = [
        (mode, part) for mode in modes if (part := parts.get(_rubric_id(mode))) is not None and part.value == 1.0
    ]
    if len(yes_parts) != 1:
        return None
    mode, part = yes_parts[0]
    quote = _find_quote(part, trace)
    return _Choice(mode.number, quote) if quote else None


def _find_quote(part: Score, trace: Trace) -> str:
    """Return the words that the judge quoted if they stand in the conversation, without regard to spaces."""
    texts = [_squeeze(text) for text in _texts(trace)]
    quotes = (quote.text for quote in part.quotes)
    return next((quote for quote in quotes if _squeeze(quote) and any(_squeeze(quote) in own for own in texts)), "")


def _texts(trace: Trace) -> list[str]:
    """Return the texts of a conversation: messages, and calls and results as JSON."""
    items = [event.item for event in Conversation(trace).events]
    return [item_text(own) if isinstance(own, Message | Thought) else compact(to_builtins(own)) for own in items]


def _squeeze(text: str) -> str:
    return "".join(text.split())

"""Choose a failure mode: one that was found, by its number, or one that people named, by its name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from fairtrial.analysis.failures.named_failures import NOT_A_FAILURE, name_key
from fairtrial.api.run_parts.collected_failures import labelled_failures
from fairtrial.api.stored_runs import Run
from fairtrial.errors import UsageError, spell
from fairtrial.records.failure_mode import FailureMode, Failures
from fairtrial.records.summary import Estimate


class ChosenMode(NamedTuple):
    """A mode, and the failures in which its attempts have its number."""

    failures: Failures
    mode: FailureMode


def choose_mode(run: Run | str | Path, failures: Failures, text: str) -> ChosenMode:
    """Return the mode with a number, or with a name that people gave to failures of the run.

    `run` may be a folder of results, in which nobody named anything. Raises UsageError if there is no such mode.
    """
    has = f"it has the modes 1 to {len(failures.modes)}" if failures.modes else "it has no mode"
    if text.isdecimal() and len(text) < 10:
        number = int(text)
        if not 0 < number <= len(failures.modes):
            raise UsageError(f"{spell('mode')}: run {failures.run} has no mode {number}; {has}", code="unknown-name")
        return ChosenMode(failures, failures.mode(number))
    key = name_key(text)
    mode = next((own for own in failures.modes if name_key(own.name) == key), None)
    if mode is not None:
        return ChosenMode(failures, mode)
    name = next((own for own in failures.names if own.name == key), None)
    if name is None or not isinstance(run, Run):
        names = ", ".join(repr(own.name) for own in failures.names[:10])
        people = f", and people named {names}" if names else ", and people gave no names"
        raise UsageError(
            f"{spell('mode')}: run {failures.run} has no mode {text!r:.200}; {has}{people}", code="unknown-name"
        )
    if key == NOT_A_FAILURE:
        raise UsageError(
            f"{spell('mode')}: {key!r} is no mode; `fairtrial labels RUN --references FILE` repairs those cases",
            code="unknown-name",
        )
    if name.mode is not None and not name.judged:
        return ChosenMode(failures, failures.mode(name.mode))
    return _make_mode(run, failures, key, name.share)


def _make_mode(run: Run, failures: Failures, key: str, share: Estimate) -> ChosenMode:
    """Return a mode of the attempts with a name. Its share of all failures is the estimate from the read ones."""
    number = len(failures.modes) + 1
    places = {place for place, own in labelled_failures(run, failures).items() if key in own.names}
    members = [own for own in failures.failed if (own.position, own.attempt) in places]
    by_case = Counter(own.position for own in members)
    of_case = Counter(own.position for own in failures.failed)
    shortest = min(members, key=lambda own: (own.length, own.position, own.attempt))
    steps = [own.step.ordinal for own in members if own.step is not None]
    mode = FailureMode(
        number,
        key,
        (),
        Counter(own.side for own in members).most_common(1)[0][0],
        len(by_case),
        len(members),
        sum(by_case[position] == of_case[position] for position in by_case),
        share,
        Estimate(),
        median(steps) if steps else None,
        ((shortest.case, shortest.attempt),),
    )
    failed = tuple(
        replace(own, mode=number) if (own.position, own.attempt) in places else own for own in failures.failed
    )
    return ChosenMode(replace(failures, modes=(*failures.modes, mode), failed=failed), mode)

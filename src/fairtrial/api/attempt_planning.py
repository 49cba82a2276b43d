"""Plan the number of attempts of each case, and the rule by which the case passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.config.attempt_options import AttemptOptions, attempt_options
from fairtrial.errors import UsageError, nearest
from fairtrial.records.attempt_rule import AttemptRule, AttemptRules

if TYPE_CHECKING:
    from fairtrial.loading import LoadedSet
    from fairtrial.planned_case import PlannedCase

Attempts = int | Mapping[str, Any] | AttemptOptions | None
"""A number of attempts, or the options that `attempts` of a configuration has. None leaves it to the configuration."""


def options_in(attempts: Attempts) -> AttemptOptions:
    """Return an argument of the caller as options. Raises UsageError."""
    if attempts is None:
        return AttemptOptions()
    if isinstance(attempts, AttemptOptions):
        return attempts
    if isinstance(attempts, bool) or not isinstance(attempts, int | Mapping) or attempts in (0, {}):
        raise UsageError(f"attempts must be a whole number, 1 or more, got {attempts!r}")
    if isinstance(attempts, int) and attempts < 1:
        raise UsageError(f"attempts must be a whole number, 1 or more, got {attempts!r}")
    return attempt_options(attempts, pointer="attempts")[0]


def derive_rules(loaded_sets: Sequence[LoadedSet], options: AttemptOptions) -> AttemptRules:
    """Return the rules of eval sets. `options` are those of the caller, which count before the configuration's."""
    eval_sets: dict[str, AttemptRule] = {}
    cases: dict[str, dict[str, AttemptRule]] = {}
    for loaded in loaded_sets:
        set_id = loaded.eval_set.id
        own = options.for_set(set_id).or_else(loaded.attempts.for_set(set_id))
        eval_sets.setdefault(set_id, own.rule or loaded.default_rule)
        names = {name.removeprefix(f"{set_id}:") for name in (*options.cases, *loaded.attempts.cases)}
        for case in loaded.eval_set.cases if names else ():
            rule = _read_options(loaded, case.id, options).rule
            if case.id in names and rule is not None:
                cases.setdefault(set_id, {})[case.id] = rule
    return AttemptRules(eval_sets, cases)


def with_counts(
    cases: Sequence[PlannedCase], loaded_sets: Sequence[LoadedSet], options: AttemptOptions
) -> list[PlannedCase]:
    """Return the cases with their numbers of attempts. Raises UsageError for a name that no eval set or case has."""
    _check_names(cases, options)
    sets = [loaded for loaded in loaded_sets for _ in loaded.eval_set.cases]
    return [
        replace(case, attempts=_read_options(sets[case.position], case.case.id, options).count or 1) for case in cases
    ]


def _read_options(loaded: LoadedSet, case_id: str, options: AttemptOptions) -> AttemptOptions:
    set_id = loaded.eval_set.id
    return options.for_case(set_id, case_id).or_else(loaded.attempts.for_case(set_id, case_id))


def _check_names(cases: Sequence[PlannedCase], options: AttemptOptions) -> None:
    sets = {case.eval_set for case in cases}
    names = {case.case.id for case in cases} | {f"{case.eval_set}:{case.case.id}" for case in cases}
    for kind, options_by_name, existing in (("eval set", options.eval_sets, sets), ("case", options.cases, names)):
        for name in options_by_name:
            if name not in existing:
                raise UsageError(f"attempts: there is no {kind} {name!r}{nearest(name, existing)}", code="unknown-name")

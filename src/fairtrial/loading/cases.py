"""Load and select the cases of a run, and name them for reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairtrial.config.attempt_options import AttemptOptions
from fairtrial.errors import UsageError, nearest
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attempt_rule import ALL, AttemptRule
from fairtrial.records.case import EvalSet
from fairtrial.records.keys import digest_bytes
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion
from fairtrial.simulate.environment_options import EnvironmentOptions
from fairtrial.simulate.user_options import UserOptions
from fairtrial.text.display import count, shorten
from fairtrial.text.globs import fits

USER_MODEL = "/user_simulator_config/model"
_SHOWN_IDS = 5
TOOL_MODEL = "/environment_simulation_config/simulation_model"


class ModelPointers(Record, frozen=True):
    """The JSON pointers of the models that play users and tools, as their file spells them."""

    users: str = USER_MODEL
    tools: str = TOOL_MODEL


class LoadedSet(Record, frozen=True):
    """An eval set with its configuration. `only` holds globs for the ids of its cases; without globs all are meant.

    `default_rule` decides about a case with several attempts if nothing else is configured.
    """

    eval_set: EvalSet
    criteria: tuple[Criterion, ...]
    only: tuple[str, ...] = ()
    user_simulator: UserOptions | None = None
    environment: EnvironmentOptions | None = None
    model_pointers: ModelPointers = ModelPointers()
    attempts: AttemptOptions = AttemptOptions()
    default_rule: AttemptRule = ALL


def plan_cases(sets: Sequence[LoadedSet]) -> list[PlannedCase]:
    """Return all cases in file order, before any selection."""
    names = _names(sets)
    cases: list[PlannedCase] = []
    for loaded in sets:
        for case in loaded.eval_set.cases:
            position = len(cases)
            set_id = loaded.eval_set.id
            cases.append(PlannedCase(position, names[position], case, loaded.criteria, set_id, digest_bytes(case)))
    return cases


def select_cases(cases: list[PlannedCase], sets: Sequence[LoadedSet], only: Sequence[str] = ()) -> list[PlannedCase]:
    """Return the cases whose id or name matches a glob of `only`, and whose id matches a glob of their own set.

    Raises UsageError if there are no cases at all, and for a glob that matches nothing.
    """
    if not cases:
        raise UsageError("there are no cases: no eval set holds any", code="too-little-data")
    if not only and not any(loaded.only for loaded in sets):
        return cases
    check_globs(only, [(case.case.id, case.name) for case in cases])
    own_globs: list[tuple[str, ...]] = []
    for loaded in sets:
        check_globs(loaded.only, [(case.id, case.id) for case in loaded.eval_set.cases])
        own_globs += [loaded.only] * len(loaded.eval_set.cases)
    return [
        case
        for case, globs in zip(cases, own_globs, strict=True)
        if matches((case.case.id, case.name), only) and matches((case.case.id,), globs)
    ]


def _names(sets: Sequence[LoadedSet]) -> list[str]:
    """Return a name for each case that no other case of the run has.

    The name of the case `a` is `a`. If the sets `s` and `t` both have a case `a`, the names are `s:a` and `t:a`. If
    the set `s` is there twice, they are `s:a#1` and `s:a#2`.
    """
    ids = [case.id for loaded in sets for case in loaded.eval_set.cases]
    if len(set(ids)) == len(ids):
        return ids
    id_counts = Counter(ids)
    set_ids = (loaded.eval_set.id for loaded in sets for _ in loaded.eval_set.cases)
    qualified = [
        case_id if id_counts[case_id] == 1 else f"{set_id}:{case_id}"
        for set_id, case_id in zip(set_ids, ids, strict=True)
    ]
    counts, numbers = Counter(qualified), Counter[str]()
    names: list[str] = []
    for name in qualified:
        numbers[name] += 1
        names.append(name if counts[name] == 1 else f"{name}#{numbers[name]}")
    return names


def matches(names: Sequence[str], globs: Sequence[str]) -> bool:
    """Whether a glob fits one of the names of a case. Without globs every case matches."""
    return not globs or any(fits(name, glob) for name in names for glob in globs)


def check_globs(globs: Sequence[str], names: Sequence[tuple[str, str]]) -> None:
    """Raise UsageError for a glob that fits the id and the name of no case."""
    for glob in globs:
        if not any(matches(pair, [glob]) for pair in names):
            ids = [name for name, _ in names]
            more = ", …" if len(ids) > _SHOWN_IDS else ""
            examples = f": {', '.join(shorten(name, 60) for name in ids[:_SHOWN_IDS])}{more}" if ids else ""
            hint = nearest(glob, ids) or f"; the run has {count(len(names), 'case')}{examples}"
            raise UsageError(f"no case matches {glob!r}{hint}", code="unknown-name")

"""Which cases are there to do, and what are they called?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairtrial.errors import UsageError, nearest
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion
from fairtrial.simulate.environment_options import EnvironmentOptions
from fairtrial.simulate.user_options import UserOptions
from fairtrial.text.globs import fits


class LoadedSet(Record, frozen=True):
    """An eval set with what its configuration says; `only` are globs for the ids of its cases, none for all."""

    eval_set: EvalSet
    criteria: tuple[Criterion, ...]
    only: tuple[str, ...] = ()
    user_simulator: UserOptions | None = None
    environment: EnvironmentOptions | None = None


def plan_cases(wanted: Sequence[LoadedSet]) -> list[PlannedCase]:
    """Return all cases in file order, chosen or not; ids that several sets share are told apart by the set's."""
    ids = _unique_ids(wanted)
    todo: list[PlannedCase] = []
    for one in wanted:
        for case in one.eval_set.cases:
            todo.append(PlannedCase(len(todo), ids[len(todo)], case, one.criteria, one.eval_set.id))
    return todo


def select_cases(todo: list[PlannedCase], wanted: Sequence[LoadedSet], only: Sequence[str] = ()) -> list[PlannedCase]:
    """Return the cases whose id matches a glob of `only`, and of their own set's.

    Raises UsageError for a glob that matches nothing.
    """
    if not only and not any(one.only for one in wanted):
        return todo
    _check_globs(only, [(work.case.id, work.id) for work in todo])
    own: list[tuple[str, ...]] = []
    for one in wanted:
        _check_globs(one.only, [(case.id, case.id) for case in one.eval_set.cases])
        own += [one.only] * len(one.eval_set.cases)
    return [
        work
        for work, globs in zip(todo, own, strict=True)
        if _matches((work.case.id, work.id), only) and _matches((work.case.id,), globs)
    ]


def _unique_ids(wanted: Sequence[LoadedSet]) -> list[str]:
    plain = [case.id for one in wanted for case in one.eval_set.cases]
    if len(set(plain)) == len(plain):
        return plain
    shared = Counter(plain)
    sets = (one.eval_set.id for one in wanted for _ in one.eval_set.cases)
    long = [
        case_id if shared[case_id] == 1 else f"{set_id}:{case_id}" for set_id, case_id in zip(sets, plain, strict=True)
    ]
    counts, seen = Counter(long), Counter[str]()
    unique: list[str] = []
    for name in long:
        seen[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}#{seen[name]}")
    return unique


def _matches(names: Sequence[str], globs: Sequence[str]) -> bool:
    return not globs or any(fits(name, glob) for name in names for glob in globs)


def _check_globs(globs: Sequence[str], names: Sequence[tuple[str, str]]) -> None:
    for glob in globs:
        if not any(_matches(pair, [glob]) for pair in names):
            known = nearest(glob, [name for name, _ in names]) or f"; there are {len(names)} cases"
            raise UsageError(f"no case matches {glob!r}{known}")

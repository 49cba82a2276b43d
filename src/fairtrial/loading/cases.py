"""Which cases does a run have, and how do reports call them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairtrial.errors import UsageError, nearest
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalSet
from fairtrial.records.keys import digest
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
    """Return all cases in file order, before any selection."""
    names = _names(wanted)
    planned: list[PlannedCase] = []
    for loaded in wanted:
        for case in loaded.eval_set.cases:
            position = len(planned)
            set_id = loaded.eval_set.id
            planned.append(PlannedCase(position, names[position], case, loaded.criteria, set_id, digest(case)))
    return planned


def select_cases(todo: list[PlannedCase], wanted: Sequence[LoadedSet], only: Sequence[str] = ()) -> list[PlannedCase]:
    """Return the cases whose id or name matches a glob of `only`, and whose id matches a glob of their own set.

    Raises UsageError for a glob that matches nothing.
    """
    if not only and not any(loaded.only for loaded in wanted):
        return todo
    check_globs(only, [(work.case.id, work.name) for work in todo])
    own_globs: list[tuple[str, ...]] = []
    for loaded in wanted:
        check_globs(loaded.only, [(case.id, case.id) for case in loaded.eval_set.cases])
        own_globs += [loaded.only] * len(loaded.eval_set.cases)
    return [
        work
        for work, globs in zip(todo, own_globs, strict=True)
        if matches((work.case.id, work.name), only) and matches((work.case.id,), globs)
    ]


def _names(wanted: Sequence[LoadedSet]) -> list[str]:
    """Return a name for each case that no other case of the run has.

    The name of the case `a` is `a`. If the sets `s` and `t` both have a case `a`, the names are `s:a` and `t:a`; if the
    set `s` is there twice, they are `s:a#1` and `s:a#2`.
    """
    ids = [case.id for loaded in wanted for case in loaded.eval_set.cases]
    if len(set(ids)) == len(ids):
        return ids
    id_counts = Counter(ids)
    sets = (loaded.eval_set.id for loaded in wanted for _ in loaded.eval_set.cases)
    qualified = [
        case_id if id_counts[case_id] == 1 else f"{set_id}:{case_id}" for set_id, case_id in zip(sets, ids, strict=True)
    ]
    counts, seen = Counter(qualified), Counter[str]()
    names: list[str] = []
    for name in qualified:
        seen[name] += 1
        names.append(name if counts[name] == 1 else f"{name}#{seen[name]}")
    return names


def matches(names: Sequence[str], globs: Sequence[str]) -> bool:
    """Whether a glob fits one of the names of a case; without globs every case matches."""
    return not globs or any(fits(name, glob) for name in names for glob in globs)


def check_globs(globs: Sequence[str], names: Sequence[tuple[str, str]]) -> None:
    """Raise UsageError for a glob that fits the id and the name of no case."""
    for glob in globs:
        if not any(matches(pair, [glob]) for pair in names):
            known = nearest(glob, [name for name, _ in names]) or f"; there are {len(names)} cases"
            raise UsageError(f"no case matches {glob!r}{known}")

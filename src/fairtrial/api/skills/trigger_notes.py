"""The sentences about the use of skills: how often one fires when it should, and which one is used instead."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.variants import SIGN, select_variant, variants_in
from fairtrial.metrics.skill_use import used_skills
from fairtrial.records.summary import Estimate, SkillUse
from fairtrial.reports.numbers import interval, rate
from fairtrial.reports.skill_uses import name_variant
from fairtrial.stats.interval import bounded_interval
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import MeasuredRun
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase

TRIGGER = "skill_trigger_v1"
_WITH, _WITHOUT, _OLD = "with", "without", "old"
_MOST_LISTED = 5
_LONGEST_NAME = 64


def trigger_notes(run: MeasuredRun, cases: Mapping[int, EvalCase]) -> Iterator[str]:
    """Yield how often a skill fires when it should, and stays quiet when it should, with intervals over queries."""
    if TRIGGER not in run.columns:
        return
    skills: Sequence[str] = run.info.config.get("skills") or ()
    for variant in variants_in(run):
        if variant == _WITHOUT:
            continue
        part = select_variant(run, variant)
        queries: dict[str, list[_Query]] = defaultdict(list)
        for place, position in enumerate(part.positions):
            sample, case = part.columns[TRIGGER].sample(place), cases.get(position)
            workspace = None if case is None else case.workspace
            if case is None or sample is None or workspace is None or workspace.triggers is None:
                continue
            category = shorten(str(case.groups.get("category", "")), _LONGEST_NAME)
            own = _Query(part.keys[place].case, workspace.triggers, sample.mean, category)
            queries[workspace.skill if len(skills) > 1 else ""].append(own)
        for skill, own_queries in queries.items():
            beside = f"{skill}, beside " if skill and skill != skills[0] else f"{skill} with " if skill else ""
            name = skill if skill and variant == _WITH else f"{beside}{name_variant(variant)}"
            yield from _rate_notes(name, own_queries)


class _Query(NamedTuple):
    """A query: whether it should trigger, the share of its attempts that were right, and its category."""

    case: str
    triggers: bool
    share: float
    category: str


_SIDES = (
    (True, "fires", "that should", "sensitivity"),
    (False, "stays quiet", "that should not fire", "specificity"),
)


def _rate_notes(name: str, queries: Sequence[_Query]) -> Iterator[str]:
    sentences = [
        _share([own.share for own in queries if own.triggers == side], phrase, kind, measure)
        for side, phrase, kind, measure in _SIDES
    ]
    yield f"{name}: {'; '.join(filter(None, sentences))}"
    wrong = [f"{own.case} ({rate(own.share)} right)" for own in queries if own.share < 1]
    if wrong:
        yield f"{name}: wrong on {_queries(len(wrong))}: {name_list(wrong)}"
    for side, phrase, kind, _ in _SIDES:
        shares: dict[str, list[float]] = defaultdict(list)
        for own in queries:
            if own.triggers == side:
                shares[own.category or "without a category"].append(own.share)
        if len(shares) > 1:
            worst_first = sorted(shares.items(), key=lambda pair: sum(pair[1]) / len(pair[1]))
            parts = [f"{category} {_share(values)}" for category, values in worst_first]
            yield f"{name}: {phrase} on queries {kind}, by category: {name_list(parts)}"


def _share(values: Sequence[float], phrase: str = "", kind: str = "", measure: str = "") -> str:
    """Return the mean of shares with its interval over queries. With a phrase it is a clause: "fires on 90 % of …"."""
    if not values:
        return ""
    mean = sum(values) / len(values)
    ends = bounded_interval(values)
    ends_text = "no interval from one query"
    if ends is not None:
        ends_text = interval(Estimate(mean, *ends), percent=True)
    share = f"{rate(mean)} of {_queries(len(values))}"
    return f"{phrase} on {share} {kind} ({measure}, {ends_text})" if phrase else f"{share} ({ends_text})"


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number:,} queries"


def name_list(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    rest = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + rest


class SkillUses:
    """A table of confusion: the skill that a query asks for, and the skills that the attempts at it used.

    `skills` are the skills under test. A query that should trigger none of them asks for an empty name.
    """

    def __init__(self, skills: Sequence[str], cases: Mapping[int, EvalCase]) -> None:
        self._skills, self._cases = skills, cases
        self._targets: dict[str, str] = {}
        for case in cases.values():
            if case.workspace is not None and case.workspace.triggers and (prompt := _prompt(case)):
                self._targets[prompt] = case.workspace.skill
        self._rows: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._foreign_skills: set[str] = set()

    def add(self, position: int, recording: Recording) -> None:
        """Count an attempt at a query. A query that the file of another skill asks for, too, asks for that skill."""
        case, trace = self._cases.get(position), recording.trace
        own = None if case is None else case.workspace
        if case is None or own is None or own.triggers is None or own.variant == _WITHOUT:
            return
        if trace.broken or trace.incomplete or recording.failure is not None:
            return
        names = sorted({shorten(name, _LONGEST_NAME) for name in used_skills(trace)})
        self._foreign_skills.update(set(names) - {*self._skills, own.skill})
        target = own.skill if own.triggers else self._targets.get(_prompt(case), "")
        variant = recording.eval_set.rpartition(SIGN)[2]
        self._rows[variant][target][" + ".join(names[:_MOST_LISTED])] += 1

    def rows(self) -> Iterator[SkillUse]:
        """Yield the rows, if skills compete, or if an attempt used a skill that is not under test."""
        if len(self._skills) < 2 and not self._foreign_skills:
            return
        for variant, rows in self._rows.items():
            for target in sorted(rows, key=lambda own: (not own, own)):
                yield SkillUse(variant, target, dict(rows[target].most_common()))


def _prompt(case: EvalCase) -> str:
    return case.conversation[0].query if case.conversation else ""

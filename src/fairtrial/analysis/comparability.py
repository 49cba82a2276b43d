"""Comparability checks: a measure that two runs took in different ways has no difference to report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from fairtrial.analysis.judged_claims import why_judges_forbid
from fairtrial.analysis.measured_run import CASE_RATE, Measure, MeasuredRun
from fairtrial.analysis.paired_runs import PairedRuns, shorten_names
from fairtrial.text.display import compact, count, shorten

if TYPE_CHECKING:
    from fairtrial.records.gate import Claim
    from fairtrial.records.record import Json

WEIGHTED_BY_PEOPLE = "the numbers that people would give do not weigh conversations by their sampling probabilities"
_MOST = 3
_SHORT = 60
_NESTING = ("options", "panel", 0)
"""Keys of signatures that say nothing to a reader. For example, the first model of a panel is the judge."""


def why_not_comparable(runs: PairedRuns, measure: Measure) -> str:
    """Return how a measure was taken differently in two runs, or an empty string if it was not.

    A criterion differs by its options, code, threshold, judge or prompts. `cases` rests on every criterion that has a
    threshold, and `cases:pass` on the rules and the numbers of attempts, too.
    """
    if name := runs.sampled_apart():
        return f"not comparable: the runs sampled {shorten(name, _SHORT)} with different probabilities"
    if measure.criterion:
        differences = list(_criterion_differences(runs, measure.criterion))
    else:
        gating = {
            criterion.name: None for run in (runs.base, runs.candidate) for criterion in run.criteria if criterion.gates
        }
        differences = [f"{name} {text}" for name in gating for text in _criterion_differences(runs, name)]
    if measure.name == CASE_RATE:
        differences += _attempt_differences(runs)
    return f"not comparable: {'; '.join(differences[:_MOST])}" if differences else ""


def _criterion_differences(runs: PairedRuns, criterion: str) -> Iterator[str]:
    """Yield how the signatures of a criterion differ in the eval sets of the shared cases."""
    if not any(_applies(runs, criterion, side) for side in (0, 1)):
        return
    sets = {(runs.base.keys[ours].eval_set, runs.candidate.keys[theirs].eval_set): 0 for ours, theirs in runs.positions}
    texts: dict[str, None] = {}
    for base_set, candidate_set in sets:
        before, after = (
            _signatures(runs.base, criterion, base_set),
            _signatures(runs.candidate, criterion, candidate_set),
        )
        for base_signature, signature in zip_longest(before, after):
            for option, value, other_value in options_that_differ(base_signature, signature):
                texts[_describe_change(option, value, other_value)] = None
    yield from texts


def _describe_change(option: str, before: str, after: str) -> str:
    """Return a change of an option. The digest of a source tells a reader only that the code changed."""
    if option.split()[-1:] == ["source"]:
        return "code changed"
    return _from_to(option or "options", before, after)


def _applies(runs: PairedRuns, criterion: str, side: int) -> bool:
    """Return whether a shared case has, or lacks, a value of a criterion."""
    column = (runs.base, runs.candidate)[side].columns.get(criterion)
    return column is not None and any(
        column.missing(pair[side]) or column.sample(pair[side]) is not None for pair in runs.positions
    )


def _signatures(run: MeasuredRun, criterion: str, eval_set: str) -> list[Json]:
    """Return the signatures of a criterion in eval sets with an id, in an order that files do not change.

    If eval sets differ in a criterion, the later ones have a signature with a name of their own. Several of them may
    share an id.
    """
    signatures, longer = run.info.signatures, f"{eval_set}/{criterion}"
    own = [signature for name, signature in signatures.items() if name == longer or name.startswith(f"{longer} ")]
    if not own or (run.info.config.get("eval_set_ids") or []).count(eval_set) > 1:
        own.append(signatures.get(criterion))
    return sorted(own, key=compact)


def _from_to(name: str, before: object, after: object) -> str:
    return f"{name} changed from {before} to {after}"


def _attempt_differences(runs: PairedRuns) -> Iterator[str]:
    """Yield how the rules of attempts, and the numbers of attempts, differ at the shared cases."""
    if rules := rules_that_differ(runs):
        yield _from_to("rule of attempts", *rules)
    for ours, theirs in runs.positions:
        before, after = runs.base.attempts_at(ours), runs.candidate.attempts_at(theirs)
        if before != after:
            yield _from_to(f"attempts at {shorten(runs.base.names[ours], _SHORT)}", before, after)
            return


def rules_that_differ(runs: PairedRuns) -> tuple[str, str] | None:
    """Return both rules of attempts of the first shared case whose rules differ, or None."""
    rules = (runs.base.info.attempt_rules, runs.candidate.info.attempt_rules)
    for ours, theirs in runs.positions:
        keys = (runs.base.keys[ours], runs.candidate.keys[theirs])
        before, after = (rule.find_rule(key.eval_set, key.case) for rule, key in zip(rules, keys, strict=True))
        if before != after:
            return str(before), str(after)
    return None


def options_that_differ(base: Json, candidate: Json, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the options in which two signatures differ, each with its path and both values as short texts.

    For example, `judge votes`, `3`, `5`.
    """
    if base == candidate:
        return
    before, after = _items(base), _items(candidate)
    if before is None or after is None or type(base) is not type(candidate):
        yield path, _text(base), _text(candidate)
        return
    for key in {**before, **after}:
        inner = path if key in _NESTING else f"{path} {key}".strip()
        yield from options_that_differ(before.get(key), after.get(key), inner)


def _items(value: Json) -> dict[Any, Json] | None:
    """Return the items of an object or of a list by their keys, or None for other values."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else None


def _text(value: Json) -> str:
    return "absent" if value is None else shorten(value if isinstance(value, str) else compact(value), _SHORT)


def undecidable(
    runs: PairedRuns | None, run: MeasuredRun, claim: Claim, *, has_limits: bool = True, even_so: bool = False
) -> list[str]:
    """Return why more cases and attempts could not decide a claim: what differs, and which judge cannot be believed.

    `has_limits` says that there are limits as people would see them, if they have the last word.
    """
    measure = run.measures[claim.measure]
    problems = []
    if runs is not None:
        problems.append("" if even_so else why_not_comparable(runs, measure))
        if not claim.shared_cases:
            problems += _other_population(runs)
    members = [run] if runs is None else [runs.base, run]
    problems.append(why_judges_forbid(members, measure, has_limits=has_limits))
    return [problem for problem in problems if problem]


def attempts_until_decided(runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """Yield which runs made attempts until their claims were decided. Later claims about them have no known error.

    For example, a run that stops at its first lucky moment passes too often.
    """
    for run in runs:
        if "until_decided" in run.info.config:
            yield (
                f"run {run.info.id} made attempts until its claims were decided, so nobody chose their number before; "
                "its own decision holds, and any other needs a run with a fixed number of attempts"
            )


def _other_population(runs: PairedRuns) -> Iterator[str]:
    """Yield which cases are not the same ones in both runs. A case that only the base has counts as missing."""
    for problem, names in (("edited", runs.changed), ("of the same id as others", runs.ambiguous)):
        if names:
            verb = "is" if len(names) == 1 else "are"
            shown = shorten_names(names)
            yield f"{count(len(names), 'case')} {verb} {problem} ({shown}), so the runs are about other cases"


def pairing_warnings(runs: PairedRuns | None) -> Iterator[str]:
    """Yield why the pairs of two runs are not sure."""
    if runs is not None and runs.without_digest:
        yield (
            f"{runs.without_digest} cases are paired by their id alone, because a run does not hold the digest of "
            "their expectation"
        )

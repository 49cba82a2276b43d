"""The failure modes of a run for people: the list of modes, the attempts of one mode, and the changes between runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import interval, number, rate
from fairtrial.reports.rows import INTERVAL, Name, Rows
from fairtrial.reports.small_tables import WIDE, TableNumber, describe_reach, describe_table, write_paragraph
from fairtrial.reports.terminal_text import signature_line
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.several import fewest_changes
from fairtrial.text.display import DASH, count, shorten, visible_line
from fairtrial.text.languages import say, say_count
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import (
        FailedAttempt,
        FailureMode,
        Failures,
        GuardCheck,
        ModeChange,
        ModeChanges,
        SharedFeature,
    )

MOST_MODES = 20
"""The most modes that a list shows."""
MOST_ATTEMPTS = 50
_LARGEST = 3
_STEP = "step{at}"
"""The key of a title that reads "step": a step of a series has another word in other languages."""


def failures_report(failures: Failures, *, show: str = "") -> RenderableType:
    """Return the modes of a run, those that repairing wins most first. `show` is the command that lists a mode."""
    if not failures.failed_attempts:
        return Group(Text(f"No attempt of run {failures.run} failed."), *_notes(failures.notes))
    rows = Rows(("failure mode", "attempts", "of failures", INTERVAL, "cases", "repaired", Name(say(_STEP, at=""))))
    for mode in failures.modes[:MOST_MODES]:
        rows.add(
            f"{mode.number}  {say_sentence(mode.name)}",
            f"{mode.attempts:,}",
            rate(mode.of_failures.value),
            interval(mode.of_failures, percent=True) or DASH,
            f"{mode.cases:,}",
            f"{mode.repaired:,}",
            DASH if mode.median_step is None else number(mode.median_step),
        )
    lines: list[RenderableType] = [Text(head_line(failures), "bold"), Text("")]
    if failures.modes:
        lines += [rows, *write_paragraph(describe_shares(failures)), Text("")]
    if len(failures.modes) > MOST_MODES:
        lines.append(Text(f"… and {len(failures.modes) - MOST_MODES} more modes; --json FILE lists them all", "dim"))
    lines += [Text(visible_line(line)) for mode in failures.modes[:MOST_MODES] for line in shared_lines(mode)]
    lines += [Text(line) for line in summary_lines(failures)]
    if show and failures.modes:
        lines.append(Text(f"`{show} --mode {failures.modes[0].number}` lists the attempts of a mode", "dim"))
    return Group(*lines, *_notes(failures.notes), signature_line(failures.signature))


def describe_shares(failures: Failures) -> str:
    """Return the sentence about the shares of the modes, if their table is small."""
    return describe_table(_mode_shares(failures))


def _mode_shares(failures: Failures) -> Iterator[TableNumber]:
    sample = count(failures.failed_attempts, "failed attempt")
    for mode in failures.modes[:MOST_MODES]:
        yield TableNumber(f"the share of mode {mode.number}", sample, mode.of_failures, "such failures occur")


def head_line(failures: Failures) -> str:
    """Return how many attempts and cases failed."""
    cases = f"{failures.failed_cases:,} of {count(failures.cases, 'case')}"
    return f"{failures.failed_attempts:,} of {count(failures.attempts, 'attempt')} failed, in {cases}"


def summary_lines(failures: Failures) -> Iterator[str]:
    """Yield the meaning of columns, and the numbers of attempts without a mode or without a decisive step."""
    if failures.modes:
        yield "repaired: the cases that would pass without this mode. step: the median place of the decisive step."
    if failures.alone:
        yield f"{count(failures.alone, 'failed attempt')} alone: no other attempt failed in the same way"
    if failures.unplaced:
        yield f"{count(failures.unplaced, 'failed attempt')} without a decisive step: nothing known says where"
    yield from named_lines(failures)
    yield from judged_lines(failures)
    if failures.tried and not any(mode.shared for mode in failures.modes):
        yield f"{failures.tried:,} properties tried: none tells the failures of a mode from passes (q at most 0.1)"


def named_lines(failures: Failures) -> Iterator[str]:
    """Yield the names that people gave to failures, each with its estimated share of all of them."""
    for own in failures.names:
        ends = interval(own.share, percent=True)
        mode = f" (mode {own.mode})" if own.mode is not None and not own.judged else ""
        yield visible_line(
            f"people: '{own.name}'{mode}: {own.attempts:,} of {failures.labels:,} read; "
            f"estimated {rate(own.share.value)}{f' ({ends})' if ends else ''} "
            f"of the {count(failures.failed_attempts, 'failed attempt')}"
        )


def judged_lines(failures: Failures) -> Iterator[str]:
    """Yield the assignments of a judge, apart from the counts of evidence."""
    own = failures.judged
    if own is None:
        return
    yield (
        f"judge: {own.assigned:,} of {count(own.questions, 'failed attempt')} without a mode assigned by vote and "
        f"quote, {count(own.calls, 'call')}; the counts above are of evidence alone"
    )
    if own.proposed:
        yield f"judge: {own.confirmed:,} of {count(own.proposed, 'proposed name')} confirmed by votes on examples"
    for mode in failures.modes:
        if mode.judged_name:
            yield f"judge: mode {mode.number} ({mode.name}) is named '{mode.judged_name}'"
        if mode.judged:
            yield f"judge: mode {mode.number} ({mode.name}): {count(mode.judged, 'more attempt')}"
    for name in failures.names:
        if name.judged:
            yield f"judge: '{name.name}' means mode {name.mode}"


def shared_lines(mode: FailureMode) -> Iterator[str]:
    """Yield the properties that the failures of a mode share and passes do not."""
    for own in mode.shared:
        yield f"mode {mode.number} and {describe_shared(own)}"


def describe_shared(own: SharedFeature) -> str:
    """Return a property with both rates, their difference and its q value."""
    ends = interval(Estimate(own.difference, own.low, own.high), percent=True)
    rates = f"{rate(own.failures)} of its cases, {rate(own.passes)} of the cases that passed"
    return f"'{own.feature}': {rates}; difference {ends}, q {number(own.q)}"


def _notes(notes: Sequence[str]) -> Iterator[RenderableType]:
    return (Text(visible_line(note), "yellow") for note in notes)


def mode_report(failures: Failures, number_of_mode: int) -> RenderableType:
    """Return a mode with its attempts: where each went wrong, and why. Raises KeyError if there is no such mode."""
    mode = failures.mode(number_of_mode)
    members = [own for own in failures.failed if own.mode == number_of_mode]
    share = f"{rate(mode.of_failures.value)} of all failures ({interval(mode.of_failures, percent=True) or DASH})"
    lines: list[RenderableType] = [
        Text(f"{mode.number}  {say_sentence(mode.name)}", "bold"),
        *([Text(visible_line(f"named by the judge: {mode.judged_name}"))] if mode.judged_name else []),
        Text(f"{count(mode.attempts, 'attempt')} in {count(mode.cases, 'case')}, {share}; side at fault: {mode.side}"),
        Text(f"{count(mode.repaired, 'case')} would pass if it was repaired"),
        Text(f"to read first: {', '.join(_example(own) for own in mode.examples)}"),
        *(Text(visible_line(line)) for line in shared_lines(mode)),
        Text(""),
    ]
    for own in members[:MOST_ATTEMPTS]:
        lines += _attempt(own)
    for own in failures.failed:
        if own.judged_mode == number_of_mode:
            lines += [Text(visible_line(f"assigned by the judge, which quotes {own.judged_quote!r}"), "dim")]
            lines += _attempt(own)
    if len(members) > MOST_ATTEMPTS:
        lines.append(Text(f"… and {len(members) - MOST_ATTEMPTS:,} more; --json FILE lists them all", "dim"))
    return Group(*lines)


def _example(own: tuple[str, int]) -> str:
    return visible_line(say("{name} (attempt {n})", name=own[0], n=own[1]))


def _attempt(own: FailedAttempt) -> Iterator[RenderableType]:
    yield Text(visible_line(own.case + say("  attempt {n}", n=own.attempt)), "bold")
    yield Padding(Text(visible_line(decisive_line(own))), (0, 0, 0, 4))
    if own.step is not None and own.step.text:
        yield Padding(Text(visible_line(f"{own.step.kind}: {shorten(own.step.text, 200)}"), "dim"), (0, 0, 0, 4))


def decisive_line(own: FailedAttempt) -> str:
    """Return the place and the reason of a failed attempt."""
    return own.reason if own.step is None else f"{own.step.place}: {own.reason}"


def largest_modes(failures: Failures) -> list[FailureMode]:
    """Return the three modes with the most attempts."""
    return sorted(failures.modes, key=lambda mode: (-mode.attempts, mode.number))[:_LARGEST]


def largest_report(failures: Failures, command: str) -> RenderableType:
    """Return the three largest modes of a run, and the command that shows all of them. Empty without a mode."""
    if not failures.modes:
        return Group()
    lines = [Text(f"  {mode.number}  {say_sentence(mode.name)}: {_counts(mode)}") for mode in largest_modes(failures)]
    title = (say("Largest failure modes"), "bold")
    return Group(Text(""), Text.assemble(title, (say("  `{command}` shows all", command=command), "dim")), *lines)


def _counts(mode: FailureMode) -> str:
    attempts, cases = say_count(mode.attempts, "attempt"), say_count(mode.cases, "case")
    return say("{attempts} in {cases}", attempts=attempts, cases=cases)


def guard_report(check: GuardCheck, path: str) -> RenderableType:
    """Return the verdicts of a guard on the attempts of the run from which it was made."""
    head = f"{path}: {check.criterion}"
    if check.judged:
        return Text(visible_line(f"{head} needs a judge, so it was not tried; `fairtrial judge check` examines one"))
    caught = f"catches {check.caught:,} of {count(check.members, 'attempt')} of the mode{_ends(check.sensitivity)}"
    spared = f"{path}: no attempt that passed is there to try it on, so its false alarms are not known"
    if check.passes:
        alarms = f"fails {check.alarms:,} of {count(check.passes, 'attempt')} that passed"
        spared = f"{path}: it {alarms}; specificity {rate(check.specificity.value)}{_ends(check.specificity)}"
    lines = (f"{head} {caught}", spared, *_labelled_lines(check, path))
    return Group(*(Text(visible_line(line)) for line in lines))


def _labelled_lines(check: GuardCheck, path: str) -> Iterator[str]:
    if check.labels:
        caught, spared = check.labelled_sensitivity, check.labelled_specificity
        yield (
            f"{path}: against {count(check.labels, 'label')} of people: sensitivity {rate(caught.value)}"
            f"{_ends(caught)}, specificity {rate(spared.value)}{_ends(spared)} among failed attempts"
        )


def _ends(estimate: Estimate) -> str:
    ends = interval(estimate, percent=True)
    return f" ({ends})" if ends else ""


def changes_report(changes: ModeChanges) -> RenderableType:
    """Return how the modes changed between two runs. Modes that chance may have changed are counted in one line."""
    head = f"{changes.run} against {changes.earlier}, {count(changes.cases, 'case')} in both"
    lines: list[RenderableType] = [Text(visible_line(head), "bold"), Text("")]
    changed = [own for own in changes.changes if own.change != "unchanged"]
    rows = Rows(("failure mode", "change", "cases before", "now", "difference", INTERVAL, "p"))
    for own in changed:
        ends = interval(Estimate(own.difference, own.low, own.high), percent=True)
        cells = (f"{own.cases_before:,}", f"{own.cases_now:,}", rate(own.difference), ends, number(own.p))
        rows.add(say_sentence(change_name(own)), own.change, *cells)
    lines += [rows, Text("")] if changed else []
    same = len(changes.changes) - len(changed)
    lines.append(Text(f"{count(same, 'mode')} without a change that chance does not explain"))
    lines += write_paragraph(limit_changes(changes))
    return Group(*lines, *_notes(changes.notes), signature_line(changes.signature))


def limit_changes(changes: ModeChanges) -> str:
    """Return the sentence about the reach of few cases. The least p is that of cases that all change in one way."""
    if not changes.cases or all(own.high - own.low <= WIDE for own in changes.changes):
        return ""
    return describe_reach(changes.cases, fewest_changes(1 - LEVEL, mid_p=False))


def change_name(own: ModeChange) -> str:
    """Return the name of a mode with its number in this run."""
    return own.name if own.number is None else f"{own.number}  {own.name}"

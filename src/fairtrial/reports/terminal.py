"""The report of a run for people: the failed attempts with their reasons, and the numbers with their intervals."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairtrial.records.result import CaseResult, InvocationInjection, Outcome, Verdict
from fairtrial.records.score import Score, settle
from fairtrial.reports.attempts import CaseAttempts, attempts
from fairtrial.reports.numbers import beside, quantity, with_unit
from fairtrial.reports.outcome_lines import outcome_lines
from fairtrial.reports.spending import spending_lines
from fairtrial.reports.summary_table import MARKS, closing, notes, tables
from fairtrial.reports.terminal_layout import Indented, marked_line
from fairtrial.reports.transcript import Transcript
from fairtrial.reports.transcript_lines import Line, fold_middle, transcript_lines
from fairtrial.text.display import shorten, visible, visible_line
from fairtrial.text.languages import say, say_count
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.attempt import Failure
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import Summary

LISTED = 200
"""Up to this number of attempts, a report lists each of them. Of a larger run it lists those that did not pass."""
DETAILED = 50
"""A report of a large run lists at most this number of attempts."""
_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)


def print_report(
    console: Console,
    info: RunInfo,
    summary: Summary,
    cases: Iterable[CaseAttempts],
    *,
    calibrations: Sequence[Calibration] = (),
    everything: bool = False,
    verbose: bool = False,
    full: bool = False,
    show: str = "",
    find_transcript: Callable[[CaseResult], Transcript] = Transcript,
) -> None:
    """Print the cases in file order, then the summary, then the verdict.

    A case that passed is one line, and a case that did not pass shows the conversations of its attempts. `verbose`
    opens every case. Of a run with more than 200 attempts, only cases with attempts that did not pass are printed, and
    at most 50 attempts. `everything` prints all attempts of such a run. Otherwise `cases` may omit cases that passed.
    `show` is the command that shows the run again, or empty if there is none. `find_transcript` returns the
    conversation of an attempt.
    """
    large = sum(summary.cases.values()) > LISTED and not everything
    errors: Counter[Failure] = Counter()
    printed = hidden = 0
    for shown_case in cases:
        problems = sum(result.verdict not in _GREEN for result in shown_case.results)
        if large and (not problems or printed >= DETAILED):
            hidden += problems
            continue
        printed += problems
        command = f"{show} {shlex.quote(visible_line(shown_case.results[0].title))}" if show else ""
        hint = say("`{command}` shows them", command=command) if show else say("--json FILE holds them all")
        for line in _case_lines(shown_case, find_transcript, errors, verbose=verbose, full=full, hint=hint):
            console.print(line)
    for line in _frequent_errors(errors):
        console.print(line)
    if hidden:
        hint = say("`{command}` lists them all", command=f"{show} --all") if show else say("--json FILE holds them all")
        console.print(Text(say("… and {n} more that did not pass; {hint}", n=f"{hidden:,}", hint=hint), "dim"))
    console.print(tables(summary, calibrations))
    console.print(notes(summary))
    console.print(closing(info, summary, show=show))


def _case_lines(
    attempts: CaseAttempts,
    find_transcript: Callable[[CaseResult], Transcript],
    errors: Counter[Failure],
    *,
    verbose: bool,
    full: bool,
    hint: str,
) -> Iterator[RenderableType]:
    """Yield the attempts of a case. `errors` counts the errors so far: an error is shown in full once."""
    several = len(attempts.results) > 1
    is_green = attempts.verdict in _GREEN
    first_attempts: dict[Hashable, int] = {}
    if several:
        yield _case_head(attempts)
    for result in attempts.results:
        if result.failure is not None and not verbose:
            error = replace(result.failure, traceback="")
            errors[error] += 1
            if errors[error] > 1:
                yield _head(result, *_remarks(result), (say("  the same error"), "dim"), several=several)
                continue
        if verbose or (not is_green and result.verdict not in _GREEN):
            transcript = find_transcript(result)
            first_attempt = result.attempt
            if several and not verbose:
                first_attempt = first_attempts.setdefault(_essence(transcript), first_attempt)
            if first_attempt != result.attempt:
                remark = say("  the same as attempt {n}", n=first_attempt)
                yield _head(result, *_remarks(result), (remark, "dim"), several=several)
            else:
                yield case(transcript, several=several, full=full, hint=hint)
        elif not (several and is_green) or _has_remarks(result):
            yield green_case(result, several=several)


def _essence(transcript: Transcript) -> Hashable:
    """Return a key that two attempts share if their deciding scores, remarks and conversations are equal."""
    result = transcript.result
    deciding = tuple(
        (own.criterion, own.verdict, repr(own.score)) for own in result.outcomes if own.threshold is not None
    )
    remarks = repr((result.fault, result.invalidations, result.warnings, result.injections))
    return result.verdict, deciding, remarks, tuple(transcript_lines(transcript, full=True))


def _frequent_errors(errors: Counter[Failure]) -> Iterator[RenderableType]:
    """Yield a line for each error of several attempts, with their number."""
    for error, number in errors.most_common():
        if number > 1:
            cause = shorten(visible_line(error.cause), 200)
            text = f"{say(error.side)}: {cause}"
            attempts = say_count(number, "attempt")
            yield Text(say("{attempts} ended with the same error: {error}", attempts=attempts, error=text), "magenta")


def _case_head(attempts: CaseAttempts) -> RenderableType:
    """Return the line of a case with several attempts: its verdict, and the rule that made it."""
    verdict = attempts.verdict
    several = say_count(len(attempts.results), "attempt")
    rule = say_sentence(str(attempts.rule))
    counts = say("  {n} of {attempts} passed, needed: {rule}", n=attempts.passed, attempts=several, rule=rule)
    name = (visible_line(attempts.results[0].title), "bold")
    return marked_line(verdict, name, "  ", (say(verdict.value), MARKS[verdict][1]), (counts, "dim"))


def _has_remarks(result: CaseResult) -> bool:
    """Whether an attempt that passed has something to say that a folded line would hide."""
    return bool(result.warnings or result.injections or result.invalidations)


def green_case(result: CaseResult, *, several: bool = False) -> RenderableType:
    """Return an attempt that passed on one line: its verdict, and the values of the criteria that decide.

    If there is a warning, an injection or evidence that it is invalid, these lines stay visible.
    """
    if _has_remarks(result):
        return case(Transcript(result), several=several)
    decide = [outcome for outcome in result.outcomes if outcome.threshold is not None]
    values = ", ".join(
        f"{visible_line(outcome.criterion)} {_quantity(outcome)}"
        for outcome in decide or result.outcomes
        if outcome.score.value is not None
    )
    return _head(result, *_remarks(result), (f"  {values}", "dim"), several=several)


def _quantity(outcome: Outcome) -> str:
    """Return the value of an outcome with its unit, with the digits that it needs beside its threshold."""
    return with_unit(outcome.criterion, beside(outcome.score.value, outcome.threshold))


def case(
    transcript: Transcript,
    *,
    several: bool = False,
    everything: bool = False,
    full: bool = False,
    criterion: str = "",
    hint: str = "",
    has_head: bool = True,
) -> RenderableType:
    """Return one attempt: its verdict, its criteria, its conversation, and the reason if a criterion did not pass.

    `several` says that the case has several attempts. Then the line contains the number of this attempt. `full` folds
    no text. Without `everything`, a long conversation is folded, and `hint` says how the rest is shown. With
    `criterion`, only that criterion is shown. Without `has_head`, the line of the verdict is left out.
    """
    result = transcript.result
    lines: list[RenderableType] = [_head(result, *_remarks(result), several=several)] if has_head else []
    lines += _invalidations(result)
    if result.failure is not None:
        # If the failure made the attempt invalid, its cause already stands among the invalidations.
        if result.failure.side not in {fault.side for fault in result.invalidations or ()}:
            lines.append(Indented(4, Text(f"{say(result.failure.side)}: {visible(result.failure.cause)}", "magenta")))
        if everything and result.failure.traceback:
            lines.append(Indented(6, Text(visible(result.failure.traceback.rstrip()), "dim")))
    lines += [
        Indented(4, Text(visible_line(say("warning: {warning}", warning=warning)), "yellow"))
        for warning in result.warnings
    ]
    lines += [Indented(4, Text(visible(line), "dim")) for line in _injections(result.injections, everything=everything)]
    lines += _outcomes(transcript, everything=everything, criterion=criterion)
    conversation = transcript_lines(transcript, full=full)
    shown_lines = list(conversation) if everything or full else fold_middle(conversation, hint)
    if shown_lines:
        lines.append(Indented(4, _conversation(shown_lines)))
    if everything:
        lines += [Indented(4, line) for line in spending_lines(result)]
    return Group(*lines)


def _outcomes(transcript: Transcript, *, everything: bool, criterion: str) -> Iterator[RenderableType]:
    """Yield the outcomes. Criteria without a threshold share one line, so that they do not hide those that decide."""
    result = transcript.result
    outcomes = [outcome for outcome in result.outcomes if criterion in ("", outcome.criterion)]
    informational = [outcome for outcome in outcomes if outcome.verdict is Verdict.INFORMATIONAL]
    for outcome in outcomes:
        if everything or criterion or outcome not in informational:
            brief = outcome if result.failure is None else _without_cause(outcome, result.failure.cause)
            # The reasons of a judge stand in the conversation, beside the replies that they are about.
            is_in_conversation = transcript.recording is not None and outcome.judge_stats is not None
            yield Indented(4, outcome_lines(brief, everything=everything, has_reasons=not is_in_conversation))
    values = [
        f"{visible_line(outcome.criterion)} {quantity(outcome.criterion, outcome.score.value)}"
        for outcome in informational
        if outcome.score.value is not None and not everything and not criterion
    ]
    if values:
        yield Indented(4, Text(", ".join(values), "dim"))


def _conversation(lines: Iterable[Line]) -> Table:
    """Return the lines of a conversation with their labels in a column of their own."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(line.label, Text(visible(line.text), line.style))
    return table


def _head(result: CaseResult, *notes: tuple[str, str], several: bool) -> RenderableType:
    attempt = say("  attempt {n}", n=result.attempt) if several or result.attempt > 1 else ""
    name = (visible_line(result.title), "bold")
    return marked_line(
        result.verdict, name, attempt, "  ", (say(result.verdict.value), MARKS[result.verdict][1]), *notes
    )


def _injections(injections: Sequence[InvocationInjection], *, everything: bool) -> list[str]:
    """Return lines about the injections of the environment: each injection, or how often each kind occurred."""
    if everything:
        return [
            f"injected in invocation {entry.invocation}: {entry.tool}: {entry.injected.effect}, {entry.injected.detail}"
            + (" (invalidates the attempt)" if entry.injected.invalidates else "")
            for entry in injections
        ]
    counts = Counter(f"{entry.injected.effect} ({entry.tool})" for entry in injections)
    kinds = [name if times == 1 else f"{times} x {name}" for name, times in counts.items()]
    return [f"injected: {', '.join(kinds)}"] if kinds else []


def _remarks(result: CaseResult) -> Iterator[tuple[str, str]]:
    """Yield the side at fault, "invalid" if an attempt says nothing about the agent, and the cap if it was reached."""
    if result.fault is not None:
        yield say("  fault: {side}", side=say(result.fault.side)), "dim" if result.fault.side == "agent" else "yellow"
    elif result.invalidations:
        yield say("  invalid"), "yellow"
    if result.ended_by == "cap":
        yield say("  (ended by the cap on invocations)"), "dim"


def _invalidations(result: CaseResult) -> Iterator[RenderableType]:
    for fault in result.invalidations or ():
        for text in fault.evidence:
            yield Indented(4, Text(visible_line(f"{say(fault.side)}: {text}"), "yellow"))


def invalid(
    results: Iterable[CaseResult], *, repeated: Collection[int] = (), hidden: int = 0
) -> Iterator[RenderableType]:
    """Yield the evidence against each invalid attempt, for people who can repair the cause.

    `results` may omit valid attempts, if `repeated` contains the positions of the cases with several attempts.
    `hidden` is the number of further invalid attempts.
    """
    is_first = True
    for result, several in attempts(results):
        if result.invalidations:
            if is_first:
                title = say("\ninvalid attempts, which say nothing about the agent until this is repaired")
                yield Text(title, "bold")
            is_first = False
            several_attempts = several or result.position in repeated
            yield Group(_head(result, several=several_attempts), *_invalidations(result))
    if hidden:
        yield Text(say("… and {n} more invalid attempts; --all lists them all", n=f"{hidden:,}"), "dim")


def _without_cause(outcome: Outcome, cause: str) -> Outcome:
    """Return the outcome without the cause of the failure, which is printed once for all criteria."""

    def shorten_reason(score: Score) -> Score:
        return replace(
            settle(score), reason=score.reason.removesuffix(f": {cause}"), parts=tuple(map(shorten_reason, score.parts))
        )

    return replace(outcome, score=shorten_reason(outcome.score))

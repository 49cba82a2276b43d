"""A run as Markdown for a pull request: its verdict, its numbers, their change, and the attempts that did not pass.

The report fits a comment of GitHub and GitLab, which hold 65,536 characters.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.run_comparison import ComparedMeasure, Comparison
from fairtrial.reports.attack_rows import attack_markdown
from fairtrial.reports.attempts import CaseAttempts, by_case
from fairtrial.reports.changed_files import ChangeReader
from fairtrial.reports.decisions.comparison_table import measure_value
from fairtrial.reports.decisions.gate_report import gate_markdown
from fairtrial.reports.decisions.markdown_comparison import change_text, list_flips
from fairtrial.reports.failures.mode_lines import mode_lines
from fairtrial.reports.markdown_text import code_block, code_in_html, code_span
from fairtrial.reports.numbers import format_estimate, interval, with_unit
from fairtrial.reports.short_texts import with_short_texts
from fairtrial.reports.shown_criteria import describe_run, informative
from fairtrial.reports.skill_uses import skill_markdown
from fairtrial.reports.summary_table import MARKS
from fairtrial.reports.terminal import case
from fairtrial.reports.terminal_text import plain_text
from fairtrial.reports.transcript import Transcript
from fairtrial.text.display import DASH, count, shorten

if TYPE_CHECKING:
    from fairtrial.records.attempt import Failure
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import CriterionSummary, Estimate, Summary
    from fairtrial.reports.report_table import ReportedRun, ReportOptions

LARGEST = 60_000
"""The characters of a report."""
LISTED = 20
"""The attempts that did not pass of which the report shows details."""
_PASSING = (Verdict.PASSED, Verdict.INFORMATIONAL)
_ATTEMPT_LENGTH = 5_000
_MOST_CRITERIA = 50
_MOST_REASONS = 10
_REASON_LENGTH = 300
_WIDTH = 100
_SAME_ERROR = "ended with the same error:"


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions) -> None:
    """Write the report. If it would be too long, it is cut by whole attempts, and says so."""
    info, summary = run.info, run.summary
    changes = None if options.base_run is None else run.mode_changes(options.base_run)
    attacks = [] if run.attacks is None else attack_markdown(run.attacks)
    modes = mode_lines(run.failure_modes, changes, run.lasting_failure)
    head = "\n".join([*_head(info, summary, options), *attacks, *modes])
    tail = f"\nLook closer: {code_span(options.show or f'fairtrial show {info.id}', _REASON_LENGTH)}\n"
    room = LARGEST - len(head) - len(tail) - _REASON_LENGTH
    rules = info.attempt_rules
    cases = (own for own in by_case(run.cases, rules) if own.results[0].eval_set not in rules.baselines)
    text = f"{head}\n{_failures(cases, summary, room, ChangeReader(run.recordings))}{tail}"
    stream.write(text.encode("utf-8", "backslashreplace"))


def marker(info: RunInfo) -> str:
    """Return the first line of a report. It is the same for all runs of the same eval sets and agent.

    A program that keeps one comment for each pull request finds the comment by this line.
    """
    inputs = [info.config.get(name) for name in ("paths", "against", "agent", "config")]
    digest = hashlib.sha256(json.dumps(inputs, default=str).encode()).hexdigest()[:12]
    return f"<!-- fairtrial {digest} -->"


def _head(info: RunInfo, summary: Summary, options: ReportOptions) -> Iterator[str]:
    verdict = summary.verdict if info.finished is not None else Verdict.UNSCORED
    title = verdict.upper() if info.finished is not None else f"NOT FINISHED, so far {summary.verdict}"
    total = sum(summary.cases.values())
    counts = ", ".join(f"{n:,} {name}" for name, n in summary.cases.items())
    yield marker(info)
    yield f"### {MARKS[verdict][0]} {title}: {count(total, 'attempt')}{f', {counts}' if counts else ''}"
    yield ""
    yield from (f"- {code_span(reason, _REASON_LENGTH)}" for reason in summary.reasons[:_MOST_REASONS])
    yield from (f"- note: {code_span(note, _REASON_LENGTH)}" for note in summary.notes[:_MOST_REASONS])
    if summary.invalid:
        sides = ", ".join(f"{side} {n:,}" for side, n in summary.invalid.items())
        yield f"- {count(sum(summary.invalid.values()), 'attempt')} invalid: {sides}"
    if summary.attempt_rules:
        cases = ", ".join(f"{n:,} {verdict}" for verdict, n in summary.case_verdicts.items())
        total_cases = count(sum(summary.case_verdicts.values()), "case")
        yield f"- {total_cases}: {cases} (needed: {'; '.join(summary.attempt_rules)})"
    yield ""
    if summary.decision is not None:
        yield gate_markdown(summary.decision)
    comparison = options.baseline if isinstance(options.baseline, Comparison) else None
    yield from _table(summary, comparison)
    yield from skill_markdown(summary.skill_uses)
    if comparison is not None:
        yield from list_flips(comparison)
        yield from (f"- {code_span(warning, _REASON_LENGTH)}" for warning in comparison.warnings[:_MOST_REASONS])
    elif options.baseline is not None:
        yield f"Not compared with the baseline: {code_span(str(options.baseline), _REASON_LENGTH)}"


def _table(summary: Summary, comparison: Comparison | None) -> Iterator[str]:
    """Yield a row for each criterion, and with a comparison a first row for the cases that passed."""
    rows = informative(summary)
    if not rows:
        return
    changes = {} if comparison is None else {row.measure: row for row in comparison.rows}
    title = "" if comparison is None else f" change since {code_span(comparison.runs[0].id)} |"
    yield f"| criterion | mean | pass rate |{title}"
    yield f"|---|---|---|{'---|' if comparison else ''}"
    if "cases" in changes:
        yield f"| cases | | {measure_value(changes['cases'], changes['cases'].candidate)} |{_change(changes['cases'])}"
    for row in rows[:_MOST_CRITERIA]:
        cells = (
            code_span(row.criterion),
            _mean(row),
            _estimate(format_estimate(row.pass_rate, percent=True), row.pass_rate),
        )
        yield f"| {' | '.join(cells)} |{_change(changes.get(row.criterion)) if comparison else ''}"
    if len(rows) > _MOST_CRITERIA:
        yield f"\n… and {len(rows) - _MOST_CRITERIA} more criteria"
    yield ""
    if sentence := describe_run(summary, code_span):
        yield from (sentence, "")


def _change(row: ComparedMeasure | None) -> str:
    return f" {DASH if row is None else change_text(row)} |"


def _mean(row: CriterionSummary) -> str:
    ends = interval(row.mean)
    value = with_unit(row.criterion, format_estimate(row.mean, row.threshold))
    return f"{value}{f' ({ends})' if ends else ''}"


def _estimate(value: str, estimate: Estimate) -> str:
    ends = interval(estimate, percent=True)
    return f"{value}{f' ({ends})' if ends else ''}"


def _failures(cases: Iterable[CaseAttempts], summary: Summary, length: int, changes: ChangeReader) -> str:
    """Return the first attempts that did not pass, folded, in at most `length` characters.

    The attempts of a case that passes by its rule are left out. The files that an attempt
    changed stand below its reasons.
    """
    problems = _problems(cases)
    errors: Counter[Failure] = Counter()
    distinct = _distinct(problems, errors)
    parts: list[str] = []
    rest: Iterable[object] = problems
    for result, several in islice(distinct, LISTED):
        part = _attempt(result, changes.at(result), several=several)
        room = len(part) + (_REASON_LENGTH + len(_SAME_ERROR) if result.failure is not None else 0)
        if room > length:
            rest = chain([(result, several)], problems)
            if result.failure is not None and result.verdict is Verdict.ERROR:
                errors[_without_traceback(result.failure)] -= 1
            break
        length -= room
        parts.append(part)
    repeated = {error: number - 1 for error, number in errors.items() if number > 1}
    if more := _count_rest(rest, summary, len(parts) + sum(repeated.values())):
        parts.append(f"\n… and {count(more, 'more attempt')} that did not pass\n")
    for error, number in repeated.items():
        cause = code_span(f"{error.side}: {error.cause}", _REASON_LENGTH)
        parts.append(f"\n- {count(number, 'more attempt')} {_SAME_ERROR} {cause}\n")
    return "".join(parts)


def _distinct(
    problems: Iterable[tuple[CaseResult, bool]], errors: Counter[Failure]
) -> Iterator[tuple[CaseResult, bool]]:
    """Yield problems without attempts that ended with the error of an earlier attempt, which are only counted.

    An attempt that failed a criterion, too, has details of its own.
    """
    for result, several in problems:
        if result.failure is not None and result.verdict is Verdict.ERROR:
            error = _without_traceback(result.failure)
            errors[error] += 1
            if errors[error] > 1:
                continue
        yield result, several


def _without_traceback(failure: Failure) -> Failure:
    """Return an error without its traceback, in which equal errors may differ."""
    return replace(failure, traceback="")


def _problems(cases: Iterable[CaseAttempts]) -> Iterator[tuple[CaseResult, bool]]:
    """Yield the attempts that did not pass of cases that did not pass, and whether a case has several attempts."""
    for attempts in cases:
        if attempts.verdict not in _PASSING:
            for result in attempts.results:
                # By the mean of a criterion, a case may fail although each of its attempts has no problem of its own.
                if result.verdict not in _PASSING or not any(own.verdict not in _PASSING for own in attempts.results):
                    yield result, len(attempts.results) > 1


def _count_rest(problems: Iterable[object], summary: Summary, listed: int) -> int:
    """Return how many problems are not listed. If each case has one attempt, the summary knows without reading on."""
    if sum(summary.cases.values()) == sum(summary.case_verdicts.values()):
        return sum(n for verdict, n in summary.cases.items() if verdict not in _PASSING) - listed
    return sum(1 for _ in problems)


def _attempt(result: CaseResult, changes: str, *, several: bool) -> str:
    number = f", attempt {result.attempt}" if several or result.attempt > 1 else ""
    summary = f"{MARKS[result.verdict][0]} {code_in_html(result.title)}{number}: {result.verdict}"
    blocks = "\n\n".join(filter(None, [code_block(_details(result)), changes]))
    # The blank lines end the block of HTML, so that the fences between them are read as Markdown.
    return f"\n<details><summary>{summary}</summary>\n\n{blocks}\n\n</details>\n"


def _details(result: CaseResult) -> str:
    """Return the criteria of an attempt and their reasons, as a terminal shows them."""
    # The head, which may be several lines long, would repeat the summary of the fold.
    text = plain_text(case(Transcript(with_short_texts(result)), has_head=False), _WIDTH)
    return shorten(text or "nothing else is recorded", _ATTEMPT_LENGTH)

"""A run as JUnit XML, which every CI server can show.

An eval set is a test suite, a case is a class, and a criterion with a threshold is a test. These names stay the same
from run to run, so that a CI server can compare builds. Characters that XML forbids are escaped, also characters that
control a terminal or the direction of writing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from fairtrial.records.result import CaseResult, Fault, Outcome, Verdict
from fairtrial.reports.attack_rows import attack_lines
from fairtrial.reports.attempts import CaseAttempts
from fairtrial.reports.failures.failure_table import decisive_line
from fairtrial.reports.judges.judge_states import describe
from fairtrial.reports.numbers import describe_outcome, format_estimate, interval
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.reports.skill_uses import skill_sentences
from fairtrial.reports.transcript import Transcript, transcripts
from fairtrial.reports.transcript_lines import transcript_lines
from fairtrial.text.display import count, shorten, visible, visible_line
from fairtrial.text.redaction.redact import without_secrets

if TYPE_CHECKING:
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import Summary

_SUITE = "fairtrial"
"""The name of the suite of an eval set without an id, and of the test case of the run itself."""
_IN_MEMORY = 1 << 20
_STEP = 300


class _Test(NamedTuple):
    """One test case: its name, the XML element of its problem, or empty, with its message and text."""

    name: str
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass
class _Counts:
    """The numbers of the tests of a suite, and the seconds of its conversations."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class _Errors:
    """The errors of attempts so far. Their tracebacks may differ."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, results: Iterable[CaseResult]) -> bool:
        """Count the errors of a case, and return whether earlier cases had all of them."""
        own = [(result.failure.side, result.failure.cause) for result in results if result.failure is not None]
        is_known = all(error in self._counts for error in own)
        self._counts.update(own)
        return is_known

    def lines(self) -> Iterator[str]:
        """Yield a line for each error of several attempts."""
        for (side, cause), number in self._counts.most_common():
            if number > 1:
                error = f"{side}: {shorten(visible_line(_shared(cause)), 200)}"
                yield f"{count(number, 'attempt')} ended with the same error: {error}"


@dataclass(frozen=True)
class _About:
    """What the tests of a case need of their run. `steps` are the decisive steps of failed attempts."""

    info: RunInfo
    errors: _Errors
    steps: Mapping[tuple[int, int], str]
    allow_unscored: bool


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:
    """Write a suite for each eval set, with a test for each case and criterion.

    Eval sets that only serve a comparison are left out: a program that reads the file would take them for failures.
    If unscored attempts are allowed, a test without a verdict is skipped instead of an error. The verdict of the run is
    in the output of the last suite. It is a suite of its own only if that suite has a test.
    """
    stream.write(b'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>')
    files, errors, steps = set_files(run.info), _Errors(), _decisive_steps(run)
    baselines = run.info.attempt_rules.baselines
    counted = (transcript for transcript in transcripts(run) if transcript.result.eval_set not in baselines)
    groups = groupby(counted, key=lambda transcript: transcript.result.eval_set)
    group = next(groups, None)
    is_run_alone = _is_run_alone(run.summary, is_empty=group is None)
    while group is not None:
        set_id, of_set = group
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as body:
            suite = _write_cases(body, _About(run.info, errors, steps, options.allow_unscored), of_set)
            group = next(groups, None)
            if group is None and not is_run_alone:
                _write_output(body, run, errors)
            body.seek(0)
            with _testsuite(stream, run.info, set_id or _SUITE, suite, files.get(set_id, "")):
                shutil.copyfileobj(body, stream)
    if is_run_alone:
        _write_run(stream, run, errors, allow_unscored=options.allow_unscored)
    stream.write(b"</testsuites>\n")


def _decisive_steps(run: ReportedRun) -> dict[tuple[int, int], str]:
    """Return the decisive step of each failed attempt, by the position of its case and its number."""
    failures = run.failure_modes
    failed = () if failures is None else failures.failed
    return {(own.position, own.attempt): shorten(decisive_line(own), _STEP) for own in failed if own.step is not None}


def case_message(attempts: CaseAttempts) -> str:
    """Return why a case did not pass, on one line."""
    messages = [test.message or test.name for test in _tests(attempts) if test.kind and test.kind != "skipped"]
    return _shared("; ".join(dict.fromkeys(messages))) or str(attempts.verdict)


def _shared(text: str) -> str:
    """Return a text for a file that CI servers show to others: visible, and without secrets."""
    return without_secrets(visible(text))


def set_files(info: RunInfo) -> dict[str, str]:
    """Return the file of each eval set of a run, by the id of the set. A set in memory has no file."""
    ids: Sequence[str] = info.config.get("eval_set_ids") or ()
    sets = zip(ids, info.config.get("eval_sets") or (), strict=False)
    return {set_id: path for set_id, (path, _) in sets if path != set_id}


def _write_cases(body: IO[bytes], about: _About, group: Iterable[Transcript]) -> _Counts:
    """Write the cases of an eval set, and return the counts that stand before them."""
    suite = _Counts()
    xml = XMLGenerator(body, encoding="utf-8", short_empty_elements=True)
    for _, of_case in groupby(group, key=lambda transcript: transcript.result.position):
        _case(xml, list(of_case), about, suite)
    return suite


@contextmanager
def _testsuite(stream: BinaryIO, info: RunInfo, name: str, suite: _Counts, file: str = "") -> Iterator[None]:
    attributes = {
        "name": name,
        "timestamp": info.started,
        "tests": str(suite.counts["tests"]),
        "failures": str(suite.counts["failure"]),
        "errors": str(suite.counts["error"]),
        "skipped": str(suite.counts["skipped"]),
        "time": f"{suite.seconds:.3f}",
        **({"file": file} if file else {}),
    }
    xml = XMLGenerator(stream, encoding="utf-8", short_empty_elements=True)
    with _element(xml, "testsuite", attributes):
        xml.ignorableWhitespace("\n")
        yield


def _case(xml: XMLGenerator, of_case: Sequence[Transcript], run: _About, suite: _Counts) -> None:
    """Write the tests of a case, and count them. The first test has the output.

    The message of a failure names the decisive step of the first attempt that has one.
    """
    first = of_case[0].result
    places = ((own.result.position, own.result.attempt) for own in of_case)
    step = next((run.steps[place] for place in places if place in run.steps), "")
    rule = run.info.attempt_rules.find_rule(first.eval_set, first.case_id)
    attempts = CaseAttempts(tuple(transcript.result for transcript in of_case), rule)
    seconds = sum(map(_seconds, of_case))
    suite.seconds += seconds
    is_known = run.errors.add(attempts.results)
    for index, test in enumerate(_tests(attempts)):
        kind = "skipped" if test.kind == "unscored" and run.allow_unscored else test.kind.replace("unscored", "error")
        suite.counts.update(["tests", *([kind] if kind else [])])
        about = {"name": test.name, "classname": first.title, "time": f"{0 if index else seconds:.3f}"}
        with _element(xml, "testcase", about):
            if kind:
                message = f"{test.message}; {step}" if kind == "failure" and step else test.message
                with _element(xml, kind, {"message": message}):
                    is_repeated = kind == "error" and test.kind == "error" and (is_known or index > 0)
                    xml.characters("the same error as above" if is_repeated else _shared(test.text))
            lines = list(_output(of_case)) if index == 0 else []
            if lines:
                with _element(xml, "system-out", {}):
                    xml.characters(_shared("\n".join(lines)))


def _seconds(transcript: Transcript) -> float:
    durations = (invocation.durations for invocation in transcript.invocations)
    return sum(own.total or 0.0 for own in durations if own is not None)


def _tests(attempts: CaseAttempts) -> Iterator[_Test]:
    """Yield a test for each criterion. If the rule decides about whole attempts, yield one test for the case."""
    verdict, criteria = attempts.verdict, attempts.criteria
    if not criteria:
        name = "attempts" if len(attempts.results) > 1 else "conversation"
        yield _whole_case(attempts, verdict, name)
    for criterion, own in criteria.items():
        # If the attempts broke, every criterion has the same problem. Its test keeps its name.
        is_error = verdict is Verdict.ERROR
        yield _whole_case(attempts, verdict, criterion) if is_error else _criterion(attempts, criterion, own)


def _whole_case(attempts: CaseAttempts, verdict: Verdict, name: str) -> _Test:
    kinds = {Verdict.FAILED: "failure", Verdict.ERROR: "error", Verdict.UNSCORED: "unscored"}
    if verdict not in kinds:
        return _Test(name)
    results = attempts.results
    failures = [own.failure for own in results if own.failure is not None]
    problems = [outcome for own in results for outcome in own.outcomes if outcome.verdict is Verdict.FAILED]
    message = [*_write_counts(attempts), *(f"{own.side}: {own.cause}" for own in failures[:1]), *_side(results)]
    texts = [*map(_reasons, problems), *(own.traceback for own in failures)]
    return _Test(name, kinds[verdict], "; ".join(message), "\n\n".join(filter(None, texts)))


def _write_counts(attempts: CaseAttempts) -> list[str]:
    total = len(attempts.results)
    return [f"{attempts.passed} of {total} attempts passed, needed: {attempts.rule}"] if total > 1 else []


def _criterion(attempts: CaseAttempts, criterion: str, verdict: Verdict) -> _Test:
    outcomes = [own for result in attempts.results for own in result.outcomes if own.criterion == criterion]
    problems = [outcome for outcome in outcomes if outcome.verdict in (Verdict.FAILED, Verdict.UNSCORED)]
    if verdict is Verdict.FAILED:
        return _Test(criterion, "failure", _message(attempts, problems), "\n\n".join(map(_reasons, problems)))
    if verdict is Verdict.UNSCORED:
        message = "; ".join([f"unscored: {criterion}", *_side(attempts.results)])
        return _Test(criterion, "unscored", message, "\n\n".join(map(_reasons, problems)))
    if verdict is Verdict.NOT_APPLICABLE:
        return _Test(criterion, "skipped", "not applicable", "")
    return _Test(criterion)


def _message(attempts: CaseAttempts, problems: Sequence[Outcome]) -> str:
    shown = [describe_outcome(outcome) for outcome in problems if outcome.verdict is Verdict.FAILED][:1]
    return "; ".join([*shown, *_write_counts(attempts), *_side(attempts.results)])


def _side(results: Sequence[CaseResult]) -> list[str]:
    sides = [fault.side for result in results for fault in (result.invalidations or ())[:1]]
    return [f"fault: {sides[0]}"] if sides else []


def _output(of_case: Sequence[Transcript]) -> Iterator[str]:
    """Yield the conversations of the attempts that did not pass, and the evidence against invalid attempts."""
    for transcript in of_case:
        result = transcript.result
        lines = ["invalid", *_evidence(result.invalidations)] if result.invalidations else []
        if result.verdict not in (Verdict.PASSED, Verdict.INFORMATIONAL):
            # Further lines of a text are indented, so that a text cannot look like a line of somebody else.
            indent = "\n" + " " * 10
            lines += [f"{label:<10}{text}".replace("\n", indent) for label, text, _ in transcript_lines(transcript)]
        if lines and len(of_case) > 1:
            yield f"attempt {result.attempt}: {result.verdict}"
        yield from lines


@contextmanager
def _element(xml: XMLGenerator, name: str, attributes: dict[str, str]) -> Iterator[None]:
    xml.startElement(name, AttributesImpl({key: visible_line(_shared(value)) for key, value in attributes.items()}))
    yield
    xml.endElement(name)
    xml.ignorableWhitespace("\n")


def _is_run_alone(summary: Summary, *, is_empty: bool) -> bool:
    """Whether only the run lacks a verdict, so that the tests, which CI servers read alone, would all be green.

    For example, a criterion applied to no case.
    """
    if summary.verdict is not Verdict.UNSCORED:
        return is_empty
    return is_empty or not (summary.case_verdicts.keys() & {"failed", "error", "unscored"})


def _write_run(stream: BinaryIO, run: ReportedRun, errors: _Errors, *, allow_unscored: bool) -> None:
    """Write a suite about the run as a whole. If the run lacks a verdict, the suite has a test."""
    summary = run.summary
    is_unscored = summary.verdict is Verdict.UNSCORED
    kind = "skipped" if allow_unscored else "error"
    suite = _Counts()
    suite.counts.update({"tests": 1, kind: 1} if is_unscored else {})
    with _testsuite(stream, run.info, f"{_SUITE}: the run", suite):
        if is_unscored:
            xml = XMLGenerator(stream, encoding="utf-8", short_empty_elements=True)
            with _element(xml, "testcase", {"name": "the run as a whole", "classname": _SUITE, "time": "0.000"}):
                message = "; ".join([summary.verdict, *summary.reasons])
                with _element(xml, kind, {"message": message}):
                    pass
        _write_output(stream, run, errors)


def _write_output(stream: IO[bytes], run: ReportedRun, errors: _Errors) -> None:
    """Write the verdict of the run and what else no case says."""
    summary = run.summary
    notes = [f"note: {note}" for note in (*summary.notes, *skill_sentences(summary.skill_uses))]
    attacks = () if run.attacks is None else attack_lines(run.attacks)
    about = (*attacks, *_valid(summary), *_judges(run.calibrations), *errors.lines())
    xml = XMLGenerator(stream, encoding="utf-8", short_empty_elements=True)
    with _element(xml, "system-out", {}):
        xml.characters(_shared("\n".join([summary.verdict, *summary.reasons, *about, *notes])))


def _evidence(invalidations: Sequence[Fault]) -> Iterator[str]:
    for fault in invalidations:
        yield from (f"{fault.side}: {text}" for text in fault.evidence)


def _valid(summary: Summary) -> Iterator[str]:
    """Yield the numbers over valid attempts, if some attempts are invalid."""
    if not summary.invalid:
        return
    yield "invalid attempts: " + ", ".join(f"{side} {n}" for side, n in summary.invalid.items())
    for criterion in summary.criteria:
        if criterion.valid is not None and criterion.threshold is not None:
            valid, whole = (format_estimate(own.pass_rate, percent=True) for own in (criterion.valid, criterion))
            rates = f"pass rate {valid}, of all {whole}"
            yield f"{criterion.criterion} over {count(criterion.valid.n, 'valid attempt')}: {rates}"


def _judges(calibrations: Sequence[Calibration]) -> Iterator[str]:
    """Yield the state of each judge, with the corrected number if there is one."""
    for calibration in calibrations:
        yield f"{calibration.criterion}: {describe(calibration)}"
        estimate = calibration.corrected
        if estimate.value is not None:
            value = format_estimate(estimate, percent=not calibration.graded)
            ends = interval(estimate, percent=not calibration.graded)
            yield f"{calibration.criterion} corrected by labels of people: {value} ({ends})"


def _reasons(outcome: Outcome) -> str:
    lines = [f"{outcome.criterion}: {outcome.score.reason}".rstrip(": ")]
    lines += [f"{part.title}: {part.reason}" for part in outcome.score.parts if part.reason]
    return "\n".join(lines)

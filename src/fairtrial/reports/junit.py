"""A run as JUnit XML, which every CI server can show.

Characters that XML forbids are escaped, also characters that control a terminal or the direction of writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from fairtrial.records.calibration import Calibration
from fairtrial.records.result import CaseResult, Fault, Outcome, Verdict
from fairtrial.records.summary import Summary
from fairtrial.reports.attempts import attempts
from fairtrial.reports.judge_states import describe
from fairtrial.reports.numbers import count, describe_outcome, interval, number, rate
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.text.display import visible, visible_line


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:
    """Write one test case for each attempt. A failure names the criteria that failed, an error names its cause.

    If unscored attempts are allowed, an attempt without a verdict is skipped instead of an error.
    """
    info, summary, allow_unscored = run.info, run.summary, options.allow_unscored
    counts = summary.cases
    without_verdict = counts.get("unscored", 0)
    # For example, a criterion applied to no case. CI servers read the tests alone, which would all be green.
    is_run_alone = summary.verdict is Verdict.UNSCORED and not (counts.keys() & {"failed", "error", "unscored"})
    without_verdict += is_run_alone
    attributes = {
        "name": f"fairtrial {info.id}",
        "timestamp": info.started,
        "tests": str(sum(counts.values()) + is_run_alone),
        "failures": str(counts.get("failed", 0)),
        "errors": str(counts.get("error", 0) + (0 if allow_unscored else without_verdict)),
        "skipped": str(without_verdict if allow_unscored else 0),
        "time": f"{info.seconds or 0:.3f}",
    }
    xml = XMLGenerator(stream, encoding="utf-8", short_empty_elements=True)
    xml.startDocument()
    with _element(xml, "testsuites", {}), _element(xml, "testsuite", attributes):
        for result, several in attempts(run.cases):
            _case(xml, result, several=several, allow_unscored=allow_unscored)
        if is_run_alone:
            _run(xml, summary, allow_unscored=allow_unscored)
        with _element(xml, "system-out", {}):
            lines = [summary.verdict, *summary.reasons, *_valid(summary), *_judges(run.calibrations)]
            xml.characters(visible("\n".join(lines)))


@contextmanager
def _element(xml: XMLGenerator, name: str, attributes: dict[str, str]) -> Iterator[None]:
    xml.startElement(name, AttributesImpl({key: visible_line(value) for key, value in attributes.items()}))
    yield
    xml.endElement(name)
    xml.ignorableWhitespace("\n")


def _run(xml: XMLGenerator, summary: Summary, *, allow_unscored: bool) -> None:
    """Write a test case for the run itself, which has no verdict although no case lacks its own."""
    with _element(xml, "testcase", {"name": "the run as a whole", "classname": "fairtrial"}):
        message = "; ".join([summary.verdict, *summary.reasons])
        with _element(xml, "skipped" if allow_unscored else "error", {"message": message}):
            pass


def _case(xml: XMLGenerator, result: CaseResult, *, several: bool, allow_unscored: bool) -> None:
    name = f"{result.title} (attempt {result.attempt})" if several or result.attempt > 1 else result.title
    kind, message, text = _problem(result)
    if result.verdict is Verdict.UNSCORED and allow_unscored:
        kind = "skipped"
    with _element(xml, "testcase", {"name": name, "classname": "fairtrial"}):
        if kind:
            with _element(xml, kind, {"message": message}):
                xml.characters(visible(text))
        if result.invalidations:
            with _element(xml, "system-out", {}):
                xml.characters(visible("\n".join(["invalid", *_evidence(result.invalidations)])))


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
            rates = f"pass rate {rate(criterion.valid.pass_rate.value)}, of all {rate(criterion.pass_rate.value)}"
            yield f"{criterion.criterion} over {count(criterion.valid.n, 'valid attempt')}: {rates}"


def _judges(calibrations: Sequence[Calibration]) -> Iterator[str]:
    """Yield the state of each judge, with the corrected number if there is one."""
    for calibration in calibrations:
        yield f"{calibration.criterion}: {describe(calibration)}"
        estimate = calibration.corrected
        if estimate.value is not None:
            value = number(estimate.value) if calibration.graded else rate(estimate.value)
            ends = interval(estimate, percent=not calibration.graded)
            yield f"{calibration.criterion} corrected by labels of people: {value} ({ends})"


def _problem(result: CaseResult) -> tuple[str, str, str]:
    """Return the XML element for a problem, its message and its text. All are empty if the attempt passed."""
    side = [f"fault: {fault.side}" for fault in (result.invalidations or ())[:1]]
    if result.verdict is Verdict.FAILED:
        failed = [outcome for outcome in result.outcomes if outcome.verdict is Verdict.FAILED]
        return "failure", "; ".join([*map(describe_outcome, failed), *side]), "\n\n".join(map(_reasons, failed))
    if result.failure is not None:
        cause = f"{result.failure.side}: {result.failure.cause}"
        return "error", "; ".join([cause, *side]), result.failure.traceback
    if result.verdict is Verdict.UNSCORED:
        unscored = [outcome for outcome in result.outcomes if outcome.verdict is Verdict.UNSCORED]
        return (
            "error",
            "; ".join(["unscored: " + ", ".join(outcome.criterion for outcome in unscored), *side]),
            "\n\n".join(map(_reasons, unscored)),
        )
    return "", "", ""


def _reasons(outcome: Outcome) -> str:
    lines = [f"{outcome.criterion}: {outcome.score.reason}".rstrip(": ")]
    lines += [f"{part.title}: {part.reason}" for part in outcome.score.parts if part.reason]
    return "\n".join(lines)

"""A run as JUnit XML, which every CI server can show.

What XML cannot hold, and what would control a terminal or turn the direction of writing, is spelt out in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from fairtrial.records.result import CaseResult, Fault, Outcome, Verdict
from fairtrial.records.summary import Summary
from fairtrial.reports.attempts import attempts
from fairtrial.reports.numbers import count, held_against, rate
from fairtrial.reports.report_table import ReportedRun
from fairtrial.text.display import visible


def write(stream: BinaryIO, run: ReportedRun, *, allow_unscored: bool = False) -> None:
    """Write one test case for each attempt. A failure names the criteria that failed, an error names its cause.

    With `allow_unscored` an attempt without a verdict is skipped instead of an error.
    """
    info, summary = run.info, run.summary
    counts = summary.cases
    without_verdict = counts.get("unscored", 0)
    attributes = {
        "name": f"fairtrial {info.id}",
        "timestamp": info.started,
        "tests": str(sum(counts.values())),
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
        with _element(xml, "system-out", {}):
            xml.characters(visible("\n".join([summary.verdict, *summary.reasons, *_valid(summary)])))


@contextmanager
def _element(xml: XMLGenerator, name: str, attributes: dict[str, str]) -> Iterator[None]:
    xml.startElement(name, AttributesImpl({key: visible(value) for key, value in attributes.items()}))
    yield
    xml.endElement(name)
    xml.ignorableWhitespace("\n")


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
                xml.characters(visible("\n".join(["invalid", *_spoiled(result.invalidations)])))


def _spoiled(invalidations: Sequence[Fault]) -> Iterator[str]:
    for fault in invalidations:
        yield from (f"{fault.side}: {text}" for text in fault.evidence)


def _valid(summary: Summary) -> Iterator[str]:
    """The numbers over valid attempts, where they are others than those over all."""
    if not summary.invalid:
        return
    yield "invalid attempts: " + ", ".join(f"{side} {n}" for side, n in summary.invalid.items())
    for one in summary.criteria:
        if one.valid is not None and one.threshold is not None:
            rates = f"pass rate {rate(one.valid.pass_rate.value)}, of all {rate(one.pass_rate.value)}"
            yield f"{one.criterion} over {count(one.valid.n, 'valid attempt')}: {rates}"


def _problem(result: CaseResult) -> tuple[str, str, str]:
    """The element that tells of a result, its message and its text; empty where there is nothing to tell."""
    side = [f"fault: {one.side}" for one in (result.invalidations or ())[:1]]
    if result.verdict is Verdict.FAILED:
        failed = [one for one in result.outcomes if one.verdict is Verdict.FAILED]
        return "failure", "; ".join([*map(held_against, failed), *side]), "\n\n".join(map(_reasons, failed))
    if result.failure is not None:
        told = f"{result.failure.side}: {result.failure.cause}"
        return "error", "; ".join([told, *side]), result.failure.traceback
    if result.verdict is Verdict.UNSCORED:
        open_ones = [one for one in result.outcomes if one.verdict is Verdict.UNSCORED]
        return (
            "error",
            "; ".join(["unscored: " + ", ".join(one.criterion for one in open_ones), *side]),
            "\n\n".join(map(_reasons, open_ones)),
        )
    return "", "", ""


def _reasons(outcome: Outcome) -> str:
    lines = [f"{outcome.criterion}: {outcome.score.reason}".rstrip(": ")]
    lines += [f"{part.title}: {part.reason}" for part in outcome.score.parts if part.reason]
    return "\n".join(lines)

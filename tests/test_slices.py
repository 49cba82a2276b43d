"""Runs are compared on parts of their cases, without calling a part worse by chance."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial import EvalCase, EvalSet, Invocation, Message, Run, ToolCall, UsageError, compare, score
from fairtrial.analysis.comparison import Slices, compare_runs
from fairtrial.analysis.measured_run import MeasuredRun, measure_run
from fairtrial.records.attempt_row import AttemptRow
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.records.run import RunInfo
from fairtrial.store import DEFAULT_URL
from graded_runs import graded, recording

pytestmark = pytest.mark.long

QUESTIONS = {"ko": "환불은 언제 되나요?", "ja": "返金はいつですか?", "en": "When is my refund?"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, with its own store."""
    enter(tmp_path, monkeypatch)


def make_run(values: Mapping[str, Sequence[float]], *, store: str | None = DEFAULT_URL) -> Run:
    """A run with some cases in each language. Every second case expects a call, and belongs to a customer."""
    cases, recordings = [], []
    for language, own in values.items():
        for number, value in enumerate(own):
            name = f"{language}-{number}"
            message = Message(QUESTIONS.get(language, "Grade?"))
            steps = (ToolCall("refund", {}),) if number % 2 else ()
            groups = {"customer": "acme" if number % 2 else "other", "tag": ["all", language]}
            cases.append(EvalCase(name, (Invocation(message, steps),), groups=groups))
            recordings.append(recording(name, value, 1))
    return score(recordings, EvalSet("languages", tuple(cases)), [graded()], store=store)


BASE = {"ko": [1.0] * 30, "ja": [1.0] * 30, "en": [1.0] * 30}
WORSE = {"ko": [1.0] * 15 + [0.0] * 15, "ja": [1.0] * 30, "en": [1.0] * 30}


def test_the_language_that_got_worse_is_found() -> None:
    """The others are not called anything, in the table, in the JSON and in the comment."""
    base, run = (make_run(values).info.id for values in (BASE, WORSE))
    found = compare(base, run, by="language")
    verdicts = {part.value: (part.cases, part.rows[0].verdict) for part in found.slices}
    assert verdicts == {
        "en": (30, "no difference shown"), "ja": (30, "no difference shown"), "ko": (30, "worse")
    }  # fmt: skip
    assert [row.measure for row in found.slices[0].rows] == ["cases", "quality"]
    done = fairtrial("compare", base, run, "--by", "language", "--markdown", "c.md", "--json", "c.json")
    assert "chance calls any slice better or worse 5 times in 100 at most" in " ".join(done.out.split())
    assert "| `ko` | `cases` | 30 | -50 points (" in Path("c.md").read_text(encoding="utf-8")
    assert '"by": "language"' in Path("c.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("field", "values"), [
    ("tool", {"refund": 45}),
    ("customer", {"acme": 45, "other": 45}),
    ("tag", {"all": 90, "en": 30, "ja": 30, "ko": 30}),
])  # fmt: skip
def test_cases_are_divided_by_every_property(field: str, values: dict[str, int]) -> None:
    """A case with several values of a property is in several parts."""
    found = compare(make_run(BASE), make_run(WORSE), by=field)
    assert {part.value: part.cases for part in found.slices} == values


def test_an_interval_of_a_slice_excludes_0_exactly_if_its_verdict_says_so() -> None:
    """The intervals are those of the corrected decisions, also among the criteria."""
    draw = random.Random(3)
    for _ in range(15):
        base, run = (
            {name: [float(draw.random() < share) for _ in range(12)] for name in QUESTIONS} for share in (0.4, 0.9)
        )
        found = compare(make_run(base, store=None), make_run(run, store=None), by="language")
        for row in (*found.rows[1:2], *(row for part in found.slices for row in part.rows)):
            assert row.low is not None
            assert row.high is not None
            is_shown = row.verdict in ("better", "worse")
            assert is_shown == (not row.low <= 0 <= row.high), row


def measured(values: Mapping[str, Sequence[float]], number: int) -> MeasuredRun:
    """The numbers of a run with some cases for each tag."""
    keys = [f"{tag}-{case}" for tag, own in values.items() for case in range(len(own))]
    passes = [value for own in values.values() for value in own]
    verdicts = (Verdict.PASSED if value else Verdict.FAILED for value in passes)
    rows = [AttemptRow(place, 1, verdict, True, False, []) for place, verdict in enumerate(verdicts)]
    cases = [(place, CaseKey("set", key, "digest"), key) for place, key in enumerate(keys)]
    return measure_run(RunInfo(str(number), "", "", "run", finished="now"), cases, rows, {})


def test_chance_calls_no_slice_worse() -> None:
    """Two equally good runs, twelve tags: at most 5 % of the comparisons call any of them anything."""
    draw = random.Random(4)
    slices = Slices("tag", {f"t{number}": range(25 * number, 25 * number + 25) for number in range(12)})
    false, uncorrected = 0, 0
    for _ in range(150):
        runs = [
            measured({tag: [float(draw.random() < 0.5) for _ in range(25)] for tag in slices.values}, number)
            for number in range(2)
        ]
        (found,) = compare_runs(runs[0], runs[1:], slices=slices)
        rows = [row for part in found.slices for row in part.rows]
        false += any(row.verdict in ("better", "worse") for row in rows)
        uncorrected += any((row.p or 1) < 0.05 for row in rows)
    assert false <= 12, "7.5 of 150 are expected at most; more than 12 happen in 4 of 100 seeds"
    assert uncorrected > 30, "without a correction, chance finds something in every fifth comparison at least"


def test_an_unknown_property_is_refused() -> None:
    """With the properties that there are."""
    with pytest.raises(UsageError, match="did you mean 'language'"):
        compare(make_run(BASE), make_run(WORSE), by="languag")


def test_show_divides_a_run() -> None:
    """A row for each language and measure, with its interval."""
    out = fairtrial("show", make_run(WORSE).info.id, "--by", "language").out
    (line,) = [line for line in out.splitlines() if line.split()[:2] == ["ko", "cases"]]
    assert line.split()[2:5] == ["30", "50", "%"]
    assert fairtrial("show", make_run(WORSE).info.id, "--by", "language", "--all").code == 2

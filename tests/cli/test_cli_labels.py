"""The command `fairtrial labels` lists, exchanges and compares the labels of people."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, Recording, Run, Trace, open_run, score
from fairtrial.api import agreement_of_labelers

STORE = "sqlite:///here.db"
ANN, BEN = ["pass", "pass", "fail", "fail"], ["pass", "fail", "fail", "fail"]


def judge(trace: Trace, case: EvalCase) -> bool:
    """Pass every reply that is not empty."""
    return bool(trace.invocations[0].reply and case.id)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A stored run of four cases, which nobody has labelled."""
    enter(tmp_path, monkeypatch)
    turns = [Invocation(Message(f"q{n}"), (), Message(f"a{n}")) for n in range(4)]
    recordings = [Recording(f"q{n}", Trace((turn,))) for n, turn in enumerate(turns)]
    cases = tuple(EvalCase(f"q{n}", (turn,)) for n, turn in enumerate(turns))
    return score(recordings, EvalSet("quiz", cases), [Criterion("brief", judge, 1.0)], store=STORE)


def label(run: Run, *, note: str = "") -> None:
    """Let Ann and Ben label every outcome."""
    done = fairtrial("judge", "sample", run.info.id, "--store", STORE, "--criterion", "brief", "-o", "s.jsonl")
    assert done.code == 0, done.err
    rows = sorted(map(json.loads, Path("s.jsonl").read_text().splitlines()), key=lambda row: row["case"])
    for name, answers in (("ann", ANN), ("ben", BEN)):
        lines = (row | {"labeler": name, "label": own, "note": note} for row, own in zip(rows, answers, strict=True))
        Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    added = fairtrial("labels", run.info.id, "--store", STORE, "--add", "ann.jsonl", "--add", "ben.jsonl")
    assert added.code == 0, added.err


def test_labels_are_listed_with_the_agreement_of_people(run: Run) -> None:
    """By hand: equal 3 of 4; kappa (0.75 - 0.5) / (1 - 0.5); alpha 1 - (2 / 8) / (30 / 56)."""
    label(run)
    listed = fairtrial("labels", run.info.id, "--store", STORE)
    assert listed.code == 0
    labels = listed.out.partition("agreement of people")[0]
    assert labels.count("ann") == labels.count("ben") == 4
    (own,) = agreement_of_labelers(open_run(run.info.id, store=STORE))
    assert (own.labelers, own.items, own.raw.value) == (("ann", "ben"), 4, 0.75)
    # Wilson's interval of 3 of 4 with t of 3 degrees of freedom, 3.182446: each case is a cluster with one pair.
    z2 = 3.182446**2
    middle, half = (0.75 + z2 / 8) / (1 + z2 / 4), 3.182446 * (0.1875 / 4 + z2 / 64) ** 0.5 / (1 + z2 / 4)
    assert (own.raw.low, own.raw.high) == pytest.approx((middle - half, middle + half), abs=1e-5)
    assert own.kappa.value == pytest.approx(0.5)
    assert own.alpha is not None
    assert own.alpha == pytest.approx(1 - (2 / 8) / (30 / 56))
    assert (own.values, own.confusion) == ((0.0, 1.0), ((2, 0), (1, 1)))
    assert own.alpha_interval is not None
    assert own.alpha_interval[0] < own.alpha < own.alpha_interval[1]
    assert "brief: ann" in listed.out
    assert "ben 0.00  ben 1.00" in listed.out


def test_few_labels_say_how_little_they_show_of_the_agreement(run: Run) -> None:
    """The number whose interval is the widest beside its scale is named. A scale of a coefficient has 2 points."""
    label(run)
    shown = " ".join(fairtrial("labels", run.info.id, "--store", STORE).out.split())
    (share, kappa, alpha) = re.findall(r"(-?[0-9.]+)(?: %)? … (-?[0-9.]+)", shown)
    widths = [float(high) - float(low) for low, high in (share, kappa, alpha)]
    assert widths[2] / 2 > max(widths[0] / 100, widths[1] / 2)
    text = f"With 4 outcomes, the alpha of brief can be anywhere from {alpha[0]} to {alpha[1]}: this is too little to"
    assert text in shown


@pytest.mark.parametrize("language", ["ko", "ja", "zh-CN", "zh-TW"])
def test_the_sentence_about_agreement_is_in_the_language_of_the_terminal(run: Run, language: str) -> None:
    """Only the name of the criterion is left in English."""
    label(run)
    shown = fairtrial("--lang", language, "labels", run.info.id, "--store", STORE).out
    (paragraph,) = re.findall(r"^.*4 ?[개件个個].*-1\.00(?:.*\n)(?:\S.*\n)?", shown, re.MULTILINE)
    assert re.findall(r"[A-Za-z]{2,}", paragraph) == ["brief"]


def test_a_run_without_labels_says_so(run: Run) -> None:
    """With the command that draws outcomes to label."""
    assert f"fairtrial label {run.info.id}" in fairtrial("labels", run.info.id, "--store", STORE).out


@pytest.mark.parametrize("file", ["out.csv", "out.jsonl"])
def test_exported_labels_come_back_equal(run: Run, file: str) -> None:
    """Into a store that has the run, and no labels yet."""
    fairtrial("runs", "export", run.info.id, "run.jsonl", "--store", STORE)
    label(run, note="=HYPERLINK(1)")
    assert fairtrial("labels", run.info.id, "--store", STORE, "-o", file).code == 0
    other = "sqlite:///other.db"
    assert fairtrial("runs", "import", "run.jsonl", "--store", other).code == 0
    assert fairtrial("labels", run.info.id, "--store", other, "--add", file).code == 0
    values = [
        sorted((one.key, one.author, one.value) for one in open_run(run.info.id, store=store).labels)
        for store in (STORE, other)
    ]
    assert values[0] == values[1]
    assert len(values[0]) == 8


def test_formulas_are_defused_in_csv(run: Run) -> None:
    """A spreadsheet shows the note, and does not compute it."""
    label(run, note="=HYPERLINK(1)")
    fairtrial("labels", run.info.id, "--store", STORE, "-o", "out.csv")
    with Path("out.csv").open(encoding="utf-8-sig", newline="") as stream:
        assert {row["note"] for row in csv.DictReader(stream)} == {"'=HYPERLINK(1)"}

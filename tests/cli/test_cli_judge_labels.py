"""Do `fairtrial judge sample` and `judge calibrate` bring the labels of people beside the verdicts of a judge?"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, Recording, Run, Trace, calibrate, score

STORE = "sqlite:///here.db"
CASES = 60


def shorter(trace: Trace, case: EvalCase) -> bool:  # noqa: ARG001
    """A judge that passes replies of at most 8 characters."""
    return len(trace.invocations[0].reply) <= 8


def other(trace: Trace, case: EvalCase) -> bool:
    """The same judge under another name."""
    return shorter(trace, case)


def right(case: str) -> bool:
    """Whether people accept the reply: every reply but each third."""
    return int(case.removeprefix("q")) % 3 > 0


def judged(judge: Any = shorter, *, name: str = "brief", cases: range = range(CASES)) -> Run:
    """A run in the store. The judge fails each third reply, as people do, and each fifth, which they may accept."""
    recordings, expected = [], []
    for n in cases:
        question, reply = Message(f"question {n}"), "no" * 8 if n % 3 == 0 or n % 5 == 0 else f"yes {n}"
        expected.append(EvalCase(f"q{n}", (Invocation(question, None, Message("=1+1")),)))
        recordings.append(Recording(f"q{n}", Trace((Invocation(question, (), Message(reply, "agent")),))))
    return score(recordings, EvalSet("quiz", tuple(expected)), [Criterion(name, judge, 1.0)], store=STORE)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a store."""
    enter(tmp_path, monkeypatch)


def sampled(run: Run, *arguments: str, file: str = "labels.csv") -> list[dict[str, str]]:
    """The rows that `judge sample` writes."""
    done = fairtrial("judge", "sample", run.info.id, "--store", STORE, "--criterion", "brief", "-o", file, *arguments)
    assert done.code == 0, done.err
    with Path(file).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def labelled(rows: list[dict[str, str]], file: str = "done.csv", **more: str) -> str:
    """Write the rows with the labels of people, and return the name of the file."""
    with Path(file).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": "pass" if right(row["case"]) else "fail", **more} for row in rows)
    return file


def calibrated(run: Run, *arguments: str) -> dict[str, Any]:
    """The only criterion of `judge calibrate --json -`."""
    done = fairtrial("judge", "calibrate", run.info.id, "--store", STORE, "--json", "-", *arguments)
    assert done.code == 0, done.err
    (criterion,) = done.json["criteria"]
    row: dict[str, Any] = criterion
    return row


def test_a_sample_does_not_show_the_verdict() -> None:
    """A row has the question, the reply and the reference, and nothing of the judge."""
    rows = sampled(judged(), "--n", "20")
    assert len({row["key"] for row in rows}) == 20
    assert rows[0].keys() == {
        "key", "case", "attempt", "criterion", "question", "reply", "reference", "label", "labeler", "note", "weight"
    }  # fmt: skip
    row = rows[0]
    assert row["question"] == f"question {row['case'].removeprefix('q')}"
    assert row["reference"] == "'=1+1", "behind an apostrophe, so that a spreadsheet does not compute it"
    assert (row["label"], row["weight"]) == ("", "1.0")


def test_the_next_command_does_not_show_the_password_of_a_store() -> None:
    """It says that the store has a URL, and not which."""
    run = judged()
    done = fairtrial("judge", "sample", run.info.id, "--store", STORE, "--criterion", "brief", "-o", "labels.csv")
    assert f"then: fairtrial judge calibrate {run.info.id} --labels labels.csv --store URL" in done.out
    assert "sqlite" not in done.out


def test_a_seed_draws_the_same_sample_again() -> None:
    """The same seed, the same rows; another seed, other rows."""
    run = judged()
    first, same, other_seed = (
        [row["key"] for row in sampled(run, "--n", "20", "--seed", seed, file=f"{n}.csv")]
        for n, seed in enumerate(("1", "1", "2"))
    )
    assert first == same != other_seed


def test_a_balanced_sample_has_weights() -> None:
    """28 outcomes pass and 32 fail: 10 of each stand for 2.8 and 3.2 outcomes."""
    weights = sorted(float(row["weight"]) for row in sampled(judged(), "--n", "20", "--balance"))
    passed = sum(shorter_reply(n) for n in range(CASES))
    assert weights == sorted([passed / 10] * 10 + [(CASES - passed) / 10] * 10)


def shorter_reply(n: int) -> bool:
    """Whether the judge passes the reply to a question."""
    return n % 3 != 0 and n % 5 != 0


def test_a_file_with_labels_is_not_overwritten() -> None:
    """The work of people is not lost by running the command again."""
    run = judged()
    sampled(run)
    done = fairtrial("judge", "sample", run.info.id, "--store", STORE, "--criterion", "brief", "-o", "labels.csv")
    assert done.code == 2
    assert "labels.csv exists and may hold labels" in done.err


def test_labels_correct_the_pass_rate() -> None:
    """With every outcome labelled, the corrected rate is people's, and the judge is too strict."""
    run = judged()
    row = calibrated(run, "--labels", labelled(sampled(run)))
    assert row["labels"] == CASES
    assert row["state"] == "biased"
    assert row["message"].startswith("brief is too strict by 0.13 (")
    assert row["corrected"]["value"] == pytest.approx(2 / 3)
    assert row["table"]["people_pass_judge_fail"] == sum(n % 3 > 0 and n % 5 == 0 for n in range(CASES))


def test_labels_stay_in_the_store() -> None:
    """The tables, the JSON and the JUnit of the run use them from then on."""
    run = judged()
    row = calibrated(run, "--labels", labelled(sampled(run)))
    again = calibrated(run)
    assert again == row
    done = fairtrial("show", run.info.id, "--store", STORE, "--json", "report.json", "--junit", "report.xml")
    assert done.code == 0
    (summary,) = json.loads(Path("report.json").read_text())["summary"]
    assert summary["judge_state"] == {"state": "biased", "judge": "brief", "message": row["message"], "labels": CASES}
    assert summary["corrected"] == row["corrected"]
    assert f"brief: {row['message']}" in Path("report.xml").read_text()
    shown = fairtrial("show", run.info.id, "--store", STORE).out
    assert "brief is too strict by 0.13" in shown
    assert shown.index("as people would judge") < shown.index("pass rate"), (
        "the corrected mean of a biased judge is first"
    )


def test_labels_count_when_the_same_recordings_are_judged_again() -> None:
    """Another run over the same recordings uses the labels; a label of another criterion does not count."""
    run = judged()
    calibrated(run, "--labels", labelled(sampled(run)))
    (again,) = judged().calibrations
    assert again.labels == CASES
    assert judged(other, name="other").calibrations == ()


def test_labels_of_another_run_are_assumed_to_hold() -> None:
    """A run of the same judge on other cases is corrected by Rogan and Gladen's formula, and says so."""
    first = judged(cases=range(CASES))
    calibrated(first, "--labels", labelled(sampled(first)))
    second = score_with_calls(range(CASES, 2 * CASES))
    (row,) = second
    assert row["state"] == "unchecked"
    assert row["assumed_from"] == first.info.id
    assert f"assumes the judge errs here as on {first.info.id}" in row["message"]
    # 28 of 60 judged pass, sensitivity 32 / 40 and specificity 1 in the first run: 28 / 60 / 0.8.
    passed = sum(shorter_reply(n) for n in range(CASES, 2 * CASES)) / CASES
    sensitivity = sum(shorter_reply(n) for n in range(CASES)) / sum(n % 3 > 0 for n in range(CASES))
    assert row["corrected"]["value"] == pytest.approx(passed / sensitivity)


def score_with_calls(cases: range) -> list[dict[str, Any]]:
    """The criteria of a run without labels of its own."""
    run = judged(cases=cases)
    done = fairtrial("judge", "calibrate", run.info.id, "--store", STORE, "--json", "-")
    criteria: list[dict[str, Any]] = done.json["criteria"]
    return criteria


def test_several_labelers_have_an_alpha() -> None:
    """Rows with the same key and other labelers: alpha among people, and the number of labelers."""
    run = judged()
    rows = sampled(run)
    labelled(rows, "ann.csv", labeler="ann")
    labelled(rows, "ben.csv", labeler="ben")
    row = calibrated(run, "--labels", "ann.csv", "--labels", "ben.csv")
    assert (row["labels"], row["labelers"], row["alpha"]) == (CASES, 2, 1.0)


def test_a_row_of_another_run_is_refused_or_counted() -> None:
    """Its key is unknown; --ignore-unknown leaves it out aloud."""
    run = judged()
    rows = sampled(run)
    labelled([*rows, {**rows[0], "key": "0" * 16}])
    command = ("judge", "calibrate", run.info.id, "--store", STORE, "--labels", "done.csv")
    done = fairtrial(*command)
    assert done.code == 2
    assert "done.csv: line 62: key: '0000000000000000' is not of this run" in done.err
    done = fairtrial(*command, "--ignore-unknown")
    assert done.code == 0
    assert "rows left out because they are not of this run: 1" in done.err


def test_two_labels_by_one_person_are_refused_with_both_lines() -> None:
    """Nothing is stored then."""
    run = judged()
    rows = sampled(run, "--n", "1")
    Path("two.jsonl").write_text("".join(json.dumps({**rows[0], "label": label}) + "\n" for label in ("pass", "fail")))
    done = fairtrial("judge", "calibrate", run.info.id, "--store", STORE, "--labels", "two.jsonl")
    assert done.code == 2
    assert "two.jsonl: line 1 and two.jsonl: line 2: labeler '' gives" in done.err
    assert run.labels == []


def test_all_problems_come_at_once() -> None:
    """A broken file and a label that is not understood, both with their place."""
    run = judged()
    Path("a.csv").write_text("kez,label\nx,pass\n")
    Path("b.jsonl").write_text(json.dumps({**sampled(run, "--n", "1")[0], "label": "maybe"}))
    done = fairtrial("judge", "calibrate", run.info.id, "--store", STORE, "--labels", "a.csv", "--labels", "b.jsonl")
    assert done.code == 2
    assert "a.csv: line 1: lacks the column 'key'; the nearest is 'kez'" in done.err
    assert "b.jsonl: line 1: label: must be pass or fail" in done.err


def test_a_file_without_a_label_is_refused() -> None:
    """Somebody forgot to fill it in."""
    run = judged()
    sampled(run)
    done = fairtrial("judge", "calibrate", run.info.id, "--store", STORE, "--labels", "labels.csv")
    assert done.code == 2
    assert "there is no label in any row" in done.err


def test_a_misspelt_criterion_is_refused_with_the_nearest() -> None:
    """The names of the run are its criteria."""
    run = judged()
    done = fairtrial("judge", "sample", run.info.id, "--store", STORE, "--criterion", "breif", "-o", "x.csv")
    assert done.code == 2
    assert "has no criterion 'breif'; did you mean 'brief'?" in done.err


def test_calibrate_is_a_function_too() -> None:
    """`fairtrial.calibrate` takes a run and files, and returns the calibrations."""
    run = judged()
    (calibration,) = calibrate(run, labelled(sampled(run)))
    assert calibration.labels == CASES
    assert run.calibrations == (calibration,)
    assert calibrate(run.info.id, store=STORE) == [calibration]


def longer(trace: Trace, case: EvalCase) -> bool:
    """A judge that people do not agree with: it passes every second reply."""
    return int(case.id.removeprefix("q")) % 2 == 0 and bool(trace.invocations)


def test_compare_shows_the_states_of_judges_and_corrected_means() -> None:
    """The corrected rates of two labelled runs, with the sum of their variances."""
    first, second = judged(), judged(cases=range(30, 90))
    for run in (first, second):
        calibrated(run, "--labels", labelled(sampled(run, file=f"{run.info.id}.csv")))
    command = ("compare", first.info.id, second.info.id, "--store", STORE)
    plain = fairtrial(*command, "--json", "-").json["rows"][1]
    assert (plain["measure"], plain["judge"]) == ("brief", "judge biased")
    assert "brief: judge biased" in fairtrial(*command).out
    row = fairtrial(*command, "--corrected", "--json", "-").json["rows"][1]
    (before,), (after,) = (calibrate(run.info.id, store=STORE) for run in (first, second))
    assert row["measure"] == "brief:corrected"
    assert row["base"] == before.corrected.value
    assert row["difference"] == pytest.approx((after.corrected.value or 0) - (before.corrected.value or 0))
    assert before.error is not None
    assert after.error is not None
    half = (row["high"] - row["low"]) / 2
    assert half == pytest.approx(2.0 * (before.error**2 + after.error**2) ** 0.5, rel=0.01), "t of 60 degrees is 2.00"


def test_a_report_keeps_the_states_of_judges_for_compare() -> None:
    """Two reports that --json wrote have the state of the judge, too."""
    first, second = judged(), judged(cases=range(30, 90))
    calibrated(first, "--labels", labelled(sampled(first)))
    for run, file in ((first, "a.json"), (second, "b.json")):
        assert fairtrial("show", run.info.id, "--store", STORE, "--json", file).code == 0
    row = fairtrial("compare", "a.json", "b.json", "--json", "-").json["rows"][1]
    assert row["judge"] == "judge biased / good", "half of the labels of the first run count in the second"


def test_a_gate_on_a_useless_judge_is_undecided() -> None:
    """A judge that is not better than guessing opens no gate."""
    run = judged(longer)
    assert calibrated(run, "--labels", labelled(sampled(run)))["state"] == "useless"
    done = fairtrial("gate", run.info.id, "--at-least", "0.1", "--measure", "brief", "--store", STORE)
    assert done.code == 3
    assert "not shown to be better than guessing" in done.out

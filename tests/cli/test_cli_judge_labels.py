"""The commands `fairtrial judge sample` and `judge calibrate` compare human labels with judge verdicts."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from fairtrial import (
    Claim,
    Criterion,
    EvalCase,
    EvalSet,
    Invocation,
    Message,
    Recording,
    Run,
    Trace,
    api,
    calibrate,
    evaluate,
    score,
)
from fairtrial.judge.judges import Judges
from fairtrial.llm.model_options import ModelOptions
from fairtrial.testing import ScriptedModel
from judged import reply

STORE = "sqlite:///here.db"
CASES = 60


def shorter(trace: Trace, case: EvalCase) -> bool:  # noqa: ARG001
    """A judge that passes replies of at most 8 characters."""
    return len(trace.invocations[0].reply) <= 8


def other(trace: Trace, case: EvalCase) -> bool:
    """The same judge under another name."""
    return shorter(trace, case)


def sometimes(trace: Trace, case: EvalCase) -> float | None:
    """The same judge, which cannot tell anything about each fifth case."""
    return None if int(case.id.removeprefix("q")) % 5 == 1 else float(shorter(trace, case))


def right(case: str) -> bool:
    """Whether people accept the reply: every reply but each third."""
    return int(case.removeprefix("q")) % 3 > 0


def judged(
    judge: Any = shorter,
    *,
    name: str = "brief",
    cases: range = range(CASES),
    more: Sequence[Criterion] = (),
    copies: int = 0,
) -> Run:
    """A run in the store. The judge fails each third reply, as people do, and each fifth, which they may accept."""
    recordings, expected = [], []
    for n in cases:
        question, reply = Message(f"question {n}"), "no" * 8 if n % 3 == 0 or n % 5 == 0 else f"yes {n}"
        cluster = f"template {n // copies}" if copies else ""
        expected.append(EvalCase(f"q{n}", (Invocation(question, None, Message("=1+1")),), cluster=cluster))
        recordings.append(Recording(f"q{n}", Trace((Invocation(question, (), Message(reply, "agent")),))))
    return score(recordings, EvalSet("quiz", tuple(expected)), [Criterion(name, judge, 1.0), *more], store=STORE)


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


@pytest.mark.long
def test_labels_stay_in_the_store() -> None:
    """The tables, the JSON and the JUnit of the run use them from then on."""
    run = judged()
    row = calibrated(run, "--labels", labelled(sampled(run)))
    again = calibrated(run)
    assert again == row
    done = fairtrial("show", run.info.id, "--store", STORE, "--json", "report.json", "--junit", "report.xml")
    assert done.code == 0
    (summary,) = json.loads(Path("report.json").read_text())["run"]["criteria"]
    assert summary["judge_message"] == row["message"]
    own = summary["judge"]
    assert (own["state"], own["judge"], own["labels"], own["corrected"]) == ("biased", "brief", CASES, row["corrected"])
    assert f"brief: {row['message']}" in Path("report.xml").read_text()
    shown = fairtrial("show", run.info.id, "--store", STORE).out
    assert "brief is too strict by 0.13" in shown
    assert shown.index("as people would judge") < shown.index("pass rate"), (
        "the corrected mean of a biased judge is first"
    )


@pytest.mark.long
def test_labels_count_when_the_same_recordings_are_judged_again() -> None:
    """Another run over the same recordings uses the labels; a label of another criterion does not count."""
    run = judged()
    calibrated(run, "--labels", labelled(sampled(run)))
    (again,) = judged().calibrations
    assert again.labels == CASES
    assert judged(other, name="other").calibrations == ()


@pytest.mark.long
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


@pytest.mark.long
def test_compare_shows_the_states_of_judges_and_corrected_means() -> None:
    """The corrected rates of two runs of which people labelled other cases, with the sum of their variances."""
    first, second = judged(), judged(cases=range(30, 120))
    for run, own in ((first, range(36)), (second, range(54, 120))):
        rows = [row for row in sampled(run, file=f"{run.info.id}.csv") if int(row["case"].removeprefix("q")) in own]
        calibrated(run, "--labels", labelled(rows))
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
    assert half == pytest.approx(2.03 * (before.error**2 + after.error**2) ** 0.5, rel=0.01), "t of 34 degrees is 2.03"


@pytest.mark.long
def test_labels_of_the_same_cases_are_compared_case_by_case() -> None:
    """People accept two replies more of the second run: with all replies labelled, the difference is 2 in 60."""
    runs = judged(), judged()
    for run, mended in zip(runs, ((), ("q3", "q9")), strict=True):
        rows = sampled(run, file=f"{run.info.id}.csv")
        file = labelled(rows)
        text = Path(file).read_text(encoding="utf-8").splitlines()
        lines = [
            line.replace(",fail,", ",pass,") if any(f",{case}," in line for case in mended) else line for line in text
        ]
        Path(file).write_text("\n".join(lines), encoding="utf-8")
        calibrated(run, "--labels", file)
    command = ("compare", runs[0].info.id, runs[1].info.id, "--store", STORE, "--corrected", "--json", "-")
    row = fairtrial(*command).json["rows"][1]
    assert row["difference"] == pytest.approx(2 / 60)
    assert row["method"] == "prediction-powered, pairs of labels, t"
    errors = [calibrate(run.info.id, store=STORE)[0].error or 0 for run in runs]
    assert (row["high"] - row["low"]) / 2 < 2.0 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5 / 1.5


@pytest.mark.long
def test_a_report_keeps_the_states_of_judges_for_compare() -> None:
    """Two reports that --json wrote have the state of the judge, too."""
    first, second = judged(), judged(cases=range(30, 90))
    calibrated(first, "--labels", labelled(sampled(first)))
    for run, file in ((first, "a.json"), (second, "b.json")):
        assert fairtrial("show", run.info.id, "--store", STORE, "--json", file).code == 0
    row = fairtrial("compare", "a.json", "b.json", "--json", "-").json["rows"][1]
    assert row["judge"] == "judge biased / good", "half of the labels of the first run count in the second"


@pytest.mark.long
def test_a_gate_on_a_useless_judge_is_undecided() -> None:
    """A judge that is not better than guessing opens no gate."""
    run = judged(longer)
    assert calibrated(run, "--labels", labelled(sampled(run)))["state"] == "useless"
    done = fairtrial("gate", run.info.id, "--at-least", "0.1", "--measure", "brief", "--store", STORE)
    assert done.code == 3
    assert "not shown to be better than guessing" in done.out


def gated(run: Run, *claim: str) -> Any:
    """The only claim of a gate, as JSON, with the whole text."""
    done = fairtrial("gate", run.info.id, "--store", STORE, *claim, "--json", "-")
    text = fairtrial("gate", run.info.id, "--store", STORE, *claim, "--markdown", "gate.md").out
    comment = Path("gate.md").read_text(encoding="utf-8")
    return done.json["claims"][0], " ".join(text.split()), " ".join(comment.split())


MODEL = "openai/scripted"


def asked_model() -> tuple[EvalSet, dict[str, Any], Judges]:
    """Eight cases, a criterion that a model judges, and the model, which accepts every reply."""
    cases = tuple(EvalCase(f"q{n}", (Invocation(Message(f"question {n}"), None, Message("yes")),)) for n in range(8))
    judge = {"judge_model": MODEL, "num_samples": 1}
    criteria = {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": judge}}
    model = ScriptedModel(lambda prompt: reply(prompt, lambda _, __: "valid"))
    return EvalSet("quiz", cases), criteria, Judges(models=ModelOptions(custom_models={MODEL: model}))


@pytest.mark.parametrize("measure", ["cases", "final_response_match_v2:pass"])
def test_a_gate_on_an_unchecked_judge_says_so(measure: str) -> None:
    """The promise is about what the judge sees, in the text and in the comment."""
    eval_set, criteria, judges = asked_model()
    run = evaluate(eval_set, lambda _: "yes", criteria, judges=judges, store=STORE)
    claim, *texts = gated(run, "--at-least", "0.3", "--measure", measure)
    assert (claim["verdict"], claim["seen_by"]) == ("passed", "judge")
    assert [judge["state"] for judge in claim["judges"]] == ["unchecked"]
    for text in texts:
        assert f"judged by {MODEL}, not checked against people" in text
        assert "at most 5 times in 100, as the judge sees it." in text


@pytest.mark.long
def test_labels_of_another_run_are_named() -> None:
    """They do not decide, because nobody checked whether the judge errs in the same way here."""
    labels = labelled(sampled(base := judged(cases=range(300)), "--n", "250"))
    calibrated(base, "--labels", labels)
    claim, *texts = gated(judged(cases=range(300, 400)), "--at-least", "0.3", "--measure", "brief:pass")
    assert (claim["verdict"], claim["seen_by"]) == ("passed", "judge")
    for text in texts:
        assert re.search(rf"by the labels of {base.info.id}, people would say 6[4-8] %", text)


def test_attempts_until_decided_name_an_unchecked_judge() -> None:
    """Nobody can have labelled a run that is not finished."""
    eval_set, criteria, judges = asked_model()
    planned = api.plan_run(eval_set, lambda _: "yes", criteria, run=api.RunOptions(3, judges=judges))
    planned = api.plan_waves(planned, [Claim("at_least", 0.3)], None, STORE)
    run = api.execute(planned, store=STORE)
    assert run.summary.decision is not None
    (claim,) = run.summary.decision.claims
    assert (claim.verdict, claim.seen_by, [judge.judge for judge in claim.judges]) == ("passed", "judge", [MODEL])
    assert "as the judge sees it" in " ".join(run.report().split())


@pytest.mark.long
@pytest.mark.parametrize("measure", ["brief", "brief:pass", "cases"])
def test_a_gate_on_a_biased_judge_is_decided_by_what_people_would_say(measure: str) -> None:
    """The judge passes 53 %, and people 67 %: the claim of 55 % is about what people accept."""
    run = judged(cases=range(300))
    assert calibrated(run, "--labels", labelled(sampled(run, "--n", "250")))["state"] == "biased"
    claim, *texts = gated(run, "--at-least", "0.58", "--measure", measure)
    assert (claim["verdict"], claim["seen_by"]) == ("passed", "people")
    assert claim["estimate"] == pytest.approx(2 / 3, abs=0.02)
    for text in texts:
        assert "brief: brief is too strict by 0.13" in text
        assert "the numbers that people would give decide" in text
        assert "at most 5 times in 100, as people see it." in text


@pytest.mark.long
def test_corrected_numbers_of_clusters_decide_nothing_and_say_so() -> None:
    """Three hundred copies of ten templates. Nobody knows the interval of the corrected rate."""
    base, run = (judged(cases=range(300), copies=30) for _ in range(2))
    for own in (base, run):
        row = calibrated(own, "--labels", labelled(sampled(own, "--n", "250", file=f"{own.info.id}.csv")))
        assert row["corrected"]["method"].endswith(", clusters not counted")
        assert "the corrected interval does not count clusters of cases" in in_a_line(
            fairtrial("show", own.info.id, "--store", STORE).out
        )
    why = "the corrected interval would not count the clusters of cases"
    for options in ((), ("--against", base.info.id)):
        claim, *_ = gated(run, *(("--not-worse-by", "0.5") if options else ("--at-least", "0.1")), *options)
        assert claim["verdict"] == "undecided"
        assert why in claim["why"]
    command = ("compare", base.info.id, run.info.id, "--store", STORE, "--corrected", "--json", "-")
    compared = fairtrial(*command).json["rows"][1]
    assert compared["measure"] == "brief:corrected"
    assert [compared[name] for name in ("low", "high", "p", "method", "detectable")] == [None] * 5
    assert compared["why"] == why


def in_a_line(text: str) -> str:
    """A text without the line breaks of a narrow terminal."""
    return " ".join(text.split())


@pytest.mark.long
def test_missing_attempts_count_beside_the_labels_too() -> None:
    """Of 300 replies, 60 could not be judged: with all of them failed, 67 % become 53 %."""
    run = judged(sometimes, cases=range(300))
    calibrated(run, "--labels", labelled(sampled(run, "--n", "240")))
    claim, *_ = gated(run, "--at-least", "0.6", "--measure", "brief:pass")
    assert (claim["verdict"], claim["missing"]) == ("undecided", [0, 60])
    assert claim["why"] == "the 60 attempts without a value could decide it either way"


@pytest.mark.long
def test_cases_that_rest_on_several_criteria_are_not_corrected() -> None:
    """Nobody labelled whether a reply passes all of them."""
    run = judged(cases=range(300), more=[Criterion("also", other, 1.0)])
    calibrated(run, "--labels", labelled(sampled(run, "--n", "250")))
    claim, *texts = gated(run, "--at-least", "0.1")
    assert claim["verdict"] == "undecided"
    assert "labels show that the judge of brief is biased, and nothing corrects cases" in claim["why"]
    assert "decide about each criterion by itself" in texts[0]


@pytest.mark.long
def test_a_useless_judge_behind_all_cases_opens_no_gate() -> None:
    """Not only a claim about its own criterion is undecided."""
    run = judged(longer)
    calibrated(run, "--labels", labelled(sampled(run)))
    claim, *_ = gated(run, "--at-least", "0.1")
    assert claim["verdict"] == "undecided"
    assert "not shown to be better than guessing" in claim["why"]


@pytest.mark.long
def test_a_difference_is_decided_by_people_if_they_labelled_both_runs() -> None:
    """Without labels of the base, nothing corrects the difference."""
    base, run = judged(cases=range(300)), judged(cases=range(300))
    labels = labelled(sampled(run, "--n", "250"))
    Path("kept.csv").write_text(Path(labels).read_text(encoding="utf-8"), encoding="utf-8")
    calibrated(run, "--labels", "kept.csv")
    claim, *texts = gated(run, "--not-worse-by", "0.1", "--against", base.info.id, "--measure", "brief:pass")
    assert (claim["verdict"], claim["seen_by"], len(claim["judges"])) == ("passed", "people", 2)
    assert "as people see it" in texts[0]

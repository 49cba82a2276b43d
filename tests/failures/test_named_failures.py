"""People label failed attempts: how they are drawn, and what the names that they give say about all failures."""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial import EvalSet, Recording, load_eval_set, open_run, score
from fairtrial.analysis.failures.named_failures import ReadFailure, estimate_names
from fairtrial.api import QueueRequest, check
from fairtrial.api.failure_modes.mode_board import ModeBoard
from fairtrial.api.failure_modes.mode_guards import write_guard
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.api.labels.label_sampling import draw_failures
from fairtrial.errors import UsageError
from fairtrial.records.keys import case_key
from fairtrial.records.label import FAILURES, Label
from fairtrial.reports.views.board_shapes import BoardRequest
from fairtrial.reports.views.label_shapes import LabelRequest, WindowRequest
from fairtrial.store import DEFAULT_URL, Store
from planted_failures import booking, perfect, plant

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
MODES = [[f"a{n}" for n in range(60)], [f"b{n}" for n in range(20)], [f"c{n}" for n in range(2)]]
ALONE = [f"x{n}" for n in range(18)]
ANN = WindowRequest("ann", "window-a1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an empty store."""
    enter(tmp_path, monkeypatch)


def stored(refunds: int = 12, missing: int = 8) -> str:
    """The id of a run with two kinds of failures, a single one of a third kind, and six passes."""
    kinds = ["a refund is made"] * refunds + ["the booking is missing"] * missing + ["the method is wrong"]
    cases = [booking(number, "en") for number in range(len(kinds) + 6)]
    recordings: list[Recording] = [plant(kind, case).recording for kind, case in zip(kinds, cases, strict=False)]
    recordings += [perfect(case) for case in cases[len(kinds) :]]
    return score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=DEFAULT_URL).info.id


def label_all(run: str, names: dict[str, str], sample: int) -> None:
    """Let Ann name the failures of a queue by the mode that they belong to. An empty name is "not a failure"."""
    found = open_run(run, store=DEFAULT_URL).failures()
    mode_of = {(own.position, own.attempt): own.mode for own in found.failed}
    title = {mode.number: mode.name for mode in found.modes}
    with closing(Store(DEFAULT_URL)) as store:
        desk = LabelDesk(store)
        queue = desk.open(run, QueueRequest("", by="failures", sample=sample))
        while (claimed := desk.claim(run, queue.number, ANN)).items:
            item = next(
                own for own in store.label_queues(run).items(queue.number) if own.number == claimed.items[0].number
            )
            note = names[title.get(mode_of[item.position, item.attempt] or 0, "")]
            request = LabelRequest(ANN.labeler, ANN.window, item.number, item.copy, float(bool(note)), 2.0, note=note)
            desk.answer(run, queue.number, request)


def test_half_is_random_and_every_mode_has_its_share() -> None:
    """Of 30 failures, ten are spread over three modes, five have no mode, and the others come at random."""
    sample = draw_failures(MODES, ALONE, 30, random.Random(1))
    drawn = [item for item, _ in sample]
    assert len(set(drawn)) == 30
    counts = Counter(item[0] for item in drawn)
    assert counts["a"] >= 4
    assert counts["b"] >= 4
    assert counts["c"] == 2
    assert counts["x"] >= 5


@pytest.mark.long
def test_the_stated_probabilities_are_those_of_the_draw() -> None:
    """Over 4,000 draws, each kind of item is drawn as often as its probability says."""
    times: Counter[str] = Counter()
    stated: dict[str, float] = {}
    for seed in range(4000):
        for item, probability in draw_failures(MODES, ALONE, 30, random.Random(seed)):
            times[item[0]] += 1
            stated[item[0]] = probability
    sizes = {"a": 60, "b": 20, "c": 2, "x": 18}
    for kind, size in sizes.items():
        assert times[kind] / 4000 / size == pytest.approx(stated[kind], abs=0.01)


def test_a_small_population_is_drawn_whole() -> None:
    """A sample that is larger than the failures takes all of them with certainty."""
    sample = draw_failures([["a", "b"]], ["x"], 50, random.Random(1))
    assert sorted(sample) == [("a", 1.0), ("b", 1.0), ("x", 1.0)]


def test_estimates_cover_the_truth() -> None:
    """The interval of a name holds its true share of all failures in at least 90 % of 300 samples."""
    covered = 0
    for seed in range(300):
        sample = draw_failures(MODES, ALONE, 40, random.Random(seed))
        read = {
            (number, 1): ReadFailure(frozenset(["refund"] if item[0] in "ac" else ["other"]), 1 / probability)
            for number, (item, probability) in enumerate(sample)
        }
        share = next(own.share for own in estimate_names(read) if own.name == "refund")
        assert share.low is not None
        assert share.high is not None
        covered += share.low <= 0.62 <= share.high
    assert covered / 300 >= 0.9


@pytest.mark.long
def test_names_of_people_stand_below_the_modes() -> None:
    """The terminal says how many failures were read, and what share of all failures has each name."""
    run = stored()
    label_all(run, {"refund is called and was not expected": "Refund.", "book_room is not called": "", "": "odd"}, 21)
    done = fairtrial("failures", run)
    assert done.code == 0, done.err
    assert "people: 'refund': 12 of 21 read; estimated 57 % (" in done.out
    assert "people: 'not a failure': 8 of 21 read; estimated 38 % (" in done.out
    named = open_run(run, store=DEFAULT_URL).failures().names
    assert [(own.name, own.attempts, own.cases) for own in named] == [
        ("refund", 12, 12),
        ("not a failure", 8, 8),
        ("odd", 1, 1),
    ]


@pytest.mark.long
def test_a_guard_is_calibrated_by_labels(tmp_path: Path) -> None:
    """If people named the mode, its guard has a sensitivity and a specificity against them."""
    run = stored()
    refund, missing = "refund is called and was not expected", "book_room is not called"
    label_all(run, {refund: refund.upper(), missing: refund, "": "odd"}, 21)
    own = open_run(run, store=DEFAULT_URL)
    found = own.failures()
    mode = next(mode for mode in found.modes if mode.name == refund)
    check = write_guard(own, found, mode, tmp_path / "guard.json")
    assert check.labels == 21
    assert check.labelled_sensitivity.value == pytest.approx(12 / 20)
    assert check.labelled_specificity.value == 1.0
    done = fairtrial("failures", run, "--mode", str(mode.number), "--to-criterion", "guard.json")
    assert "against 21 labels of people: sensitivity 60 % (" in " ".join(done.out.split())


def test_a_guard_without_labels_is_not_calibrated(tmp_path: Path) -> None:
    """Nobody labelled anything, so that nothing is claimed about people."""
    own = open_run(stored(), store=DEFAULT_URL)
    found = own.failures()
    assert write_guard(own, found, found.modes[0], tmp_path / "guard.json").labels == 0


NOTE = "Promises a refund\nThe hotel pays nothing back, and the agent says that it does."


def noted(run: str, notes: dict[int, str]) -> None:
    """Let Ann write notes on failures, by the number of the case."""
    own = open_run(run, store=DEFAULT_URL)
    for number, note in notes.items():
        own.add_label(Label(case_key("bookings", booking(number, "en")), 1, FAILURES, None, 1.0, "ann", note=note))


def rubric_in(path: str) -> str:
    """The text of the only rubric of a configuration, which has to load."""
    (checked,) = check([path])
    assert checked.problems == ()
    (rubric,) = json.loads(Path(path).read_bytes())["criteria"]["rubric_based_final_response_quality_v1"]["rubrics"]
    return str(rubric["rubric_content"]["text_property"])


def refusing() -> str:
    """The id of a run with three refusals and three refunds."""
    kinds = ["the agent refuses"] * 3 + ["a refund is made"] * 3
    cases = [booking(number, "en") for number in range(6)]
    recordings = [plant(kind, case).recording for kind, case in zip(kinds, cases, strict=True)]
    return score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=DEFAULT_URL).info.id


def test_notes_are_examples_of_the_rubric_of_their_mode() -> None:
    """The note on a refusal stands in the rubric about refusals, and the note on a refund does not."""
    run = refusing()
    noted(run, {0: "Says no to a room that is free", 3: "Pays back"})
    done = fairtrial("failures", run, "--mode", "the agent refuses", "--to-criterion", "guard.json")
    assert done.code == 0, done.err
    text = rubric_in("guard.json")
    assert text.startswith("The agent does not decline a request that it can fulfil.")
    assert '"Says no to a room that is free"' in text
    assert "Pays back" not in text


def test_a_mode_that_only_people_named_becomes_a_rubric_and_cases() -> None:
    """No rule follows from a name: the draft of a rubric holds it, with the notes as examples, and says that."""
    run = stored(3, 3)
    noted(run, {0: NOTE, 4: "promises a refund.", 5: "forgets the room"})
    done = fairtrial(
        "failures",
        run,
        "--mode",
        "Promises a refund",
        "--to-criterion",
        "guard.json",
        "--to-cases",
        "new.json",
    )
    assert done.code == 0, done.err
    assert "2 attempts in 2 cases, 67 % of all failures" in done.out
    assert "en-004  attempt 1" in done.out
    assert "needs a judge, so it was not tried" in " ".join(done.out.split())
    text = rubric_in("guard.json")
    assert text.startswith("The agent does not fail in this way: promises a refund.")
    assert "The hotel pays nothing back" in text
    assert [case.id for case in load_eval_set("new.json").cases] == ["en-000", "en-004"]


def test_a_name_that_nobody_gave_is_refused() -> None:
    """The message lists the names. A failure that is none has no guard."""
    run = stored(3, 3)
    assert "people gave no names" in fairtrial("failures", run, "--mode", "odd").err
    noted(run, {0: "promises a refund"})
    done = fairtrial("failures", run, "--mode", "odd")
    assert done.code == 2
    assert "people named 'promises a refund'" in " ".join(done.err.split())


def test_names_follow_the_board() -> None:
    """A name that people changed on the board is counted under the new name, and so is the mode that they renamed."""
    run = stored(3, 2)
    refund = "refund is called and was not expected"
    noted(run, {0: "pays back", 1: "gives money", 2: refund})
    with closing(Store(DEFAULT_URL)) as store:
        board = ModeBoard(store, lambda run_id: open_run(run_id, store=DEFAULT_URL).failures())
        for seen, (name, to) in enumerate((("pays back", "Gives money"), (refund, "Refunds at once"))):
            board.change(run, BoardRequest("ann", seen, "rename", name, to))
    found = open_run(run, store=DEFAULT_URL).failures()
    own = next(mode.number for mode in found.modes if mode.name == refund)
    assert [(name.name, name.attempts, name.mode) for name in found.names] == [
        ("gives money", 2, None),
        ("refunds at once", 1, own),
    ]
    done = fairtrial("failures", run, "--mode", "Refunds at once", "--to-criterion", "guard.json")
    assert f"{own}  {refund}" in done.out
    assert "against 3 labels of people: sensitivity 100 %" in " ".join(done.out.split())


def test_the_command_draws_a_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """`fairtrial label RUN --failures` draws failed attempts. Ways that do not fit are refused."""
    run = stored()
    monkeypatch.setattr("fairtrial.cli.options.viewer_options.ViewerPlace.serve", lambda *_, **__: None)
    done = fairtrial("label", run, "--failures", "--sample", "9", "--as", "ann")
    assert done.code == 0, done.err
    assert "queue 1 of failures: 0 of 9 labels given" in done.out
    assert fairtrial("label", run, "--failures", "--by", "stratum").code == 2


def test_a_run_without_failures_has_nothing_to_label() -> None:
    """A run whose attempts passed has no queue of failures."""
    case = booking(1, "en")
    run = score([perfect(case)], EvalSet("bookings", (case,)), CRITERIA, store=DEFAULT_URL).info.id
    with closing(Store(DEFAULT_URL)) as store, pytest.raises(UsageError, match="no attempt of run"):
        LabelDesk(store).open(run, QueueRequest("", by="failures"))

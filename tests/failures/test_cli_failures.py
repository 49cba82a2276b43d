"""The command `fairtrial failures` lists modes, lists the attempts of one, compares runs, and writes reports."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial import EvalSet, Recording, score
from fairtrial.store import DEFAULT_URL
from planted_failures import booking, perfect, plant

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an empty store."""
    enter(tmp_path, monkeypatch)


def stored(refunds: int, missing: int, passes: int = 12) -> str:
    """The id of a run with so many cases in which a refund was made, a booking was missing, and nothing failed."""
    cases = [booking(number, "en") for number in range(refunds + missing + passes)]
    recordings: list[Recording] = [plant("a refund is made", case).recording for case in cases[:refunds]]
    recordings += [plant("the booking is missing", case).recording for case in cases[refunds : refunds + missing]]
    recordings += [perfect(case) for case in cases[refunds + missing :]]
    return score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=DEFAULT_URL).info.id


def test_modes_are_sorted_by_what_repairing_them_wins() -> None:
    """The mode of eight cases comes before the mode of two, with its share and its interval."""
    done = fairtrial("failures", stored(2, 8))
    assert done.code == 0
    assert "10 of 22 attempts failed, in 10 of 22 cases" in done.out
    lines = [line for line in done.out.splitlines() if "book_room" in line or "refund" in line]
    # Wilson's interval for 8 of 10 with Student's 2.262: (0.8 + z2 / 20 ± z √(0.016 + z2 / 400)) / (1 + z2 / 10).
    assert " ".join(lines[0].split()) == "1 book_room is not called 8 80 % 44 % … 95 % 8 8 6.00"
    assert lines[1].startswith(" 2  refund is called and was not expected")


def test_the_attempts_of_a_mode_have_their_steps() -> None:
    """Each attempt is listed with its place, its reason and the text of the step."""
    done = fairtrial("failures", stored(1, 2), "--mode", "1")
    assert "en-001  attempt 1" in done.out
    assert "invocation 1, reply: book_room was not called, expected with" in done.out
    assert "2 cases would pass if it was repaired" in done.out


def test_an_unknown_mode_is_named() -> None:
    """The message says which modes there are."""
    done = fairtrial("failures", stored(2, 2), "--mode", "7")
    assert done.code == 2
    assert "has no mode 7; it has the modes 1 to 2" in done.err


def test_a_file_holds_no_conversations() -> None:
    """A report is refused with the reason, because its attempts have no conversations."""
    Path("run.json").write_text("{}", encoding="utf-8")
    done = fairtrial("failures", "run.json")
    assert (done.code, "failures need the conversations" in done.err) == (2, True)


def test_a_run_without_failures() -> None:
    """It is said that nothing failed."""
    run = stored(0, 0)
    assert f"No attempt of run {run} failed." in fairtrial("failures", run).out


@pytest.mark.long
def test_a_new_mode_between_two_runs() -> None:
    """A mode of nine of 40 cases that the earlier run did not have is new, also in Markdown."""
    earlier, now = stored(0, 3, 37), stored(9, 0, 31)
    done = fairtrial("failures", now, "--against", earlier, "--markdown", "comment.md")
    assert "refund is called and was not expected" in done.out
    row = next(line for line in done.out.splitlines() if "refund" in line)
    assert " expected new 0 9 23 % " in " ".join(row.split())
    text = Path("comment.md").read_text(encoding="utf-8")
    assert "- **new**: `refund is called and was not expected`, 9 of 40 cases, before 0" in text


@pytest.mark.parametrize("gained", [5, 6])
def test_few_cases_say_how_many_must_change_before_a_mode_does(gained: int) -> None:
    """Six that gain a mode are the fewest with which it is new, and fewer cases show nothing."""
    earlier, now = stored(0, 0, gained), stored(gained, 0, 0)
    shown = " ".join(fairtrial("failures", now, "--against", earlier, "--markdown", "comment.md").out.split())
    sentence = {
        5: "With 5 cases, no difference in cases can be shown: at least 6 cases would have to change.",
        6: "With 6 cases, a difference in cases can be shown only if at least 6 of them change.",
    }[gained]
    assert (" expected new 0 6 " in shown) is (gained == 6)
    assert sentence in shown
    assert sentence in Path("comment.md").read_text(encoding="utf-8")


def test_many_cases_need_no_word_about_their_number() -> None:
    """Each interval is narrower than 20 points."""
    earlier, now = stored(0, 3, 397), stored(9, 0, 391)
    assert "With 400 cases" not in fairtrial("failures", now, "--against", earlier).out


def test_json_holds_every_failed_attempt() -> None:
    """Standard output is JSON alone, with modes and decisive steps."""
    done = fairtrial("failures", stored(1, 2), "--json", "-")
    document = json.loads(done.out)
    assert document["kind"] == "failures"
    assert [mode["name"] for mode in document["modes"]] == ["book_room is not called"]
    assert document["alone"] == 1
    assert {own["step"]["kind"] for own in document["failed"]} == {"call", "reply"}


class _Tags(HTMLParser):
    """Collects the names of the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the name of an element."""
        del attrs
        self.names.add(tag)


def test_the_page_escapes_foreign_texts() -> None:
    """A case whose name is HTML adds no element to the page, and no mark to Markdown."""
    case = booking(0, "en")
    hostile = type(case)("<img src=x onerror=alert(1)>|@team", case.conversation, final_session_state={"room": 1})
    recordings = [plant("a refund is made", hostile, number).recording for number in (1, 2)]
    run = score(recordings, EvalSet("bookings", (hostile,)), CRITERIA, store=DEFAULT_URL)
    done = fairtrial("failures", run.info.id, "--html", "page.html", "--markdown", "page.md")
    assert done.code == 0
    tags = _Tags()
    tags.feed(Path("page.html").read_text(encoding="utf-8"))
    assert "img" not in tags.names
    assert "script" not in tags.names
    assert "<img" not in Path("page.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_show_of_a_failed_run_ends_with_its_largest_modes() -> None:
    """The three largest modes stand at the end of the run, and none at the end of a run that passed."""
    run = stored(2, 3)
    lines = fairtrial("show", run).out.splitlines()
    assert lines[-3] == f"Largest failure modes  `fairtrial failures {run}` shows all"
    assert lines[-2:] == [
        "  1  book_room is not called: 3 attempts in 3 cases",
        "  2  refund is called and was not expected: 2 attempts in 2 cases",
    ]
    assert "Largest failure modes" not in fairtrial("show", stored(0, 0)).out


def test_failures_in_python() -> None:
    """A run returns its failures, and they become a data frame with a row for each failed attempt."""
    polars = pytest.importorskip("polars")
    cases = [booking(number, "ko") for number in range(4)]
    recordings = [plant("the nights are wrong", case).recording for case in cases]
    found = score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA).failures()
    assert found.mode(1).name == "book_room: argument nights differs"
    frame = found.to_frame("polars")
    assert isinstance(frame, polars.DataFrame)
    assert list(frame["field"]) == ["nights"] * 4
    assert list(frame["step"]) == [5] * 4


def test_a_conversation_in_the_terminal_marks_the_decisive_step() -> None:
    """Below the call that was not expected stands the reason. An attempt that passed has no such line."""
    run = stored(1, 0, 1)
    lines = [" ".join(line.split()) for line in fairtrial("show", run, "en-000").out.splitlines()]
    place = lines.index("decisive refund was called, which was not expected")
    assert lines[place - 1].startswith("call refund(")
    assert "decisive" not in fairtrial("show", run, "en-001").out

"""People sort the failures of a run on a board: notes, names, merges, conflicts, agreement, estimates and files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from fairtrial import api, open_run
from fairtrial.analysis.failures.mode_names import name_modes
from fairtrial.analysis.failures.named_failures import names_of_modes
from fairtrial.api.failure_modes.mode_board import ModeBoard
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.errors import UsageError
from fairtrial.records.board_event import BoardEvent
from fairtrial.records.failure_mode import Failures, Signature
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.reports.views.board_shapes import BoardRequest, BoardView, ColumnView, NoteRequest
from fairtrial.store import Store
from mode_runs import BASE, EXTRA, MISSING, NEW, NOW, mode_run
from viewers import fill

FOUND = f"{EXTRA} is called and was not expected"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with two runs, of which the second has two modes: nine failures and five."""
    address = f"sqlite:///{tmp_path}/runs.db"
    store = Store(address)
    fill(store, mode_run(BASE))
    fill(store, mode_run(NOW, extra=EXTRA))
    store.close()
    return address


@pytest.fixture
def viewer(url: str) -> api.StoreViewer:
    """A viewer of the store."""
    return api.StoreViewer(url)


def column(view: BoardView, name: str) -> ColumnView:
    """Return the column of a mode."""
    return next(own for own in view.columns if own.name == name)


def totals(view: BoardView) -> dict[str, int]:
    """Return the number of failures of each column that has any."""
    return {own.name: own.total for own in view.columns if own.total}


def say(viewer: api.StoreViewer, labeler: str, *positions: int, **what: object) -> None:
    """Let a person say something about the failures of some cases."""
    viewer.board.note(NOW, NoteRequest(labeler, [(position, 1) for position in positions], **what))  # type: ignore[arg-type]


def rename(viewer: api.StoreViewer, name: str, to: str, seen: int, labeler: str = "ann") -> None:
    """Let a person give a mode another name."""
    viewer.board.change(NOW, BoardRequest(labeler, seen, "rename", name, to))


def test_the_board_begins_with_the_modes_that_were_found(viewer: api.StoreViewer) -> None:
    """Nobody has read a failure, and "not a failure" is there as a place to put them."""
    view = viewer.board.view(NOW)
    assert totals(view) == {FOUND: 9, "get_reservation is not called": 5}
    assert (view.failures, view.read, view.seen) == (14, 0, 0)
    assert view.columns[-1].key == "not a failure"


def test_the_first_line_of_a_note_is_a_name(viewer: api.StoreViewer) -> None:
    """Whatever its letters and spaces."""
    say(viewer, "ann", NEW[0], note="Changes the  flight unasked.\nIt never asked for consent.")
    say(viewer, "ben", NEW[1], note="changes the flight unasked")
    view = viewer.board.view(NOW)
    assert [own.total for own in view.columns if own.key == "changes the flight unasked"] == [2]
    assert view.read == 2
    assert view.people.labelers == ["ann", "ben"]


def test_failures_move_and_keep_their_notes(viewer: api.StoreViewer) -> None:
    """The name changes, and what else a person wrote stays."""
    say(viewer, "ann", NEW[0], note="first name\nthe rest")
    say(viewer, "ann", NEW[0], NEW[1], name="second name")
    view = viewer.board.view(NOW)
    assert totals(view)["second name"] == 2
    cards = {card.position: card.note for card in column(view, "second name").cards}
    assert cards == {NEW[0]: "second name\nthe rest", NEW[1]: "second name"}


def test_a_mode_is_renamed_and_merged(viewer: api.StoreViewer) -> None:
    """Into a new name or into the name of another mode. What people write later under the old name stands alone."""
    rename(viewer, FOUND, "changes flights", 0)
    assert totals(viewer.board.view(NOW))["changes flights"] == 9
    rename(viewer, "changes flights", "get_reservation is not called", 1)
    assert totals(viewer.board.view(NOW)) == {"get_reservation is not called": 14}


AMOUNT = (Signature("changed", "pay", "amount"), Signature("changed", "pay", "card"))
DAY = (Signature("changed", "pay", "day"), Signature("changed", "pay", "time"))
CRASH = (Signature("break", template="KeyError: …"),)


def failures_with(url: str, *modes: tuple[Signature, ...]) -> Failures:
    """Return the failures of the run as if its modes, of nine and five failures, had other signatures."""
    failures = open_run(NOW, store=url).failures()
    named = zip(failures.modes, name_modes(modes), modes, strict=False)
    return replace(failures, modes=tuple(replace(mode, name=name, signatures=own) for mode, name, own in named))


def open_board(url: str, *modes: tuple[Signature, ...]) -> ModeBoard:
    """Return the board of the run with such modes."""
    return ModeBoard(Store(url), lambda _: failures_with(url, *modes))


@pytest.mark.long
def test_a_mode_keeps_the_name_of_people_when_another_mode_comes(url: str) -> None:
    """The other mode has the same name in words, so that both get brackets, and nobody renamed it."""
    open_board(url, AMOUNT).change(NOW, BoardRequest("ann", 0, "rename", "pay: arguments differ", "pays wrongly"))
    both = {"pays wrongly": 9, "pay: arguments differ (day, time)": 5}
    assert totals(open_board(url, AMOUNT, DAY).view(NOW)) == both
    open_board(url, AMOUNT, DAY).change(NOW, BoardRequest("ann", 1, "rename", "pays wrongly", "pays too much"))
    assert totals(open_board(url, DAY, AMOUNT).view(NOW)) == {
        "pays too much": 5,
        "pay: arguments differ (day, time)": 9,
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("the agent breaks: KeyError: …", {"lost": 9, "pay is not called": 5}),
        ("the attempt fails: KeyError: …", {"lost": 9, "pay is not called": 5}),
        ("pay is not called", {"the attempt fails: KeyError: …": 9, "lost": 5}),
    ],
)
def test_a_change_in_an_older_store_is_found_by_its_name(url: str, name: str, expected: dict[str, int]) -> None:
    """Such a change holds no signatures, and the name may be out of use."""
    Store(url).board(NOW).add(1, BoardEvent("rename", name, "lost", "ann", "2026-01-01"))
    assert totals(open_board(url, CRASH, (Signature("missing", "pay"),)).view(NOW)) == expected


def test_a_change_in_an_older_store_counts_for_all_modes_with_its_name(url: str) -> None:
    """They were one column then."""
    Store(url).board(NOW).add(1, BoardEvent("rename", "pay: arguments differ", "pays wrongly", "ann", "2026-01-01"))
    assert totals(open_board(url, AMOUNT, DAY).view(NOW)) == {"pays wrongly": 14}


def test_a_label_in_an_older_store_means_the_mode_of_its_name(url: str) -> None:
    """If two modes have the name, it means none of them."""
    numbers = names_of_modes(failures_with(url, CRASH, AMOUNT).modes, ())
    assert numbers["the agent breaks: keyerror: …"] == 1
    assert numbers["pay: arguments differ"] == 2
    assert "pay: arguments differ" not in names_of_modes(failures_with(url, AMOUNT, DAY).modes, ())


def test_a_mode_is_split(viewer: api.StoreViewer) -> None:
    """Some of its failures get a name of their own at once."""
    say(viewer, "ann", *NEW[:4], name="wrong date")
    assert totals(viewer.board.view(NOW)) == {FOUND: 5, "get_reservation is not called": 5, "wrong date": 4}


def test_a_mode_is_added_by_hand(viewer: api.StoreViewer) -> None:
    """It is there before a failure is in it."""
    viewer.board.change(NOW, BoardRequest("ann", 0, "add", "forgets the baggage"))
    view = viewer.board.view(NOW)
    assert column(view, "forgets the baggage").total == 0
    assert view.seen == 1


def test_two_people_cannot_overwrite_each_other(viewer: api.StoreViewer) -> None:
    """Who changes modes that somebody changed meanwhile gets a conflict, and nothing is stored."""
    rename(viewer, FOUND, "one", 0, "ann")
    with pytest.raises(api.BoardConflictError):
        rename(viewer, FOUND, "two", 0, "ben")
    assert totals(viewer.board.view(NOW))["one"] == 9


@pytest.mark.long
def test_many_people_at_once_lose_nothing(url: str) -> None:
    """Eight people on viewers of their own: every note is there, and every change of a mode that was accepted."""

    def work(number: int) -> int:
        own = api.StoreViewer(url)
        say(own, f"person {number}", NEW[number], note=f"name {number}")
        accepted = 0
        for _ in range(20):
            seen = own.board.view(NOW).seen
            try:
                own.board.change(NOW, BoardRequest(f"person {number}", seen, "add", f"mode {number}"))
                accepted += 1
                break
            except api.BoardConflictError:
                continue
        own.close()
        return accepted

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(work, range(8)))
    view = api.StoreViewer(url).board.view(NOW)
    assert view.read == 8
    assert view.seen == accepted
    assert sum(own.name.startswith("mode ") for own in view.columns) == accepted


def test_a_wrong_expectation_is_no_failure(viewer: api.StoreViewer, url: str) -> None:
    """It goes to the labels of the run as a fault of the expectation, from which eval sets are repaired."""
    say(viewer, "ann", MISSING[0], is_failure=False)
    assert totals(viewer.board.view(NOW))["not a failure"] == 1
    rows = list(api.labels_as_rows(api.find_run(NOW, url)))
    assert [(row["side"], row["label"], row["case"]) for row in rows] == [("expectation", 0.0, "case 0")]


def test_agreement_counts_failures_that_several_people_named(viewer: api.StoreViewer) -> None:
    """Three failures by two people, of which two have one name. Krippendorff's alpha by hand is 4/9."""
    for author, names in (("ann", "aab"), ("ben", "aba")):
        for position, name in zip(NEW, names, strict=False):
            say(viewer, author, position, name={"a": "alpha", "b": "beta"}[name])
    people = viewer.board.view(NOW).people
    assert (people.several, people.equal) == (3, 1)
    # Coincidences: aa 2, ab 2, ba 2; n = 6, a = 4, b = 2. Observed 4/6, expected 2*4*2/(6*5).
    assert people.alpha == pytest.approx(1 - (4 / 6) / (16 / 30))
    assert any(card.split for own in viewer.board.view(NOW).columns for card in own.cards)


def test_shares_use_the_probabilities_of_the_sample(url: str) -> None:
    """Two of ten read failures have the name. One of them stands for four failures, all others for one each."""
    store = Store(url)
    for place, position in enumerate([*NEW, MISSING[0]]):
        probability = 0.25 if place == 0 else 1.0
        key = CaseKey("travel", f"case {position}", f"{position:064d}")
        name = "wrong date" if place < 2 else "else"
        at = "2026-11-21T10:00:00+00:00"
        store.add_label(
            NOW,
            Label(key, 1, "failures", None, 1.0, "ann", at, name, weight=1 / probability, probability=probability),
        )
    store.close()
    view = api.StoreViewer(url).board.view(NOW)
    share = column(view, "wrong date").share
    assert (view.read, view.drawn) == (10, 10)
    assert share.value == pytest.approx(5 / 13)
    assert share.low is not None
    assert share.high is not None
    assert share.low < 5 / 13 < share.high


def test_failures_of_a_queue_come_first(viewer: api.StoreViewer, url: str) -> None:
    """The board marks the six that were drawn, and says how many of them people read, also of earlier notes."""
    with closing(Store(url)) as store:
        LabelDesk(store).open(NOW, api.QueueRequest("", by="failures", sample=6))
        drawn = {item.position for item in store.label_queues(NOW).items(1)}
    assert len(drawn) == 6
    view = viewer.board.view(NOW)
    assert (view.queued, view.drawn) == (6, 0)
    for own in view.columns:
        flags = [card.queued for card in own.cards]
        assert flags == sorted(flags, reverse=True)
    assert {card.position for own in view.columns for card in own.cards if card.queued} == drawn
    say(viewer, "ann", min(drawn), name="wrong date")
    assert viewer.board.view(NOW).drawn == 1


@pytest.mark.long
def test_a_board_shows_as_many_cards_as_it_is_asked_for(tmp_path: Path) -> None:
    """Of 120 failures in one mode, the first 50, all, or the 60 that a queue drew."""
    url = f"sqlite:///{tmp_path}/large.db"
    with closing(Store(url)) as store:
        fill(store, mode_run(NOW, extra=EXTRA, failures=120))
        LabelDesk(store).open(NOW, api.QueueRequest("", by="failures", sample=60))
        drawn = {item.position for item in store.label_queues(NOW).items(1)}
    board = api.StoreViewer(url).board
    first, whole = column(board.view(NOW), FOUND), column(board.view(NOW, cards=2_000), FOUND)
    of_queue = column(board.view(NOW, cards=2_000, queued_only=True), FOUND)
    assert [(len(own.cards), own.total) for own in (first, whole, of_queue)] == [(50, 120), (120, 120), (60, 60)]
    assert {card.position for card in of_queue.cards} == drawn
    with pytest.raises(UsageError, match=r"^cards: must be 1 to 2,000, got 2001$"):
        board.view(NOW, cards=2_001)


def test_notes_without_a_sample_estimate_nothing(viewer: api.StoreViewer) -> None:
    """Whoever reads what comes first does not know how frequent it is."""
    say(viewer, "ann", NEW[0], name="wrong date")
    assert column(viewer.board.view(NOW), "wrong date").share.value is None


def test_the_decisive_step_is_corrected(viewer: api.StoreViewer, url: str) -> None:
    """Beside the note, and in its file."""
    say(viewer, "ann", NEW[0], note="wrong date", step="1.2")
    file = Path(url.removeprefix("sqlite:///")).with_name("notes.jsonl")
    assert api.write_notes(api.find_run(NOW, url), url, file) == 1
    row = json.loads(file.read_text(encoding="utf-8"))
    assert (row["case"], row["labeler"], row["mode"], row["step"]) == ("case 10", "ann", "wrong date", "1.2")


def test_a_file_of_notes_has_no_formula(viewer: api.StoreViewer, url: str, tmp_path: Path) -> None:
    """A spreadsheet must not compute what somebody wrote."""
    say(viewer, "ann", NEW[0], note="=1+1")
    api.write_notes(api.find_run(NOW, url), url, tmp_path / "notes.csv")
    (row,) = csv.DictReader(io.StringIO((tmp_path / "notes.csv").read_text(encoding="utf-8-sig")))
    assert row["note"] == "'=1+1"


def test_secrets_do_not_reach_the_store(viewer: api.StoreViewer) -> None:
    """A person may paste what they see."""
    secret = "sk-" + "a1B2" * 12
    say(viewer, "ann", NEW[0], note=f"leaks {secret}")
    viewer.board.change(NOW, BoardRequest("ann", 0, "add", f"mode {secret}"))
    assert secret not in str(viewer.board.view(NOW))


@pytest.mark.long
@pytest.mark.parametrize(
    "request_of",
    [
        lambda: NoteRequest("ann", [(49, 1)], name="passed"),
        lambda: NoteRequest("ann", [(999_999, 1)], name="nowhere"),
        lambda: NoteRequest("ann", [], name="nothing"),
        lambda: NoteRequest("ann", [(10, 1)]),
        lambda: NoteRequest("", [(10, 1)], name="x"),
        lambda: NoteRequest("ann", [(10, 1)], note="x" * 20_001),
        lambda: NoteRequest("ann", [(10, 1)], step="../../etc"),
        lambda: NoteRequest("ann", [(10, 1)] * 201, name="x"),
    ],
)
def test_wrong_requests_store_nothing(viewer: api.StoreViewer, request_of: Callable[[], NoteRequest]) -> None:
    """Each is refused with its reason."""
    with pytest.raises(UsageError):
        viewer.board.note(NOW, request_of())
    assert viewer.board.view(NOW).read == 0


def test_a_board_is_exported_and_imported_with_its_run(viewer: api.StoreViewer, url: str, tmp_path: Path) -> None:
    """Another store shows the same board."""
    from fairtrial.store.transfer import export_run, import_run

    say(viewer, "ann", NEW[0], name="wrong date")
    rename(viewer, "get_reservation is not called", "never looks", 0)
    store, other = Store(url), Store(f"sqlite:///{tmp_path}/other.db")
    import_run(other, list(export_run(store, NOW)), "file")
    store.close()
    other.close()
    copy = api.StoreViewer(f"sqlite:///{tmp_path}/other.db").board.view(NOW)
    assert totals(copy) == totals(viewer.board.view(NOW))
    assert copy.seen == 1

"""A judge on a real server assigns what evidence leaves open, and is counted apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial import EvalSet, Recording, open_run, save_eval_set, score
from fairtrial.formats.recordings import line
from fairtrial.records.keys import case_key
from fairtrial.records.label import FAILURES, Label
from fairtrial.store import DEFAULT_URL
from loopback import Loopback, Request
from planted_failures import booking, plant

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
REFUND = "refund is called and was not expected"
JUDGE = ("--judge", "--judge-model", "openai/m", "--votes", "3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an empty store."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def stored() -> str:
    """The id of a run with three refunds, three missing bookings, and a single failure of another kind."""
    kinds = ["a refund is made"] * 3 + ["the booking is missing"] * 3 + ["the method is wrong"]
    cases = [booking(number, "en") for number in range(7)]
    recordings: list[Recording] = [plant(kind, case).recording for kind, case in zip(kinds, cases, strict=True)]
    return score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=DEFAULT_URL).info.id


def saying(quote: str, *answers: str) -> Loopback:
    """A judge that gives the answers for the modes in their order, quotes the same words, and names no mode."""

    def script(request: Request) -> str:
        if asks_for_name(request):
            return json.dumps({"name": ""})
        given = [answers[place] if place < len(answers) else "no" for place in range(len(request.items))]
        entries = [
            {"id": item, "quote": quote, "rationale": "so", "answer": answer}
            for item, answer in zip(request.items, given, strict=True)
        ]
        return json.dumps({"answers": entries})

    return Loopback(script)


def asks_for_name(request: Request) -> bool:
    """Whether a request asks for the name of a mode."""
    return request.schema is not None and "name" in request.schema["properties"]


def naming(*, swaps: bool) -> Loopback:
    """A judge that names both modes. About each conversation it says yes to the right name, or to the wrong one."""
    names = {True: "The agent gives money back although nobody asked", False: "The agent forgets to reserve"}

    def script(request: Request) -> str:
        if asks_for_name(request):
            return json.dumps({"name": names["result: refund" in request.text]})
        refunds = '"tool": "refund"' in request.text
        chosen = request.items[1 if refunds != swaps else 0]
        entries = [
            {"id": item, "quote": "Please pay", "rationale": "so", "answer": "yes" if item == chosen else "no"}
            for item in request.items
        ]
        return json.dumps({"answers": entries})

    return Loopback(script)


@pytest.mark.long
@pytest.mark.parametrize("swaps", [False, True])
def test_a_name_stays_only_if_votes_on_examples_confirm_it(monkeypatch: pytest.MonkeyPatch, *, swaps: bool) -> None:
    """Names that the judge itself mixes up are dropped. The found names and the counts stay in both cases."""
    run = stored()
    with naming(swaps=swaps) as server:
        text = judged(server, run, monkeypatch, "--json", "judged.json")
    assert f"judge: {0 if swaps else 2} of 2 proposed names confirmed by votes on examples" in text
    modes = json.loads(Path("judged.json").read_bytes())["modes"]
    assert [mode["name"] for mode in modes] == ["book_room is not called", REFUND]
    assert [mode["attempts"] for mode in modes] == [3, 3]
    names = ["", ""] if swaps else ["The agent forgets to reserve", "The agent gives money back although nobody asked"]
    assert [mode["judged_name"] for mode in modes] == names


def judged(server: Loopback, run: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The output of the command with a judge on a server."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    done = fairtrial("failures", run, *JUDGE, *arguments)
    assert done.code == 0, done.err
    return " ".join(done.out.split())


def test_an_assignment_by_vote_and_quote_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure without a mode is assigned to the one mode with a yes. The counts of evidence stay as they are."""
    run = stored()
    with saying("Please pay with my card", "yes", "no") as server:
        text = judged(server, run, monkeypatch, "--json", "judged.json")
    questions = [own for own in server.requests if not asks_for_name(own)]
    assert len(questions) == 2  # two of three equal votes decide
    assert len(server.requests) == 4  # and each mode is named by a call
    assert "judge: 1 of 1 failed attempt without a mode assigned by vote and quote, 4 calls" in text
    document = json.loads(Path("judged.json").read_bytes())
    assert [(mode["attempts"], mode["judged"]) for mode in document["modes"]] == [(3, 1), (3, 0)]
    (own,) = [own for own in document["failed"] if own["mode"] is None]
    assert (own["judged_mode"], own["judged_quote"]) == (1, "Please pay with my card")
    assert document["alone"] == 1


@pytest.mark.parametrize(
    ("quote", "answers"),
    [
        ("words that nobody said", ("yes", "no")),
        ("", ("yes", "no")),
        ("Please pay with my card", ("yes", "yes")),
        ("Please pay with my card", ("no", "no")),
    ],
)
def test_nothing_is_assigned_without_a_quote_or_a_single_yes(
    monkeypatch: pytest.MonkeyPatch, quote: str, answers: tuple[str, ...]
) -> None:
    """An invented quote, no quote, two modes and no mode leave the failure alone."""
    run = stored()
    with saying(quote, *answers) as server:
        assert "judge: 0 of 1 failed attempt without a mode" in judged(server, run, monkeypatch)


def test_a_note_of_a_person_is_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A free note is assigned to the mode that the judge says it means. The name of a mode needs no judge."""
    run = stored()
    own = open_run(run, store=DEFAULT_URL)
    for number, note in ((0, "gave money back"), (1, REFUND)):
        key = case_key("bookings", booking(number, "en"))
        own.add_label(Label(key, 1, FAILURES, value=1.0, author="ann", note=note))
    with saying("gave money back", "no", "yes") as server:
        text = judged(server, run, monkeypatch, "--json", "judged.json")
    assert "judge: 'gave money back' means mode 2" in text
    named = {own["name"]: own for own in json.loads(Path("judged.json").read_bytes())["names"]}
    assert (named["gave money back"]["mode"], named["gave money back"]["judged"]) == (2, True)
    assert named[REFUND]["judged"] is False


def test_no_model_is_asked_without_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing needs a judge: without the option, the server gets no request."""
    run = stored()
    with saying("", "yes") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        assert fairtrial("failures", run).code == 0
    assert server.requests == []


def test_the_judge_reads_the_conversations_that_a_folder_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set that was scored into a folder is judged as a run is: its failure alone is assigned."""
    kinds = ["a refund is made"] * 3 + ["the booking is missing"] * 3 + ["the method is wrong"]
    cases = [booking(number, "en") for number in range(7)]
    recordings = [plant(kind, case).recording for kind, case in zip(kinds, cases, strict=True)]
    save_eval_set(EvalSet("bookings", tuple(cases)), "bookings.evalset.json")
    Path("traffic.jsonl").write_bytes(b"".join(map(line, recordings)))
    Path("test_config.json").write_text(json.dumps({"criteria": CRITERIA}), encoding="utf-8")
    scored = ("traffic.jsonl", "--against", "bookings.evalset.json", "--out", "results", "--store", "none", "--quiet")
    assert fairtrial("score", *scored).code == 1
    with saying("Please pay with my card", "yes", "no") as server:
        text = judged(server, "results", monkeypatch, "--json", "judged.json")
    assert "judge: 1 of 1 failed attempt without a mode assigned by vote and quote, 4 calls" in text
    document = json.loads(Path("judged.json").read_bytes())
    assert [(mode["attempts"], mode["judged"]) for mode in document["modes"]] == [(3, 1), (3, 0)]
    (own,) = [own for own in document["failed"] if own["mode"] is None]
    assert (own["case"], own["judged_mode"], own["judged_quote"]) == ("en-006", 1, "Please pay with my card")

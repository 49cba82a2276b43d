"""`fairtrial judge choose` and `judge align` choose a judge by labels, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import enter, fairtrial
from labelled_runs import CRITERION, STORE, AskedJudges, connect, judge_replies, label, write_config
from loopback import Loopback

pytestmark = pytest.mark.long

OF_RUN = ("--criterion", CRITERION, "--config", "test_config.json", "--store", STORE)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder without a store, and a server with judges."""
    enter(tmp_path, monkeypatch)
    with Loopback(AskedJudges({"a": 0.3, "c": 0.02})) as server:
        connect(server, monkeypatch)
        yield


def ids() -> list[str]:
    """Two runs of two judges over the same recordings. People labelled the first."""
    config = write_config()
    runs = [judge_replies(config, f"openai/m-{model}") for model in "ac"]
    label(runs[0])
    return [run.info.id for run in runs]


def table() -> None:
    """Write verdicts of two judges, of which the first is right about 96 % and the second about two thirds."""
    lines = ["item,label,verdict,judge"]
    for item in range(200):
        people = item % 2 == 0
        for judge, period in (("good", 25), ("bad", 3)):
            verdict = people != (item % period == 0)
            lines.append(f"{item},{'pass' if people else 'fail'},{'pass' if verdict else 'fail'},{judge}")
    Path("verdicts.csv").write_text("\n".join(lines), encoding="utf-8")


def test_choose_shows_the_test_and_the_search() -> None:
    """The numbers of the labels that chose are said to flatter."""
    done = fairtrial("judge", "choose", *ids(), *OF_RUN)
    assert done.code == 0, done.err
    assert "openai/m-c" in done.out
    assert "on 45 labels that had no part in the choice" in done.out
    assert "The chosen judge is better: it saves" in done.out
    assert "so that these numbers flatter" in done.out


def test_choose_says_whether_a_floor_holds() -> None:
    """The exit code is 1 if the test does not show it."""
    table()
    held = fairtrial("judge", "choose", "--recorded", "verdicts.csv", "--specificity", "0.8")
    assert (held.code, "Its specificity is at least 80 %." in held.out) == (0, True), held.out
    open_floor = fairtrial("judge", "choose", "--recorded", "verdicts.csv", "--specificity", "0.97")
    assert open_floor.code == 1
    assert "These labels do not decide whether its specificity is at least 97 %." in open_floor.out


def test_choose_writes_json() -> None:
    """With the same numbers."""
    table()
    done = fairtrial("judge", "choose", "--recorded", "verdicts.csv", "--current", "bad", "--json", "-")
    document = json.loads(done.out)
    assert (document["kind"], document["verdict"], document["after"]["name"]) == ("judge choice", "better", "good")
    assert document["gain"]["low"] > 0


def test_few_labels_say_how_little_they_show_of_both_judges() -> None:
    """The sentence names the least certain rate of the test. The numbers of the search flatter, and have none."""
    table()
    done = fairtrial("judge", "choose", "--recorded", "verdicts.csv", "--current", "bad", "--json", "choice.json")
    choice = json.loads(Path("choice.json").read_text(encoding="utf-8"))
    rates = {
        (choice[judge]["name"], rate): choice[judge][rate]
        for judge in ("before", "after")
        for rate in ("accuracy", "sensitivity", "specificity")
    }
    (judge, rate), widest = max(rates.items(), key=lambda own: own[1]["high"] - own[1]["low"])
    low, high = (f"{100 * widest[end]:.0f}" for end in ("low", "high"))
    reach = f"the {rate} of {judge} can be anywhere from {low} to {high} %"
    assert f"With 100 labels, {reach}: this is too little to say more. The chosen" in " ".join(done.out.split())
    assert done.out.count("can be anywhere") == 1


def test_a_table_needs_no_run() -> None:
    """Options that would have no effect are refused."""
    table()
    done = fairtrial("judge", "choose", "20260102", "--recorded", "verdicts.csv")
    assert (done.code, "--recorded does not go with a run" in done.err) == (2, True)


def test_a_run_needs_its_criterion_and_its_configuration() -> None:
    """The message names both."""
    done = fairtrial("judge", "choose", "20260102", "--store", STORE)
    assert (done.code, "--criterion and --config" in done.err) == (2, True)


def test_align_writes_the_new_configuration() -> None:
    """And prints what changed in it."""
    runs = ids()
    done = fairtrial("judge", "align", *runs, *OF_RUN, "-o", "better.json")
    assert done.code == 0, done.err
    options = json.loads(Path("better.json").read_text(encoding="utf-8"))["criteria"][CRITERION]
    assert options["judge_model_options"]["judge_model"] == "openai/m-c"
    assert '+        "judge_model": "openai/m-c"' in done.out
    assert fairtrial("check", "better.json").code == 0


def test_align_replaces_a_configuration_and_keeps_a_backup() -> None:
    """Only if it is asked to."""
    runs = ids()
    old = Path("test_config.json").read_bytes()
    assert fairtrial("judge", "align", *runs, *OF_RUN, "--apply").code == 0
    assert Path("test_config.json.backup").read_bytes() == old
    assert b"m-c" in Path("test_config.json").read_bytes()


def test_a_second_replacement_keeps_both_backups() -> None:
    """The first file is not lost."""
    runs = ids()
    old = Path("test_config.json").read_bytes()
    Path("test_config.json.backup").write_text("earlier", encoding="utf-8")
    assert fairtrial("judge", "align", *runs, *OF_RUN, "--apply").code == 0
    assert Path("test_config.json.backup").read_text(encoding="utf-8") == "earlier"
    assert Path("test_config.json.backup-2").read_bytes() == old


def test_a_judge_that_reaches_the_rates_is_written() -> None:
    """It is what was asked for. Without a test that shows it, nothing is written."""
    runs = ids()
    held = fairtrial("judge", "align", *runs, *OF_RUN, "--sensitivity", "0.8", "-o", "better.json")
    assert (held.code, Path("better.json").exists()) == (0, True), held.out
    unproven = fairtrial("judge", "align", *runs, *OF_RUN, "--sensitivity", "0.99", "--again", "-o", "unproven.json")
    assert (unproven.code, Path("unproven.json").exists()) == (1, False), unproven.out


def test_no_better_judge_exits_with_1_and_writes_nothing() -> None:
    """It is a result."""
    first, _ = ids()
    done = fairtrial("judge", "align", first, *OF_RUN, "-o", "better.json")
    assert done.code == 1
    assert "No judge that was searched loses less: the current judge stays." in done.out
    assert not Path("better.json").exists()


def test_an_unknown_search_is_refused() -> None:
    """With the allowed ones."""
    done = fairtrial("judge", "align", "20260102", *OF_RUN, "--search", "luck")
    assert (done.code, "model, panel, threshold, examples, instructions or all, got 'luck'" in done.err) == (2, True)


def test_a_hostile_key_cannot_print_a_line_of_its_own() -> None:
    """Items of a table may have any name."""
    table()
    text = Path("verdicts.csv").read_text(encoding="utf-8").replace("\n0,", '\n"0\x1b[2Jboo",')
    Path("verdicts.csv").write_text(text, encoding="utf-8")
    done = fairtrial("judge", "choose", "--recorded", "verdicts.csv", "--current", "bad")
    assert "\x1b[2J" not in done.out


@pytest.mark.parametrize(
    ("cassette", "message"),
    [
        (["--cassette", "calls.jsonl", "--cassette-mode", "auto"], "the replies so far are in calls.jsonl"),
        ([], "no reply was kept; with --cassette FILE --cassette-mode auto"),
    ],
)
def test_an_interrupt_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, cassette: list[str], message: str) -> None:
    """The replies so far are named with their file, or how to keep them."""
    from fairtrial import api

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "align_judge", interrupt)
    done = fairtrial("judge", "align", "20260102", *OF_RUN, "--max-calls", "9", *cassette)
    assert (done.code, message in done.err) == (130, True), done.err

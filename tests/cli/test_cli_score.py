"""The command `fairtrial score` compares recordings with the right expectations."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import MATCH, Done, case, enter, eval_set, fairtrial, session, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set, and sessions that answer it."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("a", "b"))


def score(*arguments: str | Path) -> Done:
    """Score without keeping anything, with the results on stdout."""
    return fairtrial("score", *arguments, "--json", "-", "--store", "none", "--config", "test_config.json")


def verdicts(done: Done) -> dict[str, str]:
    """The verdicts of all attempts."""
    return {f"{one['case_id']}/{one['attempt']}": one["verdict"] for one in done.json["attempts"]}


def verdicts_by_set(done: Done) -> dict[tuple[str, str], str]:
    """The verdicts of cases with one attempt, by the ids of their eval set and of the case."""
    return {(each["eval_set"], each["case_id"]): each["verdict"] for each in done.json["attempts"]}


def test_recordings_meet_their_cases_by_id() -> None:
    """By default the id of a recording names its case, whatever the order of the files."""
    write("a.session.json", session("b", "b", "ok"))
    write("b.session.json", session("a", "a", "no"))
    done = score("a.session.json", "b.session.json", "--against", "trips.evalset.json")
    assert verdicts(done) == {"a/1": "failed", "b/1": "passed"}
    assert done.code == 1


def test_a_case_without_recording_is_an_error() -> None:
    """A case that nobody recorded is an error of the infrastructure, and the run is unscored."""
    write("a.session.json", session("a", "a", "ok"))
    done = score("a.session.json", "--against", "trips.evalset.json")
    assert done.json["attempts"][1]["failure"] == {"side": "infrastructure", "cause": "no recording", "traceback": ""}
    assert done.json["attempts"][1]["outcomes"][0]["verdict"] == "unscored"
    assert done.code == 3


def test_a_recording_without_case_is_a_warning() -> None:
    """A recording that no case expects is told of, and changes nothing."""
    for name in ("a", "b", "stray"):
        write(f"{name}.session.json", session(name, name, "ok"))
    done = score(".", "--against", "trips.evalset.json")
    assert "warning: recording 'stray' belongs to no case" in done.err
    assert verdicts(done)["a/1"] == "passed"


def test_several_recordings_of_a_case_are_attempts() -> None:
    """Recordings with the id of one case are its attempts in their order."""
    write("1.session.json", session("a", "a", "ok"))
    write("2.session.json", session("a", "a", "no"))
    done = score("1.session.json", "2.session.json", "--against", "trips.evalset.json:a")
    assert verdicts(done) == {"a/1": "passed", "a/2": "failed"}


def test_match_by_session() -> None:
    """--match session looks for the session that the case is pinned to, else for the case's id."""
    pinned = {**case("a"), "session_input": {"app_name": "app", "user_id": "u", "session_id": "s-17"}}
    write("pinned.evalset.json", eval_set(pinned, "b"))
    write("1.session.json", session("b", "b", "ok"))
    write("2.session.json", session("s-17", "a", "no"))
    done = score("1.session.json", "2.session.json", "--against", "pinned.evalset.json", "--match", "session")
    assert verdicts(done) == {"a/1": "failed", "b/1": "passed"}


def test_match_by_order() -> None:
    """--match order pairs the first recording with the first case, whatever their ids."""
    write("1.session.json", session("x", "a", "no"))
    write("2.session.json", session("y", "b", "ok"))
    done = score("1.session.json", "2.session.json", "--against", "trips.evalset.json", "--match", "order")
    assert verdicts(done) == {"a/1": "failed", "b/1": "passed"}


def test_unknown_ways_to_match_are_refused() -> None:
    """--match takes id, session, query and order."""
    done = score("trips.evalset.json", "--match", "name")
    assert (done.code, "'id', 'session', 'query', 'order'" in done.err) == (2, True)


def test_only_chooses_among_the_cases() -> None:
    """--only leaves the other cases out, recorded or not."""
    write("a.session.json", session("a", "a", "ok"))
    done = score("a.session.json", "--against", "trips.evalset.json", "--only", "a")
    assert (verdicts(done), done.code) == ({"a/1": "passed"}, 0)


def test_only_that_matches_nothing_is_refused() -> None:
    """A glob without a case is a mistake, with the nearest name."""
    write("a.session.json", session("a", "a", "ok"))
    write("long.evalset.json", eval_set("order_status"))
    done = score("a.session.json", "--against", "long.evalset.json", "--only", "order_stauts")
    assert (done.code, "did you mean 'order_status'?" in done.err) == (2, True)


def test_choosing_behind_the_recording_is_refused() -> None:
    """FILE:case behind a recording would be silently ignored with --against; it is refused."""
    write("a.session.json", session("a", "a", "ok"))
    done = score("a.session.json:a", "--against", "trips.evalset.json")
    assert (done.code, "--only" in done.err) == (2, True)


def test_messages_that_differ_are_a_warning() -> None:
    """Where the user said something else than expected, the terminal report says so."""
    write("a.session.json", session("a", "something else", "ok"))
    done = score("a.session.json", "--against", "trips.evalset.json:a")
    assert "warning: the user's message of invocation 1 differs" in done.err


def results(folder: str, eval_set_file: str) -> None:
    """Run the test agent on an eval set, and keep ADK's result file."""
    done = fairtrial(
        "run", eval_set_file, "--agent", "commands:obedient", "--adk-results", folder, "--store", "none", "--quiet"
    )
    assert done.code in (0, 1)


def test_adk_results_load_again() -> None:
    """What --adk-results writes is scored again with the same verdicts, without --against."""
    write("mixed.evalset.json", eval_set("good", "fail", name="mixed"))
    results("out", "mixed.evalset.json")
    done = score("out")
    assert verdicts(done) == {"good/1": "passed", "fail/1": "failed"}


def test_each_result_file_answers_its_own_cases() -> None:
    """Two eval sets may share the id of a case: each recording is held against the expectation beside it."""
    write("x.evalset.json", eval_set(case("fail", "ok"), name="x"))
    write("y.evalset.json", eval_set(case("fail", "no"), name="y"))
    results("out", "x.evalset.json")
    results("out", "y.evalset.json")
    assert verdicts_by_set(score("out")) == {("x", "fail"): "failed", ("y", "fail"): "passed"}


def test_recordings_that_name_their_eval_set_go_to_its_cases() -> None:
    """With --against two sets that share an id, the eval set named in the recording decides."""
    write("x.evalset.json", eval_set(case("fail", "ok"), name="x"))
    write("y.evalset.json", eval_set(case("fail", "no"), name="y"))
    results("out", "x.evalset.json")
    results("out", "y.evalset.json")
    done = score("out", "--against", "x.evalset.json", "--against", "y.evalset.json")
    assert verdicts_by_set(done) == {("x", "fail"): "failed", ("y", "fail"): "passed"}


def test_attempts_survive_the_way_through_adk() -> None:
    """A case written once for each attempt is read as attempts again."""
    write("mixed.evalset.json", eval_set("good", name="mixed"))
    fairtrial(
        *("run", "mixed.evalset.json", "--agent", "commands:obedient", "--attempts", "3"),
        *("--adk-results", "out", "--store", "none", "--quiet"),
    )
    assert verdicts(score("out")) == {"good/1": "passed", "good/2": "passed", "good/3": "passed"}


def test_an_eval_set_alone_is_a_recording_without_expectation() -> None:
    """An eval set that is scored by itself is what happened: nothing is expected, so nothing is passed."""
    done = score("trips.evalset.json")
    assert set(verdicts(done).values()) == {"informational"}
    assert done.code == 3


def test_without_any_expectation_the_way_to_one_is_named() -> None:
    """Only where nobody chose the criteria: those by default need an expectation."""
    write("alone/a.session.json", session("a", "a", "ok"))
    said = "warning: the recordings do not contain what was expected"
    assert said in fairtrial("score", "alone/a.session.json", "--store", "none").err
    assert said not in score("alone/a.session.json").err
    assert said not in fairtrial("score", "alone", "--against", "trips.evalset.json", "--store", "none").err


def test_something_recorded_is_needed() -> None:
    """RECORDED is required, and a file that holds no conversation is refused."""
    assert fairtrial("score").code == 2
    done = score("test_config.json")
    assert (done.code, "holds EvalConfig" in done.err) == (2, True)


def test_all_unreadable_files_are_listed() -> None:
    """Every file that cannot be read is named with its place; nothing is scored."""
    Path("bad1.json").write_text('{"events": [', encoding="utf-8")
    Path("bad2.json").write_text("[1, 2]", encoding="utf-8")
    done = score("bad1.json", "bad2.json")
    assert done.code == 2
    assert "bad1.json: line 1" in done.err
    assert "bad2.json: /: is not in a format that is read here" in done.err

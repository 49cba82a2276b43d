"""Do files become what is to be run and scored: cases, criteria, recordings?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay import api
from assay.data.case import EvalCase, EvalSet, SessionInput
from assay.data.recording import Recording
from assay.data.trace import Trace
from assay.data.work import Work
from assay.errors import ConfigError, FormatError, UsageError
from assay.load import Wanted, chosen, criteria_for, criteria_in, match, read_file, sources, works
from builders import case, eval_set, recording, said, turn


def written(folder: Path, name: str, document: Any) -> Path:
    """A file with a JSON document."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def config(**criteria: float) -> dict[str, Any]:
    """A configuration."""
    return {"criteria": criteria}


SET = eval_set({"user_content": said("hi")})


def test_a_folder_is_searched_for_eval_sets(tmp_path: Path) -> None:
    """`*.test.json` and `*.evalset.json`, at any depth, in the order of their names; other files are left alone."""
    for name in ("b.test.json", "a/x.evalset.json", "a/notes.json", "session.json"):
        written(tmp_path, name, SET)
    found = [Path(source.loaded.path).relative_to(tmp_path) for source in sources([tmp_path])]
    assert list(map(str, found)) == ["a/x.evalset.json", "b.test.json"]


def test_a_folder_of_recordings_holds_more_kinds(tmp_path: Path) -> None:
    """Sessions, results and JSON lines."""
    written(tmp_path, "a.session.json", {"id": "s", "events": []})
    written(tmp_path, "b.evalset_result.json", {"eval_case_results": []})
    written(tmp_path, "c.jsonl", '{"messages": []}\n{"messages": []}\n')
    found = sources([tmp_path], recorded=True)
    assert [source.loaded.kind for source in found] == ["session", "eval set result", "chat messages"]


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    """Names matter in folders only."""
    (found,) = sources([written(tmp_path, "notes.txt", SET)])
    assert found.loaded.eval_set is not None


@pytest.mark.parametrize("name", ["missing.json", "missing.evalset.json:one"])
def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """Nothing runs."""
    with pytest.raises(UsageError, match="no such file or folder"):
        sources([tmp_path / name])


def test_a_folder_without_eval_sets_is_a_usage_error(tmp_path: Path) -> None:
    """An empty run would be green by accident."""
    with pytest.raises(UsageError, match=r"holds no \*\.test\.json or \*\.evalset\.json"):
        sources([tmp_path])


def test_the_problems_of_all_files_are_listed_at_once(tmp_path: Path) -> None:
    """A case that cannot be read ends with exit 2, all of them listed."""
    written(tmp_path, "a.test.json", "{")
    written(tmp_path, "b.test.json", {"eval_cases": [{"eval_id": "x"}, {"eval_id": "y"}]})
    with pytest.raises(UsageError) as caught:
        sources([tmp_path])
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert [Path(line.partition(": ")[0]).name for line in lines] == ["a.test.json", "b.test.json", "b.test.json"]


def test_a_config_where_an_eval_set_is_needed_is_refused(tmp_path: Path) -> None:
    """The message says what the file holds."""
    with pytest.raises(FormatError, match="holds EvalConfig, where an eval set is needed"):
        sources([written(tmp_path, "x.json", config(safety_v1=1))])


def test_a_file_that_cannot_be_opened_is_a_format_error(tmp_path: Path) -> None:
    """A folder is no file."""
    with pytest.raises(FormatError, match="directory"):
        read_file(tmp_path)


def test_a_name_that_is_no_unicode_is_a_format_error(tmp_path: Path) -> None:
    """A name in EUC-KR could not be stored or shown."""
    name = b"\xc7\xd1.test.json".decode("utf-8", "surrogateescape")
    with pytest.raises(FormatError, match="has a name that is not UTF-8"):
        read_file(tmp_path / name)


def test_the_nearest_config_counts(tmp_path: Path) -> None:
    """The `test_config.json` beside the file, else the next one upwards, up to the folder that was given."""
    written(tmp_path, "test_config.json", config(response_match_score=0.1))
    written(tmp_path, "set/test_config.json", config(response_match_score=0.2))
    written(tmp_path, "set/near/test_config.json", config(response_match_score=0.3))
    for name in ("set/near/a.test.json", "set/far/b.test.json", "set/c.test.json"):
        written(tmp_path, name, SET)
    found = sources([tmp_path / "set"])
    assert [criteria_for(one).criteria[0].threshold for one in found] == [0.2, 0.2, 0.3]
    (alone,) = sources([tmp_path / "set/far/b.test.json"])
    assert criteria_for(alone).origin == "defaults", "of a single file only the config beside it counts"


def test_without_config_adks_defaults_count(tmp_path: Path) -> None:
    """And it is said that they did."""
    (found,) = sources([written(tmp_path, "a.test.json", SET)])
    made = criteria_for(found)
    assert made.origin == "defaults"
    assert [(one.name, one.threshold) for one in made.criteria[:2]] == [
        ("tool_trajectory_avg_score", 1.0),
        ("response_match_score", 0.8),
    ]


def test_a_missing_config_is_an_error(tmp_path: Path) -> None:
    """The peer takes its defaults, and the run is green."""
    with pytest.raises(ConfigError, match="no such configuration file"):
        criteria_in(tmp_path / "missing.json")


def test_empty_criteria_are_an_error_at_their_place(tmp_path: Path) -> None:
    """Nothing would be tested."""
    with pytest.raises(ConfigError, match=r"c\.json: /criteria: must name at least one criterion"):
        criteria_in(written(tmp_path, "c.json", {"criteria": {}}))


def test_a_config_error_names_its_file(tmp_path: Path) -> None:
    """There may be several."""
    file = written(tmp_path, "c.json", config(made_up=1))
    with pytest.raises(ConfigError) as caught:
        criteria_in(file)
    assert str(caught.value).startswith(f"{file}: /criteria/made_up: ")


def test_an_eval_set_is_no_config(tmp_path: Path) -> None:
    """The message says what the file holds."""
    with pytest.raises(FormatError, match="holds eval set, where an EvalConfig"):
        criteria_in(written(tmp_path, "c.json", SET))


def test_warnings_of_a_config_are_kept(tmp_path: Path) -> None:
    """Repairs, and options that are newer than we are."""
    file = written(tmp_path, "c.json", '{"criteria": {"response_match_score": {"threshold": 1, "newer": 1,}}}')
    warnings = criteria_in(file, lenient=True).warnings
    assert len(warnings) == 2
    assert all(str(file) in warning for warning in warnings)


def todo(*sets: EvalSet, only: tuple[str, ...] = ()) -> list[Work]:
    """The cases of these sets that are chosen."""
    wanted = [Wanted(one, ()) for one in sets]
    return chosen(works(wanted), wanted, only)


def cases(name: str, *ids: str) -> EvalSet:
    """An eval set of empty cases."""
    return EvalSet(name, tuple(EvalCase(one) for one in ids))


def test_cases_keep_their_order_over_all_files() -> None:
    """Positions count through."""
    assert [(one.position, one.id) for one in todo(cases("s", "b", "a"), cases("t", "c"))] == [
        (0, "b"),
        (1, "a"),
        (2, "c"),
    ]


def test_ids_that_two_sets_share_are_told_apart() -> None:
    """By the set's id, and by a number where even that is shared."""
    assert [one.id for one in todo(cases("s", "a", "b"), cases("t", "a"))] == ["s:a", "b", "t:a"]
    assert [one.id for one in todo(cases("s", "a"), cases("s", "a"))] == ["s:a#1", "s:a#2"]


@pytest.mark.parametrize(
    ("only", "found"), [(("a1",), ["a1"]), (("a*",), ["a1", "a2"]), (("b", "a2"), ["a2", "b"]), ((), ["a1", "a2", "b"])]
)
def test_only_chooses_by_glob(only: tuple[str, ...], found: list[str]) -> None:
    """In file order, whatever the order of the globs."""
    assert [one.id for one in todo(cases("s", "a1", "a2", "b"), only=only)] == found


def test_a_glob_that_matches_nothing_is_a_usage_error_with_the_nearest_id() -> None:
    """A typo must not make a run empty."""
    with pytest.raises(UsageError, match="no case matches 'refnud'; did you mean 'refund'"):
        todo(cases("s", "refund"), only=("refnud",))


def test_a_file_may_name_its_cases(tmp_path: Path) -> None:
    """`FILE:case1,case2`, as in ADK; the file of that very name wins."""
    file = written(tmp_path, "a.test.json", SET)
    (found,) = sources([f"{file}:one, two"])
    assert (found.only, found.loaded.path) == (("one", "two"), str(file))
    written(tmp_path, "a.test.json:one", SET)
    assert sources([f"{file}:one"])[0].only == ()


def test_cases_of_a_file_that_are_not_there_are_a_usage_error() -> None:
    """As for `--only`."""
    wanted = [Wanted(cases("s", "one"), (), ("two",))]
    with pytest.raises(UsageError, match="no case matches 'two'"):
        chosen(works(wanted), wanted)


def matched(todo: list[Work], heard: list[Recording], **options: Any) -> list[tuple[str, int, bool]]:
    """The case, attempt and "was recorded" of each pair."""
    pairs, _ = match(todo, heard, **options)
    return [(work.id, one.attempt, one.failure is None) for work, one in pairs]


def test_recordings_are_matched_by_the_id_of_their_case() -> None:
    """In the order of the cases."""
    heard = [recording(turn(), name="b"), recording(turn(), name="a")]
    assert matched(todo(cases("s", "a", "b")), heard) == [("a", 1, True), ("b", 1, True)]


def test_several_recordings_of_a_case_are_its_attempts_in_order() -> None:
    """Whatever number they were given elsewhere."""
    heard = [replace(recording(turn(reply=str(i)), name="a"), attempt=7) for i in range(3)]
    pairs, _ = match(todo(cases("s", "a")), heard)
    assert [(one.attempt, one.trace.invocations[0].reply) for _, one in pairs] == [(1, "0"), (2, "1"), (3, "2")]


def test_a_case_without_recording_is_an_error_of_the_infrastructure() -> None:
    """It is not left out."""
    ((_, missing),) = match(todo(cases("s", "a")), [])[0]
    assert missing.failure is not None
    assert (missing.failure.side, missing.failure.cause) == ("infrastructure", "no recording")


def test_a_recording_without_case_is_a_warning() -> None:
    """It was recorded for something."""
    assert match(todo(cases("s", "a")), [recording(name="a"), recording(name="z")])[1] == [
        "recording 'z' belongs to no case"
    ]


def test_recordings_are_matched_by_session() -> None:
    """By the session that the case pins, else by the case's id."""
    pinned = replace(case(name="a"), session_input=SessionInput(extra={"session_id": "s1"}))
    heard = [Recording("x", Trace(session_id="s1")), Recording("y", Trace(session_id="b"))]
    assert matched(todo(EvalSet("s", (pinned, case(name="b")))), heard, by="session") == [
        ("a", 1, True),
        ("b", 1, True),
    ]


def test_recordings_are_matched_by_order() -> None:
    """Whatever they are called."""
    heard = [recording(name="y"), recording(name="x")]
    assert matched(todo(cases("s", "a", "b", "c")), heard, by="order") == [
        ("a", 1, True),
        ("b", 1, True),
        ("c", 1, False),
    ]


def test_results_of_one_eval_set_are_attempts_at_its_cases(tmp_path: Path) -> None:
    """ADK writes a file for each run: a folder of them holds the attempts at the same cases."""
    for name in ("first", "second"):
        invocation = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": name}]}}
        expected = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "first"}]}}
        pair = {"actual_invocation": invocation, "expected_invocation": expected}
        case = {"eval_id": "a", "eval_metric_result_per_invocation": [pair]}
        body = {"eval_set_id": "s", "eval_case_results": [case]}
        (tmp_path / f"{name}.evalset_result.json").write_text(json.dumps(body))
    run = api.score(tmp_path, criteria={"response_match_score": 1.0})
    assert [(one.case_id, one.attempt, one.verdict) for one in run.cases] == [("a", 1, "passed"), ("a", 2, "failed")]


def test_an_id_that_is_a_number_is_no_place_in_the_order() -> None:
    """The case called "1" stands first, and is answered by what was recorded first."""
    heard = [recording(turn(reply=str(i)), name="x") for i in range(2)]
    pairs, _ = match(todo(cases("s", "1", "0")), heard, by="order")
    assert [(work.id, one.trace.invocations[0].reply) for work, one in pairs] == [("1", "0"), ("0", "1")]


def test_what_answers_some_of_the_cases_keeps_its_attempts() -> None:
    """A run of a few cases scores all that was recorded of them."""
    works = todo(cases("s", "a", "b"))
    recorded, _ = match(works, [recording(name="b"), recording(name="a"), recording(name="b")])
    assert len(recorded) == 3
    assert [(work.id, one.attempt) for work, one in recorded.of(works[1:])] == [("b", 1), ("b", 2)]

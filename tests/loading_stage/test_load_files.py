"""Loading finds the files that are meant, and their contents."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairtrial.errors import FormatError, UsageError
from fairtrial.loading import read_file, sources
from loading import SET, config, written


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
    with pytest.raises(FormatError, match="holds EvalConfig, but an eval set is needed"):
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


def test_a_file_may_name_its_cases(tmp_path: Path) -> None:
    """`FILE:case1,case2`, as in ADK; the file of that very name wins."""
    file = written(tmp_path, "a.test.json", SET)
    (found,) = sources([f"{file}:one, two"])
    assert (found.only, found.loaded.path) == (("one", "two"), str(file))
    written(tmp_path, "a.test.json:one", SET)
    assert sources([f"{file}:one"])[0].only == ()

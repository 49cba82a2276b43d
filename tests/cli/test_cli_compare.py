"""The command `fairtrial compare` reads runs from a store, from reports and from exports."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from commands import enter, fairtrial
from fairtrial.store import DEFAULT_URL
from graded_runs import Value, graded_run

BASE: dict[str, list[Value]] = {"a": [1.0, 0.0], "b": [0.0, 0.0], "c": [1.0, 1.0]}
CANDIDATE: dict[str, list[Value]] = {"a": [1.0, 1.0], "b": [0.0, "agent"], "c": [0.0, 0.0]}


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two runs in the store of this folder."""
    enter(tmp_path, monkeypatch)
    return graded_run(BASE, store=DEFAULT_URL).info.id, graded_run(CANDIDATE, store=DEFAULT_URL).info.id


def test_the_table_has_a_line_for_each_measure(ids: tuple[str, str]) -> None:
    """Both values, the difference with its interval, and the cases that moved."""
    done = fairtrial("compare", *ids)
    assert done.code == 0
    assert "3 cases, 2 attempts each, about cases like these" in done.out
    (line,) = [line for line in done.out.splitlines() if line.strip().startswith("cases ")]
    assert line.split()[1:7] == ["50", "%", "33", "%", "-17", "points"]
    assert "broken: c" in done.out
    assert "fixed: a" in done.out
    assert "all pass (pass^k)" in done.out


@pytest.mark.parametrize(("cases", "broken"), [(2, 2), (4, 4), (5, 4), (5, 5)])
def test_few_cases_say_how_many_must_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: int, broken: int
) -> None:
    """Five cases that break are the fewest that show a difference: four of four or of five do not."""
    enter(tmp_path, monkeypatch)
    base: dict[str, list[Value]] = {f"case {n}": [1.0] for n in range(cases)}
    candidate: dict[str, list[Value]] = {f"case {n}": [float(n >= broken)] for n in range(cases)}
    runs = [graded_run(own, store=DEFAULT_URL).info.id for own in (base, candidate)]
    done = fairtrial("compare", *runs, "--markdown", "compared.md")
    texts = (done.out, Path("compared.md").read_text(encoding="utf-8"))
    few = f"With {cases} cases, no difference in cases can be shown: at least 5 cases would have to change."
    enough = "With 5 cases, a difference in cases can be shown only if at least 5 of them change."
    for text in texts:
        assert ("passes less often" in text) is (broken == 5)
        assert (few in text) is (cases < 5)
        assert (enough in text) is (broken == 4 and cases == 5)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("ko", "케이스 3개 기준으로는 케이스의 어떤 차이도 보여 줄 수 없습니다. 적어도 케이스 5개가 바뀌어야 합니다."),
        ("ja", "ケース3件では、ケースの差を示せません。少なくともケース5件が変わる必要があります。"),
        ("zh-CN", "只有 3 个用例，无法显示用例中的任何差异：至少要有 5 个用例发生变化。"),
        ("zh-TW", "只有 3 個案例，無法顯示案例中的任何差異：至少要有 5 個案例發生變化。"),
    ],
)
def test_the_sentence_about_few_cases_is_in_the_language_of_the_terminal(
    ids: tuple[str, str], language: str, sentence: str
) -> None:
    """With its number of cases."""
    assert sentence in fairtrial("--lang", language, "compare", *ids).out


@pytest.mark.long
def test_reports_and_exports_give_the_same_numbers(ids: tuple[str, str]) -> None:
    """A report that --json wrote, a run that was exported, and the store itself."""
    fairtrial("show", ids[0], "--json", "base.json")
    fairtrial("runs", "export", ids[1], "candidate.jsonl")
    from_store, from_files = (
        fairtrial("compare", *runs, "--json", "-").json for runs in (ids, ("base.json", "candidate.jsonl"))
    )
    del from_store["runs"], from_files["runs"]
    assert from_files == from_store


def test_the_base_may_be_in_another_store(ids: tuple[str, str]) -> None:
    """For example, in the store of the main branch."""
    elsewhere = graded_run(BASE, store="sqlite:///main.db").info.id
    done = fairtrial("compare", elsewhere, ids[1], "--base-store", "sqlite:///main.db", "--json", "-")
    assert done.json["rows"][0]["base"] == 0.5


def test_the_json_has_every_field(ids: tuple[str, str]) -> None:
    """A field without a value is null."""
    fairtrial("compare", *ids, "--json", "out/compared.json")
    found = json.loads(Path("out/compared.json").read_text())
    assert found["kind"] == "compare"
    assert found["rows"][0]["mcnemar"] is None
    assert found["rows"][1]["p_holm"] is not None


def test_several_candidates_are_a_list(ids: tuple[str, str]) -> None:
    """One document for each candidate."""
    third = graded_run(BASE, store=DEFAULT_URL).info.id
    found = fairtrial("compare", *ids, third, "--json", "-").json
    assert [document["runs"][1]["id"] for document in found] == [ids[1], third]


@pytest.mark.long
def test_all_runs_are_one_html_page(ids: tuple[str, str], tmp_path: Path) -> None:
    """It holds the conversations of each run, so that a file of a run is refused."""
    third = graded_run(BASE, store=DEFAULT_URL).info.id
    page = tmp_path / "pages" / "compared.html"
    fairtrial("compare", *ids, third, "--html", str(page))
    content = page.read_text(encoding="utf-8")
    assert all(f'id="details-{number}-0"' in content for number in range(3))
    Path("candidate.json").write_text(fairtrial("show", ids[1], "--json", "-").out, encoding="utf-8")
    refused = fairtrial("compare", ids[0], "candidate.json", "--html", str(page))
    assert "--html needs runs of a store, got the file candidate.json" in refused.err
    assert refused.code == 2


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("{}", "must be a report that --json wrote"),
        ('{"fairtrial_export": 1}\n', "must hold a run that `fairtrial runs export` wrote"),
    ],
)
def test_other_files_are_refused(ids: tuple[str, str], file: str, problem: str) -> None:
    """The message says what the file must be."""
    Path("wrong.json").write_text(file)
    done = fairtrial("compare", ids[0], "wrong.json")
    assert done.code == 2
    assert problem in done.err


def test_a_hostile_id_prints_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break in the id of a case cannot print a line that looks like the report."""
    enter(tmp_path, monkeypatch)
    hostile = [graded_run({"x\n PASSED": [value], "y": [1.0]}, store=DEFAULT_URL).info.id for value in (1.0, 0.0)]
    out = fairtrial("compare", *hostile).out
    assert "\n PASSED" not in out
    assert r"broken: x\n PASSED" in out
    assert msgspec.json.decode(fairtrial("compare", *hostile, "--json", "-").out)

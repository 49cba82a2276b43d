"""Commands print in the language of `--lang`, or of the locale. Files stay English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import fairtrial
from fairtrial.store import DEFAULT_URL
from graded_runs import graded_run

BASE = {f"case_{number}": [1.0 if number < 7 else 0.0] for number in range(12)}
WORDS = {
    "ko": ("실패", "평가 기준", "케이스 12개", "후보", "판단 불가"),
    "ja": ("不合格", "評価基準", "ケース12件", "候補", "判定不能"),
    "zh-TW": ("失敗", "評估準則", "12 個案例", "候選", "無法判定"),
    "zh-CN": ("失败", "评估准则", "12 个用例", "候选", "无法判定"),
}
"""A verdict, the title of a table, a number of cases, the second run, and the verdict of a gate."""


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two runs in the store of a folder."""
    monkeypatch.chdir(tmp_path)
    return graded_run(BASE, store=DEFAULT_URL).info.id, graded_run(BASE, store=DEFAULT_URL).info.id


@pytest.mark.long
@pytest.mark.parametrize("language", WORDS)
def test_a_run_a_comparison_and_a_decision_speak_a_language(ids: tuple[str, str], language: str) -> None:
    """The names of cases and criteria, and the commands, stay as they are."""
    failed, criterion, cases, candidate, undecided = WORDS[language]
    shown = fairtrial("show", ids[0], "--lang", language)
    assert [word in shown.out for word in (failed, criterion, "case_7")] == [True] * 3
    assert "5 cases failed" not in shown.out
    compared = fairtrial("compare", *ids, "--lang", language).out
    assert [word in compared for word in (cases, candidate)] == [True] * 2
    assert "candidate" not in compared
    decided = fairtrial("gate", ids[0], "--at-least", "0.6", "--lang", language)
    assert undecided in decided.out


def test_the_locale_is_the_default(ids: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And `--lang en` is English in each locale."""
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert "평가 기준" in fairtrial("show", ids[0]).out
    assert "criterion" in fairtrial("show", ids[0], "--lang", "en").out


@pytest.mark.long
def test_files_stay_as_they_are(ids: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs read them. Only the HTML page has a language."""
    options = ["--json", "own.json", "--junit", "own.xml", "--markdown", "own.md"]
    fairtrial("show", ids[0], *options)
    names = ("own.json", "own.xml", "own.md")
    english = [Path(name).read_text(encoding="utf-8") for name in names]
    Path("own.md").unlink()
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    fairtrial("show", ids[0], *options)
    assert [Path(name).read_text(encoding="utf-8") for name in names] == english
    compared = fairtrial("compare", *ids, "--json", "-", "--markdown", "compared.md").out
    assert "candidate" in Path("compared.md").read_text(encoding="utf-8")
    assert json.loads(compared)["kind"] == "compare"


HISTORY = {"ko": "비교한 케이스", "ja": "比較したケース", "zh-TW": "已比較", "zh-CN": "已比较"}
"""The title of a column of `fairtrial history`."""
MISSING = {"ko": "없습니다", "ja": "ありません", "zh-TW": "沒有", "zh-CN": "没有"}
"""A word of each error about something that does not exist."""


@pytest.mark.parametrize("language", WORDS)
def test_every_command_has_the_option(ids: tuple[str, str], language: str) -> None:
    """Tables of other commands, and a list of runs."""
    assert HISTORY[language] in fairtrial("history", "--lang", language).out
    assert WORDS[language][0] in fairtrial("runs", "--lang", language).out
    flaky = fairtrial("flaky", ids[0], "--lang", language).out
    assert "always passed" not in flaky
    assert "--attempts 2" in flaky


@pytest.mark.parametrize("language", WORDS)
def test_errors_speak_a_language(ids: tuple[str, str], language: str) -> None:
    """Of this package and of its options. What was found, and the nearest name, stay as they are."""
    assert ids
    unknown = fairtrial("show", "99", "--lang", language)
    assert (unknown.code, MISSING[language] in unknown.err, "'99'" in unknown.err) == (2, True, True)
    option = fairtrial("show", "--lang", language, "--nosuch").err
    assert ("--nosuch" in option, "No such" in option, "Usage" in option) == (True, False, False)
    command = fairtrial("shwo", "--lang", language).err
    assert ("'show'" in command, "did you mean" in command, MISSING[language] in command) == (True, False, True)


def test_reasons_are_translated_where_they_are_drawn(ids: tuple[str, str]) -> None:
    """The store holds them in English."""
    stored = fairtrial("show", ids[0], "--json", "-", "--lang", "ko").json
    assert "cases failed" in str(stored["run"])
    assert "케이스 5개 실패" in fairtrial("show", ids[0], "--lang", "ko").out


def test_the_variable_comes_before_the_locale(ids: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And `--lang` before both."""
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    monkeypatch.setenv("FAIRTRIAL_LANG", "ja")
    assert "評価基準" in fairtrial("show", ids[0]).out
    assert "评估准则" in fairtrial("show", ids[0], "--lang=zh-CN").out

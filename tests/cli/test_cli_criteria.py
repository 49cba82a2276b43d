"""The command `fairtrial criteria` explains the criteria, and prints configurations that work."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

import pytest

from commands import fairtrial, start
from fairtrial.metrics.entries import CATALOG, QUESTIONS, RECIPES


def test_the_table_names_every_criterion() -> None:
    """Without a name every criterion has a row, and the nine questions follow."""
    done = fairtrial("criteria")
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.startswith(" ") and line.strip()}
    assert rows.keys() >= CATALOG.keys()
    assert len(QUESTIONS) == 9
    assert all(question in done.out for question, _, _ in QUESTIONS)


@pytest.mark.long
def test_in_a_narrow_terminal_nothing_of_the_table_is_lost() -> None:
    """What each criterion needs stands below its name, within the 80 cells of a plain terminal."""
    ours, theirs = os.openpty()
    process = start("criteria", stdout=theirs, env={"TERM": "dumb"})
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # at its end a terminal of Linux gives an error
        while more := os.read(ours, 65536):
            shown += more
    os.close(ours)
    assert process.communicate(timeout=60)[1] == ""
    above = shown.decode().partition("Which one?")[0].splitlines()
    assert max(map(len, above)) <= 80
    assert {line.strip() for line in above} >= set(CATALOG)
    assert sum("needs: " in line for line in above) == len(CATALOG)


@pytest.mark.parametrize("name", CATALOG)
def test_each_criterion_is_explained(name: str) -> None:
    """A name gets its purpose, its options with their defaults, and a sample."""
    done = fairtrial("criteria", name)
    assert done.code == 0
    assert done.out.startswith(f"{name}\n")
    assert "When to use it:" in done.out
    assert "Options:" in done.out
    assert "object at 0x" not in done.out


@pytest.mark.parametrize("name", CATALOG)
def test_each_sample_is_a_config(name: str, tmp_path: Path) -> None:
    """The sample at the end of an explanation can be used."""
    sample = tmp_path / "sample.json"
    sample.write_text("{" + fairtrial("criteria", name).out.rpartition("\n{")[2], encoding="utf-8")
    done = fairtrial("check", sample)
    assert done.code == 0, done.out


@pytest.mark.parametrize("situation", RECIPES)
def test_each_situation_prints_a_config(situation: str, tmp_path: Path) -> None:
    """--for prints nothing but a config, ready to be written into a file."""
    done = fairtrial("criteria", "--for", situation)
    assert set(done.json["criteria"]) == set(RECIPES[situation])
    file = tmp_path / "test_config.json"
    file.write_text(done.out, encoding="utf-8")
    assert fairtrial("check", file).code == 0


def test_misspelt_names_get_the_nearest() -> None:
    """An unknown criterion is refused with the nearest known name."""
    done = fairtrial("criteria", "response_match")
    assert (done.code, "did you mean 'response_match_score'?" in done.err) == (2, True)


def test_a_name_and_a_situation_exclude_each_other() -> None:
    """NAME and --for together are refused."""
    assert fairtrial("criteria", "safety_v1", "--for", "ci").code == 2


def test_unknown_situations_are_refused() -> None:
    """--for lists what it takes."""
    done = fairtrial("criteria", "--for", "everything")
    assert (done.code, "'ci'" in done.err) == (2, True)


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("", 120), ("0", 120), ("wide", 120), ("200", 200)])
def test_a_pipe_is_as_wide_as_columns_says(columns: str, widest: int) -> None:
    """COLUMNS is the variable that other programs follow, too. Nothing else in it changes the width."""
    out, _ = start("criteria", env={"COLUMNS": columns}).communicate(timeout=60)
    lengths = [len(line) for line in out.partition("Which one?")[0].splitlines()]
    assert widest * 0.6 < max(lengths) <= widest


@pytest.mark.parametrize("language", ["ko", "ja", "zh-TW", "zh-CN"])
def test_the_table_is_in_the_language_of_the_terminal(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its titles, and each cell but names. A reference reply is not the reference of a measurement."""
    monkeypatch.setenv("COLUMNS", "250")
    table = fairtrial("criteria", "--lang", language).out.partition("\n\n")[0]
    words = set(re.findall(r"[a-z]{2,}", re.sub(r"\w*_\w*|Vertex", "", table)))
    assert words <= {"contains", "scope", "conversation"}
    assert {"ko": "참조 답변", "ja": "参照回答", "zh-TW": "參考答案", "zh-CN": "参考答案"}[language] in table

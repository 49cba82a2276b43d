"""Commands print names of users as they are in each language, and translate no line in part."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from commands import enter, fairtrial, write
from fairtrial.text import languages, translated_lines

AGENT = """\
from fairtrial import Score, ToolCall, ToolResult

COUNT = [0]

def zebra_agent(conversation):
    COUNT[0] += 1
    query = conversation.invocations[-1].query
    yield ToolCall("zebra_tool", {"zebra_key": "x"})
    yield ToolResult("zebra_tool", {"ok": True})
    if query == "Boom?":
        raise LookupError("no such thing")
    yield "yes" if COUNT[0] % 3 else "no"

def quality(trace, case):
    return Score(0.5, "so so")
"""
CASES = [
    {"id": "zebra", "question": "One?", "expected": "yes", "zebra_column": "zebra_group"},
    {"id": "zebra two", "question": "Two?", "expected": "yes", "zebra_column": "zebra_other"},
    {"id": "zebra_boom", "question": "Boom?", "expected": "yes", "zebra_column": "zebra_group"},
    {"id": "zebra_four", "question": "Four?", "expected": "never", "zebra_column": "zebra_other"},
]
CONFIG = {
    "criteria": {"contains": 1.0, "zebra_metric": 0.9, "response_match_score": 0.5},
    "custom_metrics": {"zebra_metric": {"code_config": {"name": "zoo.quality"}}},
}
NAMES = (
    *("zebra", "zebra two", "zebra_boom", "zebra_four", "zebra_metric", "zebra_tool", "zebra_key", "zebra_agent"),
    *("zebra_column", "zebra_group", "zebra_other", "zebra_run", "zebra_tag", "zoo", "zoo:zebra_agent", "zoo.jsonl"),
)
SIGN = "\N{ZEBRA FACE}"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The ids of two runs."""
    enter(tmp_path, monkeypatch)
    sys.modules.pop("zoo", None)
    Path("zoo.py").write_text(AGENT, encoding="utf-8")
    Path("zoo.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in CASES), encoding="utf-8")
    write("config.json", CONFIG)
    options = ("--agent", "zoo:zebra_agent", "--attempts", "2", "--name", "zebra_run", "--tag", "zebra_tag")
    fairtrial("run", "zoo.jsonl", *options, "--config", "config.json")
    fairtrial("run", "zoo.jsonl", *options, "--config", "config.json")
    base, run = sorted(fairtrial("runs", "--quiet").out.split())
    fairtrial("record", "zoo.jsonl", "--agent", "zoo:zebra_agent", "-o", "recorded.jsonl")
    Path("list.csv").write_text("question\nOne?\nTwo?\n", encoding="utf-8")
    return base, run


@pytest.fixture
def korean_names(runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The runs, in a program whose Korean has a word for each name of the user."""
    words = {**languages.translations("ko"), **dict.fromkeys(NAMES, SIGN)}

    def translations(_: str) -> Mapping[str, str]:
        return words

    translated_lines._line.cache_clear()
    monkeypatch.setattr(languages, "translations", translations)
    monkeypatch.setattr(translated_lines, "translations", translations)
    return runs


COMMANDS = (
    "demo",
    "run zoo.jsonl --agent zoo:zebra_agent --config config.json --attempts 2",
    "run zoo.jsonl --agent zoo:zebra_agent --config config.json --only zebra_bom",
    "run zoo.jsonl --agent zoo:zebra_agnt",
    "score recorded.jsonl --against zoo.jsonl --config config.json",
    "check zoo.jsonl config.json recorded.jsonl",
    "runs",
    "show RUN",
    "show RUN zebra",
    "failures RUN",
    "failures RUN --mode 1",
    "flaky RUN",
    "compare BASE RUN",
    "compare BASE RUN --by zebra_column",
    "gate RUN --claim zebra_metric>=0.2 --claim cases>=0.1",
    "gate RUN --claim cases<=0.9",
    "gate RUN --not-worse-by 0.2 --against BASE --measure zebra_metric",
    "plan RUN --detect 0.1 --measure zebra_metric",
    "history",
    "history --case zebra",
    "history --failures",
    "criteria",
    "criteria zebra_metric --config config.json",
    "mutate zoo.jsonl --config config.json",
    "record zoo.jsonl --agent zoo:zebra_agent -o zoo_recorded.jsonl",
    "expect recorded.jsonl -o expected.evalset.json",
    "convert zoo.jsonl -o converted.evalset.json",
    "redact recorded.jsonl -o redacted.jsonl",
    "export RUN -o spans.jsonl",
    "init zebra_evals",
    "init --agent zoo:zebra_agent --csv list.csv",
    "run --profile ci",
    "doctor",
    "labels list RUN",
)


@pytest.mark.long
def test_no_name_of_a_user_is_translated(korean_names: tuple[str, str]) -> None:
    """Neither in a table nor in a line, of all commands that print names of cases, criteria, agents, tools and runs."""
    shown = print_all(korean_names, "ko")
    leaks = {command: lines for command, text in shown.items() if (lines := re.findall(f".*{SIGN}.*", text))}
    assert leaks == {}
    assert all(name in "".join(shown.values()) for name in NAMES if name not in ("zebra_key", "zebra_other"))


def print_all(runs: tuple[str, str], language: str) -> dict[str, str]:
    """What each command prints in a language."""
    names = dict(zip(("BASE", "RUN"), runs, strict=True))
    shown = {}
    for command in COMMANDS:
        done = fairtrial(*(names.get(word, word) for word in command.split()), "--lang", language)
        shown[command] = done.out + done.err
    return shown


FOREIGN = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|\[[^]]*\]|(?:fairtrial|pip install) .*|zebra two"
    r"|\w+Error: .*|(?:run|score) zoo.*"
    r"|I want to cancel an order\.|Which order do you mean\? Please tell me its number\.|B-42\. Please cancel it\."
    r"|Order B-42 is cancelled\.|You get your money back\."
    r"|(?:Wilson with t|exact end|t on logarithms|two extra cases, sign flips)"
)
"""Commands, texts of users and of the example, errors of Python, and the names of methods of statistics."""
SCRIPTS = re.compile("[가-힣぀-ヿ一-鿿]")
PHRASE = re.compile(
    r"(?<![\w.@/-])(?:[a-z]+ (?:an?|the|of|or|and|to|with|is|are|no|that|it) [a-z]|(?:[a-z]{2,} ){2}[a-z])"
)


def english_part(line: str) -> str:
    """The English phrase in a line that has a translated one, or nothing."""
    phrase = PHRASE.search(FOREIGN.sub("", line)) if SCRIPTS.search(line) else None
    return "" if phrase is None else phrase[0]


def test_the_walk_of_lines_finds_half_of_a_line() -> None:
    """As these were printed once."""
    assert english_part("? 판단 불가: 케이스 10 % 이상 (0 %): the interval holds the limit; 케이스 29개")
    assert english_part("턴 1  –  it broke in here")
    assert english_part("시도 3회 (신뢰구간: Wilson with t, exact end)") == ""
    assert english_part("every case has the same value in both runs") == ""


@pytest.mark.long
@pytest.mark.parametrize("language", [own for own in languages.LANGUAGES if own != "en"])
def test_no_printed_line_is_translated_in_part(
    language: str, runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all commands that need no server, no model and no browser, line by line, on a wide terminal."""
    monkeypatch.setenv("COLUMNS", "250")
    shown = print_all(runs, language)
    halves = {
        f"{command}: {line.strip()}": part
        for command, text in shown.items()
        for line in text.splitlines()
        if (part := english_part(line))
    }
    assert halves == {}
    lines = [line for text in shown.values() for line in text.splitlines()]
    assert sum(SCRIPTS.search(line) is not None for line in lines) > 300

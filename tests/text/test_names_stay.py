"""A name of a user stays as it is in each language, also if it is a word that this package translates."""

from __future__ import annotations

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
    """The ids of two runs, in a program whose Korean has a word for each name of the user."""
    enter(tmp_path, monkeypatch)
    sys.modules.pop("zoo", None)
    Path("zoo.py").write_text(AGENT, encoding="utf-8")
    write("zoo.jsonl", CASES[0]).write_text("".join(f"{str(case).replace(chr(39), chr(34))}\n" for case in CASES))
    write("config.json", CONFIG)
    options = ("--agent", "zoo:zebra_agent", "--config", "config.json", "--attempts", "2")
    for _ in range(2):
        fairtrial("run", "zoo.jsonl", *options, "--name", "zebra_run", "--tag", "zebra_tag")
    base, run = sorted(fairtrial("runs", "--quiet").out.split())
    words = {**languages.translations("ko"), **dict.fromkeys(NAMES, SIGN)}

    def translations(_: str) -> Mapping[str, str]:
        return words

    translated_lines._line.cache_clear()
    monkeypatch.setattr(languages, "translations", translations)
    monkeypatch.setattr(translated_lines, "translations", translations)
    return base, run


COMMANDS = (
    "run zoo.jsonl --agent zoo:zebra_agent --config config.json --attempts 2",
    "run zoo.jsonl --agent zoo:zebra_agent --config config.json --only zebra_bom",
    "check zoo.jsonl config.json",
    "runs",
    "show RUN",
    "show RUN zebra",
    "failures RUN",
    "failures RUN --mode 1",
    "flaky RUN",
    "compare BASE RUN",
    "compare BASE RUN --by zebra_column",
    "gate RUN --claim zebra_metric>=0.2 --claim cases>=0.1",
    "gate RUN --not-worse-by 0.2 --against BASE --measure zebra_metric",
    "plan RUN --detect 0.1 --measure zebra_metric",
    "history",
    "history --case zebra",
    "history --failures",
    "criteria zebra_metric --config config.json",
    "mutate zoo.jsonl --config config.json",
    "record zoo.jsonl --agent zoo:zebra_agent -o zoo_recorded.jsonl",
)


@pytest.mark.long
def test_no_name_of_a_user_is_translated(runs: tuple[str, str]) -> None:
    """Neither in a table nor in a line, of all commands that print names of cases, criteria, agents, tools and runs."""
    base, run = runs
    names = {"BASE": base, "RUN": run}
    leaks = {}
    shown = ""
    for command in COMMANDS:
        done = fairtrial(*(names.get(word, word) for word in command.split()), "--lang", "ko")
        shown += done.out + done.err
        if lines := [line for line in (done.out + done.err).splitlines() if SIGN in line]:
            leaks[command] = lines
    assert leaks == {}
    assert all(shown.count(name) for name in NAMES if name not in ("zebra_key", "zebra_other"))

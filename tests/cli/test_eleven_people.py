"""The first steps of people with different material: at most three commands each, as they type them.

`FAIRTRIAL_TEST_PYTHON` names another Python, for example of a fresh environment with the wheel.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PYTHON = os.environ.get("FAIRTRIAL_TEST_PYTHON", sys.executable)
EXAMPLES = Path(__file__).parents[2] / "examples"
AGENT = "def reply(message: str):\n    return 'Paris' if 'France' in message else 'Rome'\n"
CAPITALS = "question,expected\nWhat is the capital of France?,Paris\nAnd of Italy?,Rome\nAnd of Spain?,Madrid\n"
CHAIN = """
class Chain:
    def invoke(self, question):
        return {"answer": "It takes 5 days.", "context": ["Delivery takes 5 days."]}

chain = Chain()
"""
NOTEBOOK = """
import fairtrial
from fairtrial import Case
run = fairtrial.evaluate([Case("Hi", expected="Hello", calls=[])], lambda conversation: "Hello")
print(run.report())
print(run._repr_html_()[:4], len(list(run.rows())))
run.check()
"""
TESTS = """
import pytest
from fairtrial import Case, evaluate

def test_capital():
    run = evaluate([Case("Capital of France?", expected="Paris")], lambda _: "Lyon", {"contains": 1.0})
    run.check()
"""


@dataclass(frozen=True)
class Person:
    """The files that a person has, and the steps: arguments of Python, the exit code, and texts that they then see."""

    files: dict[str, str]
    steps: Sequence[tuple[Sequence[str], int, Sequence[str]]]
    examples: Sequence[str] = field(default=())


def table(question: str, expected: str, *rows: tuple[str, str]) -> str:
    """A table of questions with a header in the reader's language."""
    return "\n".join(f"{first},{second}" for first, second in ((question, expected), *rows)) + "\n"


def ten_thousand(share: int) -> str:
    """Ten thousand recordings. One in `share` gives the wrong answer."""
    lines = []
    for number in range(10_000):
        reply = "no" if number % share == 0 else "yes"
        messages = [{"role": "user", "content": f"Is {number} even or odd?"}, {"role": "assistant", "content": reply}]
        lines.append(json.dumps({"id": f"q{number}", "messages": messages}))
    return "\n".join(lines)


FT = ("-m", "fairtrial")
FIRST_GATE = (*FT, "init", "--agent", "bot:reply", "--csv")
PEOPLE = {
    "ADK user": Person(
        {},
        [
            ((*FT, "check", "shop.evalset.json"), 0, ["eval set, 3 cases"]),
            ((*FT, "run", "shop.evalset.json", "--agent", "agent:reply"), 1, ["get_order", "FAILED: 1 case failed"]),
        ],
        ("shop.evalset.json", "agent.py"),
    ),
    "CI engineer": Person(
        {"bot.py": AGENT, "capitals.csv": CAPITALS},
        [
            ((*FIRST_GATE, "capitals.csv"), 0, ["gate:", "next: fairtrial run --profile ci"]),
            ((*FT, "run", "--profile", "ci", "--junit", "junit.xml"), 1, ["FAILED"]),
        ],
    ),
    "ten thousand recordings": Person(
        {
            "a.jsonl": ten_thousand(10),
            "b.jsonl": ten_thousand(5),
            "cases.csv": "id,question,expected\n"
            + "".join(f"q{number},Is {number} even or odd?,yes\n" for number in range(10_000)),
        },
        [
            ((*FT, "score", "a.jsonl", "--against", "cases.csv", "-q"), 1, ["FAILED"]),
            ((*FT, "score", "b.jsonl", "--against", "cases.csv", "-q"), 1, ["FAILED"]),
            ((*FT, "compare", "{run-2}", "{run-1}"), 0, ["worse"]),
        ],
    ),
    "Korean developer": Person(
        {"bot.py": "def reply(message):\n    return '서울'\n", "질문.csv": table("질문", "정답", ("수도는?", "서울"))},
        [((*FIRST_GATE, "질문.csv", "--lang", "ko"), 0, ["통과"])],
    ),
    "Japanese developer": Person(
        {"bot.py": "def reply(message):\n    return '東京'\n", "q.csv": table("質問", "正解", ("首都は？", "東京"))},
        [((*FIRST_GATE, "q.csv", "--lang", "ja"), 0, ["合格"])],
    ),
    "Chinese developer": Person(
        {"bot.py": "def reply(message):\n    return '北京'\n", "q.csv": table("问题", "答案", ("首都是？", "北京"))},
        [((*FIRST_GATE, "q.csv", "--lang", "zh-CN"), 0, ["通过"])],
    ),
    "production traces": Person(
        {},
        [
            ((*FT, "init", "traces", "--example", "langfuse"), 0, ["next: fairtrial score"]),
            (
                (*FT, "score", "traces/langfuse.json", "--against", "traces/order.evalset.json", "--match", "order"),
                0,
                ["PASSED"],
            ),
            ((*FT, "expect", "traces/langfuse.json", "-o", "new/set.evalset.json"), 0, ["1 case"]),
        ],
    ),
    "notebook": Person({"cells.py": NOTEBOOK}, [(("cells.py",), 0, ["response_match_score", "<"])]),
    "someone who only looks": Person({}, [((*FT, "demo"), 0, ["get_order", "FAILED"])]),
    "KnowledgePulse": Person({}, [((*FT, "value", "traces.jsonl"), 0, ["value"])], ("traces.jsonl",)),
    "graph without an eval set": Person(
        {"bot.py": AGENT, "questions.csv": "question\nWhat is the capital of France?\nAnd of Italy?\n"},
        [
            ((*FIRST_GATE, "questions.csv"), 0, ["correct those that are wrong", "gate:"]),
            ((*FT, "run", "--profile", "ci"), 0, ["PASSED"]),
        ],
    ),
    "CSV and a RAG chain": Person(
        {"rag.py": CHAIN, "rag.csv": "question,answer\nHow long does delivery take?,It takes 5 days.\n"},
        [((*FT, "run", "rag.csv", "--agent", "rag:chain"), 0, ["PASSED"])],
    ),
    "pytest user": Person({"test_capital.py": TESTS}, [(("-m", "pytest", "-q", "--strict-markers"), 1, ["1 failed"])]),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_each_person_arrives_within_three_steps(name: str, tmp_path: Path) -> None:
    """The exit codes are right, what they look for is shown, and no step ends in a traceback of ours."""
    person = PEOPLE[name]
    assert len(person.steps) <= 3
    for file, text in person.files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    for file in person.examples:
        shutil.copyfile(EXAMPLES / file, tmp_path / file)
    began = time.monotonic()
    runs: list[str] = []
    for arguments, code, texts in person.steps:
        typed = [text.format(**{f"run-{i + 1}": run for i, run in enumerate(runs)}) for text in arguments]
        environment = {**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1"}
        for variable in ("GITHUB_ACTIONS", "FAIRTRIAL_LANG"):
            environment.pop(variable, None)
        done = subprocess.run(
            [PYTHON, *typed], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert [text for text in texts if text not in said] == [], said
        assert "Traceback" not in said
        listed = subprocess.run(
            [PYTHON, *FT, "runs", "--json", "-"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
        )
        runs = [run["id"] for run in json.loads(listed.stdout)["runs"]] if listed.returncode == 0 else []
    print(f"{name}: {len(person.steps)} steps, {time.monotonic() - began:.0f} s")  # noqa: T201

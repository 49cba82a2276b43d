"""The first steps of users of ADK and of LangGraph, with their frameworks and as the install page has them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kinds import HERE
from shop import EVAL_SET

from fairtrial.formats.adk.write import dumps
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall

pytestmark = pytest.mark.agents


def step(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, in the current folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)]), "COLUMNS": "120"}
    command = [sys.executable, "-m", "fairtrial", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(importlib.util.find_spec("google") is None, reason="needs google-adk")
def test_a_project_of_adk_is_checked_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its eval set and its agent are taken as they are. The call that the agent did not make is shown."""
    pytest.importorskip("google.adk")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(HERE / "adk_shop", "adk_shop", ignore=shutil.ignore_patterns("__pycache__"))
    call = ToolCall("get_order", {"order_id": "A-17"})
    lacking = EvalCase("lacking", (Invocation(Message("hello"), (call,), Message("You said: hello")),))
    Path("shop.evalset.json").write_bytes(dumps(EvalSet("shop", (*EVAL_SET.cases, lacking))))
    checked = step("check", ".")
    assert (checked.returncode, "shop.evalset.json" in checked.stdout) == (0, True), checked.stderr
    done = step("run", "shop.evalset.json", "--agent", "adk:adk_shop")
    assert done.returncode == 1, done.stderr
    assert "lacking  failed  fault: agent" in done.stdout
    assert 'get_order(order_id="A-17")' in done.stdout
    assert f"{len(EVAL_SET.cases)} passed, 1 failed" in done.stdout


def test_a_graph_without_an_eval_set_gets_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a table of questions: the replies of the graph become the expectations, and the gate passes with them."""
    pytest.importorskip("langgraph")
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text("question\nWhere is A-17?\nWhere is B-42?\nhello\n", encoding="utf-8")
    begun = step("init", "--agent", "langgraph_shop:agent", "--csv", "questions.csv")
    assert begun.returncode == 0, begun.stderr
    assert "next: fairtrial run --profile ci" in begun.stdout
    assert "get_order" in next(Path().rglob("*.evalset.json")).read_text(encoding="utf-8")
    done = step("run", "--profile", "ci")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout

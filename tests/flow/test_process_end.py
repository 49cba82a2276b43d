"""Runs in which an agent or a metric ends the process never exit with 0."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path

import ending_agents
import pytest

from commands import MATCH, enter, eval_set, fairtrial, finish, start_python, write
from fairtrial import evaluate
from fairtrial.system.process_end import process_kept

pytestmark = pytest.mark.long

HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    write("t.evalset.json", eval_set("a", "b"))
    write("config.json", MATCH)


def run(agent: str, config: str = "config.json") -> int:
    """The exit code of a run in this process."""
    return fairtrial("run", "t.evalset.json", "--agent", agent, "--config", config, "--store", "none").code


@pytest.mark.parametrize("agent", ["hard", "hard_async", "soft", "in_a_task", "as_another_program"])
def test_an_agent_that_ends_the_process_has_an_error_of_its_case(agent: str) -> None:
    """Every other case is run, too."""
    arguments = ("t.evalset.json", "--agent", f"ending_agents:{agent}", "--config", "config.json")
    done = fairtrial("run", *arguments, "--store", "none", "--json", "-")
    assert (done.code, [case["verdict"] for case in done.json["attempts"]]) == (1, ["error", "error"])
    assert "SystemExit" in done.json["attempts"][0]["failure"]["cause"]


def test_an_exit_for_which_nobody_waits_is_not_green() -> None:
    """The case passed, yet the agent meant to end the process."""
    assert run("ending_agents:in_a_task_of_its_own") == 1


def test_an_exit_is_not_green_before_python_collects_garbage() -> None:
    """A task that nobody waits for reports its exit when it is collected, which may be long after the run."""
    gc.disable()
    try:
        assert run("ending_agents:in_a_task_of_its_own") == 1
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("agent", "code"), [("in_a_thread", 1), ("at_exit", 1), ("by_signal", -9), ("by_abort", -6), ("in_a_child", 0)]
)
def test_a_process_that_an_agent_ends_does_not_exit_with_0(agent: str, code: int) -> None:
    """An exception would be lost in a thread of the agent. A process that the agent forked may end as it likes."""
    arguments = ("t.evalset.json", "--agent", f"ending_agents:{agent}", "--config", "config.json", "--store", "none")
    path = os.pathsep.join([HERE, str(Path(HERE).parent), os.environ.get("PYTHONPATH", "")])
    assert finish(start_python("run", *arguments, env={"PYTHONPATH": path})).code == code


@pytest.mark.parametrize("name", ["metric", "metric_in_a_task"])
def test_a_metric_that_ends_the_process_is_unscored(name: str) -> None:
    """The metric decides nothing."""
    definition = {"x": {"code_config": {"name": f"ending_agents.{name}"}}}
    write("own.json", {"criteria": {"x": 0.5}, "custom_metrics": definition})
    assert run("commands:obedient", "own.json") == 3


@pytest.mark.parametrize("line", ["import sys; sys.exit(0)", "import os; os._exit(0)"])
def test_a_module_that_exits_when_it_is_imported_is_refused(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, a script that runs when it is imported."""
    Path("exiting.py").write_text(line, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "exiting", raising=False)
    assert run("exiting:agent") == 2


def test_recording_an_agent_that_ends_the_process_fails() -> None:
    """The file holds the broken conversations."""
    arguments = ("t.evalset.json", "--agent", "ending_agents:hard", "--config", "config.json")
    done = fairtrial("record", *arguments, "-o", "t.jsonl")
    assert done.code == 1
    assert "2 of 2 conversations recorded in t.jsonl, 2 broken" in done.out


def test_a_run_from_python_survives_its_agent() -> None:
    """The same holds in a test with pytest, and `os._exit` is the real function again after the run."""
    original = os._exit
    assert evaluate("t.evalset.json", ending_agents.hard, MATCH).verdict == "failed"
    assert os._exit is original


def test_a_failure_of_a_thread_keeps_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, a watchdog of a test runner ends the process with 7."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    with process_kept():
        thread = threading.Thread(target=_exit_with_seven)
        thread.start()
        thread.join()
    assert codes == [7]


def _exit_with_seven() -> None:
    try:
        os._exit(7)
    except AssertionError:
        return  # the function of this test returns

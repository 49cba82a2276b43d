"""Programs that speak JSON lines are recorded whole, and break only their own conversation."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from pathlib import Path

import pytest
from kinds import recorded

from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult, Usage

PROGRAM = f"process:{sys.executable} -S {Path(__file__).with_name('line_agent.py')}"


def end_holder(lock: Path) -> None:
    """Kill the process that holds a lock, as the system lists it."""
    inode = lock.stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[5].endswith(f":{inode}"):
            os.kill(int(fields[4]), signal.SIGKILL)


def test_every_line_is_recorded() -> None:
    """Thoughts, calls, results, tokens, instructions, tools and the state are where they belong."""
    one = recorded(PROGRAM, "order", "thanks", session=SessionInput(state={"name": "Kim"}))
    invocation, thanks = one.trace.invocations
    assert invocation.steps == (
        Thought("Where is it?"),
        Message("Let me look."),
        ToolCall("get_order", {"order_id": "A-17"}, "1"),
        ToolResult("get_order", {"state": "shipped"}, "1"),
        Thought("Good."),
    )
    assert (invocation.reply, thanks.reply) == ("It is shipped.", "You said: thanks")
    assert invocation.usages == (Usage(10, 5, model="scripted"),)
    assert one.trace.final_state == {"name": "Kim"}
    (agent,) = one.trace.agents
    assert (agent.instructions, agent.tool_names) == ("Be kind.", ("get_order",))


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("die", "the program ended with the code 1: no such order"),
        ("fail", "no such order"),
        ("chatter", "must write lines of JSON objects, got 'Loading the model ...'"),
        ("nothing", "a line must hold one of the keys thought"),
    ],
)
def test_a_program_that_breaks_is_the_agents_failure(message: str, cause: str) -> None:
    """The cause says what the program did, and the turn before it is kept."""
    one = recorded(PROGRAM, "hello", message)
    assert one.failure is not None
    assert one.failure.side == "agent"
    assert cause in one.failure.cause
    assert one.trace.invocations[0].reply == "You said: hello"


def test_a_program_that_hangs_is_given_up() -> None:
    """It does not keep the run."""
    one = recorded(PROGRAM, "hang", reply_timeout=0.05)
    assert one.failure is not None
    assert one.failure.cause == "no reply within 0.05 seconds"


def test_a_child_ends_with_its_program(tmp_path: Path) -> None:
    """It holds a lock as long as it lives."""
    lock = tmp_path / "lock"
    one = recorded(PROGRAM, f"leave {lock}")
    assert one.trace.invocations[0].reply == "It is left."
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


@pytest.mark.long
def test_a_child_that_left_the_program_does_not_keep_the_conversation(tmp_path: Path) -> None:
    """It holds the output of its program open, whose end is noticed all the same."""
    lock = tmp_path / "lock"
    try:
        one = recorded(PROGRAM, f"abandon {lock}", reply_timeout=60)
    finally:
        end_holder(lock)
    assert one.failure is not None
    assert one.failure.cause == "the program ended with the code 3"


@pytest.mark.long
def test_a_program_that_closes_its_output_is_given_up() -> None:
    """It still runs, and is killed."""
    one = recorded(PROGRAM, "mute", reply_timeout=60)
    assert one.failure is not None
    assert one.failure.cause == "the program closed its output"


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("process:", "must name a command"),
        ("process:no-such-program-anywhere", "no such program"),
        ("process:python 'x", "is not a command"),
    ],
)
def test_a_command_that_cannot_run_is_refused(target: str, problem: str) -> None:
    """Nothing is started."""
    with pytest.raises(UsageError, match=problem):
        find_agent(target)

"""Is an ADK agent recorded as ADK itself would record it?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kinds import HERE, recorded
from shop import CRITERIA, EVAL_SET, PROMPT_TOKENS, REPLY_TOKENS

import assay
from assay.agents import agent_of
from assay.data.case import SessionInput
from assay.data.trace import Event, Message, Thought, ToolCall, Usage
from assay.formats.adk.write import dumps

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
pytest.importorskip("google.adk")

TARGET = f"adk:{HERE / 'adk_shop'}"


@pytest.fixture(scope="module")
def by_adk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result file of `adk eval` for the same agent and eval set."""
    folder = tmp_path_factory.mktemp("adk")
    shutil.copytree(HERE / "adk_shop", folder / "adk_shop")  # ADK writes its results into the agent's folder
    (folder / "shop.evalset.json").write_bytes(dumps(EVAL_SET))
    (folder / "test_config.json").write_text(json.dumps({"criteria": CRITERIA}))
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}
    command = ["eval", "adk_shop", "shop.evalset.json", "--config_file_path", "test_config.json"]
    adk = Path(sys.executable).parent / "adk"
    done = subprocess.run(
        [str(adk), *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    found = list(folder.rglob("*.evalset_result.json"))
    assert found, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(found[0].read_bytes())
    return result


def test_calls_replies_and_scores_are_those_of_adk(by_adk: dict[str, Any], tmp_path: Path) -> None:
    """The same agent and eval set through `adk eval` and through us: the same calls, replies and scores."""
    file = tmp_path / "shop.evalset_result.json"
    file.write_text(json.dumps(by_adk))
    (theirs,) = assay.load_recordings(file)
    run = assay.evaluate(EVAL_SET, TARGET, CRITERIA)
    ours = next(run.recordings)[1]
    for mine, their in zip(ours.trace.invocations, theirs.trace.invocations, strict=True):
        assert [(one.name, one.args) for one in mine.tool_calls] == [(one.name, one.args) for one in their.tool_calls]
        assert mine.reply == their.reply
        assert mine.usages == their.usages
        assert mine.about is not None
        assert their.about is not None
        assert [(one.name, one.instructions, one.tool_names) for one in mine.about.agents] == [
            (one.name, one.instructions, one.tool_names) for one in their.about.agents
        ]
    (case,) = by_adk["eval_case_results"]
    scores = {one["metric_name"]: one["score"] for one in case["overall_eval_metric_results"]}
    for outcome in next(run.cases).outcomes:
        if outcome.criterion != "invocation_duration_v1":
            assert outcome.score.value == pytest.approx(scores[outcome.criterion]), outcome.criterion


def test_instructions_and_tools_are_those_the_model_got() -> None:
    """What is known of the agent holds its rendered instructions and the declarations of its tools."""
    (invocation,) = recorded(TARGET, "hello", session=SessionInput(state={"name": "Kim"})).trace.invocations
    assert invocation.about is not None
    (shop,) = invocation.about.agents
    assert shop.name == "shop"
    assert "Speak to Kim." in shop.instructions
    assert shop.tool_names == ("transfer_to_agent", "get_order", "cancel_order", "remember")


def test_a_sub_agent_takes_over() -> None:
    """Steps have the agent that did them as author; thoughts are no part of the reply, its parts are one message."""
    (invocation,) = recorded(TARGET, "what is the price?").trace.invocations
    assert invocation.steps is not None
    call, _, thought = invocation.steps
    assert isinstance(call, ToolCall)
    assert (call.name, call.author) == ("transfer_to_agent", "shop")
    assert thought == Thought("Let me think.", "cashier")
    assert invocation.final_response == Message("Ten euros.\nOnly.", "cashier")
    assert invocation.about is not None
    assert [one.name for one in invocation.about.agents] == ["shop", "cashier"]


def test_events_group_the_steps() -> None:
    """The events are those of ADK; the reply is in none of them."""
    (invocation,) = recorded(TARGET, "Where is A-17?").trace.invocations
    assert invocation.events is not None
    assert [(one.author, one.size) for one in invocation.events] == [("shop", 1), ("shop", 1), ("shop", 0)]
    assert all(isinstance(one, Event) for one in invocation.events)


def test_a_session_starts_and_ends_with_its_state() -> None:
    """The initial state goes in, what tools wrote comes out, and a pinned session id is the session's."""
    given = SessionInput("app", "kim", {"name": "Kim"}, {"session_id": "s-1"})
    one = recorded(TARGET, "remember me", session=given)
    assert one.trace.session_id == "s-1"
    assert one.trace.final_state == {"name": "Kim", "remembered": "remember me"}
    assert given.state == {"name": "Kim"}


def folder_with(path: Path, code: str) -> str:
    """An agent folder of this code, as a target."""
    path.mkdir()
    (path / "__init__.py").write_text("from . import agent\n")
    (path / "agent.py").write_text(code)
    return f"adk:{path}"


def test_an_app_runs_with_its_plugins(tmp_path: Path) -> None:
    """Where a folder has an app, the app's plugins see the conversation."""
    target = folder_with(
        tmp_path / "shop_app",
        "from adk_shop.agent import root_agent as shop\n"
        "from google.adk.apps.app import App\n"
        "from google.adk.plugins.base_plugin import BasePlugin\n"
        "from google.genai import types\n"
        "class Polite(BasePlugin):\n"
        "    async def on_user_message_callback(self, *, invocation_context, user_message):\n"
        "        return types.Content(role='user', parts=[types.Part(text='Please: ' + user_message.parts[0].text)])\n"
        "app = App(name='shop_app', root_agent=shop, plugins=[Polite(name='polite')])\n",
    )
    (invocation,) = recorded(target, "hello").trace.invocations
    assert invocation.reply == "You said: Please: hello"


def test_an_agent_made_for_each_conversation_is_closed_after_it(tmp_path: Path) -> None:
    """`get_agent_async` is called for each conversation, and its exit stack closed at the conversation's end."""
    target = folder_with(
        tmp_path / "shop_made",
        "from contextlib import AsyncExitStack\n"
        "from adk_shop.agent import root_agent as shop\n"
        "log = []\n"
        "async def get_agent_async():\n"
        "    stack = AsyncExitStack()\n"
        "    log.append('made')\n"
        "    stack.callback(log.append, 'closed')\n"
        "    return shop, stack\n",
    )
    assert recorded(target, "hello").trace.invocations[0].reply == "You said: hello"
    assert sys.modules["shop_made.agent"].log == ["made", "closed"]


def test_an_agent_is_recognised_without_a_prefix() -> None:
    """`module:name` of an ADK agent is talked to as one."""
    (invocation,) = recorded("adk_shop.agent:root_agent", "hello").trace.invocations
    assert invocation.usages == (Usage(PROMPT_TOKENS, REPLY_TOKENS, 0, model="scripted"),)


@pytest.mark.parametrize(
    ("code", "problem"),
    [("x = 1\n", "No root_agent found"), ("import no_such_thing\n", "no_such_thing"), ("root_agent = 1\n", "not a")],
)
def test_a_folder_without_agent_is_refused(code: str, problem: str, tmp_path: Path) -> None:
    """What cannot be loaded is said before anything runs."""
    target = folder_with(tmp_path / f"bad_{abs(hash(code))}", code)
    with pytest.raises(assay.UsageError, match=problem):
        agent_of(target)


def test_a_folder_that_is_not_there_is_refused() -> None:
    """A path that does not exist is named."""
    with pytest.raises(assay.UsageError, match="no such folder"):
        agent_of("adk:nowhere")

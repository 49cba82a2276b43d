"""ADK agents are recorded as ADK itself records them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from kinds import HERE, recorded
from shop import CRITERIA, EVAL_SET, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.formats.adk.write import dumps
from fairtrial.records.case import EvalCase, EvalSet, SessionInput
from fairtrial.records.trace import Event, Invocation, Message, Step, Thought, ToolCall, ToolResult, Usage

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
pytest.importorskip("google.adk")

TARGET = f"adk:{HERE / 'adk_shop'}"


def _expecting(name: str, query: str, reply: str, *calls: ToolCall, session: SessionInput | None = None) -> EvalCase:
    return EvalCase(name, (Invocation(Message(query), calls, Message(reply)),), session_input=session)


PARITY = EvalSet(
    "shop",
    (
        *EVAL_SET.cases,
        _expecting(
            "other_call", "Cancel B-42, please.", "Order B-42 is gone.", ToolCall("get_order", {"order_id": "B"})
        ),
        _expecting("surplus_call", "Where is A-17?", "Your teapot is on its way."),
        _expecting("other_reply", "hello", "완전히 다른 답입니다."),
        _expecting(
            "handed_over",
            "what is the price?",
            "Ten euros.",
            ToolCall("transfer_to_agent", {"agent_name": "cashier"}),
        ),
        _expecting(
            "state",
            "remember me",
            "You said: remember me",
            ToolCall("remember", {"what": "remember me"}),
            session=SessionInput("adk_shop", "kim", {"name": "Kim"}),
        ),
        EvalCase("no_reference", (Invocation(Message("hello")), Invocation(Message("Where is A-17?")))),
    ),
)
"""What `adk eval` and we are both given: cases that pass, fail, and pass in part."""


@pytest.fixture(scope="module")
def by_adk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result file of `adk eval` for the same agent and eval set."""
    folder = tmp_path_factory.mktemp("adk")
    shutil.copytree(HERE / "adk_shop", folder / "adk_shop")  # ADK writes its results into the agent's folder
    (folder / "shop.evalset.json").write_bytes(dumps(PARITY))
    (folder / "test_config.json").write_text(json.dumps({"criteria": CRITERIA}))
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}
    command = ["eval", "adk_shop", "shop.evalset.json", "--config_file_path", "test_config.json"]
    adk = Path(sys.executable).parent / "adk"
    done = subprocess.run(
        [str(adk), *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    found = list(folder.rglob("*.evalset_result.json"))
    assert found, done.stdout + done.stderr
    return found[0]


@pytest.fixture(scope="module")
def ours() -> Iterator[fairtrial.Run]:
    """Our run of the same agent on the same eval set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        yield fairtrial.evaluate(PARITY, TARGET, CRITERIA)


def did(steps: Sequence[Step] | None) -> list[tuple[Any, ...]]:
    """What was done, without the ids that ADK draws; thoughts beside a reply are part of it for ADK."""
    return [
        ("call", step.name, step.args, step.author)
        if isinstance(step, ToolCall)
        else ("result", step.name, step.response, step.author)
        if isinstance(step, ToolResult)
        else ("message", step.text, step.author)
        for step in steps or ()
        if not isinstance(step, Thought)
    ]


def test_what_happens_is_what_happens_under_adk(by_adk: Path, ours: fairtrial.Run) -> None:
    """The same calls, results, messages, replies, tokens, instructions and tools through `adk eval` and through us."""
    under_adk = {one.case_id: one.trace for one in fairtrial.load_recordings(by_adk)}
    assert set(under_adk) == {case.id for case in PARITY.cases}
    for _, recording in ours.recordings:
        theirs = under_adk[recording.case_id]
        for mine, their in zip(recording.trace.invocations, theirs.invocations, strict=True):
            assert (mine.query, mine.reply, mine.usages) == (their.query, their.reply, their.usages)
            assert did(mine.steps) == did(their.steps), recording.case_id
            assert mine.about is not None
            assert their.about is not None
            assert [(one.name, one.instructions, one.tool_names) for one in mine.about.agents] == [
                (one.name, one.instructions, one.tool_names) for one in their.about.agents
            ]


def test_scores_are_those_of_adk(by_adk: Path, ours: fairtrial.Run) -> None:
    """Every deterministic criterion gives every case the same number and the same verdict, but for a thought.

    ADK scores the thought beside a reply as part of it. Of "Ten euros. Only." against "Ten euros." two of three words
    are right and none is missing: 0.8.
    """
    results = {one["eval_id"]: one for one in json.loads(by_adk.read_bytes())["eval_case_results"]}
    seen: set[float | None] = set()
    for case in ours.cases:
        theirs = {one["metric_name"]: one for one in results[case.case_id]["overall_eval_metric_results"]}
        for outcome in case.outcomes:
            if outcome.criterion == "invocation_duration_v1" or outcome.verdict == "not_applicable":
                continue
            if (case.case_id, outcome.criterion) == ("handed_over", "response_match_score"):
                assert outcome.score.value == pytest.approx(0.8)
                continue
            their = theirs[outcome.criterion]
            assert outcome.score.value == pytest.approx(their["score"], rel=1e-12), (case.case_id, outcome.criterion)
            if outcome.criterion in CRITERIA:
                seen.add(outcome.score.value)
                assert outcome.verdict == {1: "passed", 2: "failed"}[their["eval_status"]]
    assert {0.0, 1.0} < seen


def test_instructions_and_tools_are_those_the_model_got() -> None:
    """What is known of the agent holds its rendered instructions and the declarations of its tools."""
    (invocation,) = recorded(TARGET, "hello", session=SessionInput(state={"name": "Kim"})).trace.invocations
    assert invocation.about is not None
    (shop,) = invocation.about.agents
    assert shop.name == "shop"
    assert "Speak to Kim." in shop.instructions
    assert shop.tool_names == ("transfer_to_agent", "get_order", "cancel_order", "remember")


def test_a_tool_that_comes_with_a_later_request_is_declared() -> None:
    """A toolset may give other tools each time that the model is asked, as ADK's `SkillToolset` does."""
    from adk_shop.agent import ScriptedLlm
    from google.adk.agents import Agent
    from google.adk.tools.base_toolset import BaseToolset
    from google.adk.tools.function_tool import FunctionTool

    class Opening(BaseToolset):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._use_invocation_cache = False

        async def get_tools(self, readonly_context: Any = None) -> list[Any]:
            called = any(event.get_function_calls() for event in readonly_context.session.events)
            return [FunctionTool(one) for one in ([get_order, cancel_order] if called else [get_order])]

    agent = Agent(name="shop", model=ScriptedLlm(model="scripted"), tools=[Opening()])
    about = recorded(agent, "Where is A-17?").trace.invocations[0].about
    assert about is not None
    assert [one.tool_names for one in about.agents] == [("get_order", "cancel_order")]


def test_a_sub_agent_takes_over() -> None:
    """Steps have the agent that did them as author; thoughts are no part of the reply, its parts are one message."""
    (invocation,) = recorded(TARGET, "what is the price?").trace.invocations
    assert invocation.steps is not None
    call, _, thought = invocation.steps
    assert isinstance(call, ToolCall)
    assert (call.name, call.author) == ("transfer_to_agent", "shop")
    assert thought == Thought("Let me think.", "cashier", model="scripted")
    assert invocation.final_response == Message("Ten euros.\nOnly.", "cashier", model="scripted")
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
    given = SessionInput("app", "kim", {"name": "Kim"}, session_id="s-1")
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


def test_an_agent_that_is_made_without_its_exit_stack_is_told(tmp_path: Path) -> None:
    """What `get_agent_async` must return is said, in place of what Python says of unpacking."""
    target = folder_with(
        tmp_path / "shop_alone",
        "from adk_shop.agent import root_agent as shop\nasync def get_agent_async():\n    return shop\n",
    )
    with pytest.raises(fairtrial.UsageError, match="get_agent_async must return an agent, and an exit stack or None"):
        recorded(target, "hello")


def test_an_agent_is_recognised_without_a_prefix() -> None:
    """`module:name` of an ADK agent is talked to as one."""
    (invocation,) = recorded("adk_shop.agent:root_agent", "hello").trace.invocations
    assert invocation.usages == (Usage(PROMPT_TOKENS, REPLY_TOKENS, 0, model="scripted"),)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("x = 1\n", "No root_agent found"),
        ("\nimport no_such_thing\n", r"no_such_thing.*agent\.py, line 2"),
        ("root_agent = 1\n", "not a"),
        ("raise SystemExit('no key')\n", r"SystemExit: no key \(.*agent\.py, line 1\)"),
    ],
)
def test_a_folder_without_agent_is_refused(code: str, problem: str, tmp_path: Path) -> None:
    """What cannot be loaded is said before anything runs."""
    target = folder_with(tmp_path / f"bad_{abs(hash(code))}", code)
    with pytest.raises(fairtrial.UsageError, match=problem):
        find_agent(target)


def test_the_folder_nearest_to_a_misspelt_one_is_offered() -> None:
    """Of those beside it."""
    shop = Path(__file__).with_name("adk_shop")
    with pytest.raises(fairtrial.UsageError, match="did you mean 'adk_shop'"):
        find_agent(f"adk:{shop.with_name('adk_shp')}")


def test_a_folder_in_the_folder_of_another_agent_is_found(tmp_path: Path) -> None:
    """An agent.py beside an agent folder is another agent, and stands in nobody's way."""
    (tmp_path / "agent.py").write_text("", encoding="utf-8")
    target = folder_with(tmp_path / "shop_inside", "from adk_shop.agent import root_agent\n")
    assert recorded(target, "hello").trace.invocations[0].reply == "You said: hello"

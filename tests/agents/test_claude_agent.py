"""Claude Agent SDK agents are recorded whole, with the real Claude Code and an API on a socket."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kinds import recorded
from msgspec.structs import replace
from shop import CRITERIA, TOOLS, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet
from fairtrial.records.trace import Approval, Invocation, Message, Part, Thought, ToolCall, ToolResult, Usage

pytestmark = [pytest.mark.agents, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
pytest.importorskip("claude_agent_sdk")

from anthropic_server import (  # noqa: E402
    MODEL,
    MessagesServer,
    call,
    failed,
    latest,
    message,
    text,
    thinking,
)
from anthropic_server import shop as scripted  # noqa: E402
from chat_server import JsonServer  # noqa: E402
from claude_agent_sdk import (  # noqa: E402
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
)
from claude_shop import nobody_decides, options_for, shop_with  # noqa: E402

HALF = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
BOTH = tuple(f"mcp__shop__{name}" for name in TOOLS)


def recorded_with(make: Any, *queries: str, **options: Any) -> Recording:
    """What is recorded with options that a function makes."""
    globals()["make"] = make
    return recorded(f"claude:{__name__}:make", *queries, **options)


def run_turn(script: Any, query: str, **more: Any) -> Invocation:
    """The turn of a conversation with a scripted model."""
    recording = recorded_with(shop_with(script, **more), query)
    assert recording.failure is None, recording.failure.traceback
    (turn,) = recording.trace.invocations
    return turn


def results(turn: Invocation) -> list[ToolResult]:
    """The results of a turn."""
    return [step for step in turn.steps or () if isinstance(step, ToolResult)]


def test_thoughts_are_apart_and_tokens_of_the_cache_are_part_of_the_input() -> None:
    """The output is that of the end of the stream: a message of the SDK has the count of its beginning."""
    turn = run_turn(lambda _: message(thinking("Hm."), text("Hel"), text("lo."), usage=HALF), "hello")
    assert turn.steps == (Thought("Hm.", "make"),)
    assert turn.reply == "Hello."
    (usage,) = turn.usages or ()
    assert replace(usage, first_token=None) == Usage(127, 3, cached_input_tokens=100, model=MODEL)


def test_the_work_of_a_sub_agent_is_inside_the_result_of_its_call() -> None:
    """It works in the background. The turn ends when its report was answered, and its tokens are counted."""

    def script(body: dict[str, Any]) -> Any:
        query, found = latest(body)
        if "You find things." in str(body["system"]):
            if found:
                return message(text("It is shipped."), usage=HALF)
            return message(text("I look."), call("get_order", {"order_id": "A-17"}, "toolu_inner"), usage=HALF)
        if "It is shipped." in json.dumps(body["messages"]):
            return message(text("The finder says that it is shipped."))
        if found:
            return message(text("I asked the finder."))
        arguments = {"description": "find", "prompt": f"Find out: {query}", "subagent_type": "finder"}
        return message(call("Agent", arguments, "toolu_agent"))

    finder = AgentDefinition("Finds.", "You find things.", tools=list(TOOLS))
    turn = run_turn(script, "Where is it?", tools=["Agent"], agents={"finder": finder}, allowed_tools=["Agent", *BOTH])
    (result,) = results(turn)
    assert turn.reply == "The finder says that it is shipped."
    assert [one.name for one in turn.tool_calls] == ["Agent"]
    assert result.inner is not None
    (inner,) = result.inner.invocations
    assert inner.query == "Find out: Where is it?"
    assert inner.steps == (
        Message("I look.", "finder"),
        ToolCall("get_order", {"order_id": "A-17"}, "toolu_inner", "finder"),
        ToolResult("get_order", {"item": "teapot", "state": "shipped"}, "toolu_inner", "finder"),
    )
    assert (inner.reply, inner.final_response and inner.final_response.author) == ("It is shipped.", "finder")
    # Three responses of the main agent have 15 tokens, two of the sub-agent 130.
    assert sum(usage.total_tokens or 0 for usage in turn.all_usages or ()) == 3 * 15 + 2 * 130
    assert turn.about is not None
    assert "Agent" in turn.about.agents[0].tool_names


def test_a_call_of_a_sub_agent_waits_for_a_decision() -> None:
    """The question is the reply, and the decision stands beside the result of the inner call."""

    def script(body: dict[str, Any]) -> Any:
        found = latest(body)[1]
        if "You find things." in str(body["system"]):
            cancel = call("cancel_order", {"order_id": "B-42"}, "toolu_inner")
            return message(text("It is cancelled.") if found else cancel)
        if "It is cancelled." in json.dumps(body["messages"]) or found:
            return message(text("Done."))
        return message(call("Agent", {"description": "x", "prompt": "x", "subagent_type": "finder"}, "toolu_agent"))

    finder = AgentDefinition("Finds.", "You find things.", tools=list(TOOLS))
    make = shop_with(script, tools=["Agent"], agents={"finder": finder}, allowed_tools=[], can_use_tool=nobody_decides)
    first, second = recorded_with(make, "Cancel it", "yes").trace.invocations
    assert first.reply.startswith('May I call cancel_order({"order_id": "B-42"})?')
    (result,) = results(second)
    assert result.inner is not None
    (inner,) = results(result.inner.invocations[0])
    assert (inner.response, inner.approval) == ({"cancelled": True}, Approval("approve"))


def test_each_conversation_has_folders_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool of Claude Code works in an empty folder, and nothing is written into the user's folders."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    arguments = {"command": "pwd; ls; echo hi > note.txt", "description": "look"}

    def script(body: dict[str, Any]) -> Any:
        return message(text("Done.") if latest(body)[1] else call("Bash", arguments, "toolu_bash"))

    (result,) = results(run_turn(script, "hello", tools=["Bash"], allowed_tools=["Bash"]))
    assert not result.is_error
    folder = str(result.response)
    assert folder.count("\n") == 0
    assert folder.endswith("/work")
    assert not Path(folder).exists()
    assert list(tmp_path.rglob("*")) == []


def asked_of_proxy(monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    """The other servers that Claude Code wants to reach in a conversation, through a proxy that reaches none."""
    asked: list[str] = []

    def refuse(handler: Any) -> None:
        asked.append(handler.path)
        handler.send_error(502)

    with JsonServer(lambda _: 502) as proxy:
        monkeypatch.setattr(proxy._server.RequestHandlerClass, "do_CONNECT", refuse, raising=False)
        url = proxy.url.removesuffix("/v1")
        own = {"HTTPS_PROXY": url, "HTTP_PROXY": url, "NO_PROXY": "127.0.0.1", **variables}
        run_turn(scripted, "Where is A-17?", env=own, mcp_servers={}, tools=[])
        assert proxy.requests == []
    return asked


def test_nothing_leaves_for_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that would see every other request sees none. Without the variables of fairtrial it sees some."""
    assert asked_of_proxy(monkeypatch) == []
    noisy = dict.fromkeys(
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"), ""
    )
    assert set(asked_of_proxy(monkeypatch, **noisy)) == {"api.anthropic.com:443"}


def test_tools_of_servers_have_their_whole_names() -> None:
    """The model calls a tool by the name of its server too, if the options do not say otherwise."""

    def script(body: dict[str, Any]) -> Any:
        done = bool(latest(body)[1])
        return message(text("Done.") if done else call("mcp__shop__get_order", {"order_id": "A-17"}, "toolu_1"))

    turn = run_turn(script, "hello", env={"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": ""})
    assert [one.name for one in turn.tool_calls] == ["mcp__shop__get_order"]
    assert turn.about is not None
    assert [tool["description"] for tool in turn.about.agents[0].tools] == ["Cancel an order.", "Look up an order."]


def test_a_tool_that_fails_is_an_error_that_the_model_sees() -> None:
    """So is a call that the permissions of the options do not allow, because nobody can be asked."""

    def script(body: dict[str, Any]) -> Any:
        found = latest(body)[1]
        return message(text("Done.") if len(found) > 1 else call("get_order", {"order_id": "X"}, f"toolu_{len(found)}"))

    raised = results(run_turn(script, "hello"))[0]
    assert (raised.is_error, raised.response) == (True, "'X'")
    denied = results(run_turn(script, "hello", allowed_tools=[]))[0]
    assert denied.is_error
    assert "requested permissions to use get_order" in str(denied.response)


def test_a_function_that_decides_itself_is_kept() -> None:
    """The factory gives it as an option."""

    async def policy(name: str, arguments: dict[str, Any], _: Any) -> Any:
        if name == "cancel_order":
            return PermissionResultDeny(message="Nobody cancels here.")
        return PermissionResultAllow(updated_input=arguments)

    inner = shop_with(scripted, allowed_tools=[])

    async def make() -> Any:
        async with inner() as options:
            yield options, {"can_use_tool": policy}

    recording = recorded_with(make, "Cancel B-42")
    (turn,) = recording.trace.invocations
    assert [(one.name, one.is_error, one.response) for one in results(turn)] == [
        ("get_order", False, {"item": "lamp", "state": "in preparation"}),
        ("cancel_order", True, "Nobody cancels here."),
    ]


def test_a_question_of_the_agent_is_its_reply() -> None:
    """The next message of the user is the answer."""
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asked = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}

    def script(body: dict[str, Any]) -> Any:
        found = latest(body)[1]
        return message(
            text(str(found[0]["content"])) if found else call("AskUserQuestion", {"questions": [asked]}, "t1")
        )

    make = shop_with(script, tools=["AskUserQuestion"], allowed_tools=[], can_use_tool=nobody_decides)
    recording = recorded_with(make, "hello", "Green, please")
    assert recording.failure is None, recording.failure.traceback
    first, second = recording.trace.invocations
    assert first.reply == "Which colour?\n- Red: warm\n- Blue: cold"
    assert "Green, please" in second.reply
    assert [one.id for one in results(second)] == ["t1"]


@pytest.mark.parametrize("kind", ["key", "refused", "overloaded"])
def test_an_outage_of_the_api_is_not_the_agents(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is refused, a server that does not answer, and one that is overloaded."""
    monkeypatch.setattr("fairtrial.agents.restarts._PAUSE", 0.0)
    status = {"key": 401, "overloaded": 529}.get(kind, 500)
    variables = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"} if kind == "refused" else {}

    def make() -> Any:
        with MessagesServer(lambda _: failed(status)) as server:
            options = options_for(server)
        options.env |= variables
        return options

    maker = make if variables else shop_with(lambda _: failed(status))
    failure = recorded_with(maker, "hello").failure
    assert failure is not None
    assert failure.side == "infrastructure"
    assert {"key": "401", "refused": "ECONNREFUSED", "overloaded": "529"}[kind] in failure.cause


def test_an_agent_that_stops_at_its_limit_fails() -> None:
    """The name of the limit is the cause."""
    failure = recorded_with(shop_with(scripted, max_turns=1), "Cancel B-42").failure
    assert failure is not None
    assert (failure.side, failure.cause.partition(":")[0]) == ("agent", "error_max_turns")


def test_structured_output_is_the_reply() -> None:
    """The reply is JSON."""
    schema = {"type": "object", "properties": {"state": {"type": "string"}}, "required": ["state"]}

    def script(body: dict[str, Any]) -> Any:
        done = bool(latest(body)[1])
        return message(text("Done.") if done else call("StructuredOutput", {"state": "shipped"}, "toolu_out"))

    turn = run_turn(script, "hello", output_format={"type": "json_schema", "schema": schema})
    assert json.loads(turn.reply) == {"state": "shipped"}


@pytest.mark.parametrize("wrap", [lambda options: options, ClaudeSDKClient], ids=["options", "client"])
def test_options_and_clients_are_targets_themselves(wrap: Any) -> None:
    """Two conversations share the options, and not the conversation."""
    with MessagesServer(scripted) as server:
        agent = find_agent(wrap(options_for(server)))
        replies = [recorded(agent, "hello").trace.invocations[0].reply for _ in range(2)]
        lengths = [len(body["messages"]) for body, _ in server.requests]
    assert replies == ["You said: hello"] * 2
    assert len(set(lengths)) == 1


def test_the_model_gets_the_parts_of_the_message() -> None:
    """A picture, its link, a paper and a text arrive as Anthropic's blocks. A sound is refused before anything runs."""
    png = base64.b64encode((Path(__file__).parents[2] / "docs" / "report.png").read_bytes()).decode()
    parts = (
        Part("image/png", data=png),
        Part("image/jpeg", "https://example.com/cat.jpg"),
        Part("application/pdf", data=base64.b64encode(b"%PDF-1.4").decode(), name="bill.pdf"),
        Part("text/plain", data=base64.b64encode(b"hi").decode()),
    )

    def case(*shown: Part) -> EvalSet:
        one = saying("Look").cases[0]
        return EvalSet("shown", (replace(one, conversation=(Invocation(Message("What is this?", parts=shown)),)),))

    with MessagesServer(scripted) as server:
        agent = find_agent(options_for(server))
        ((_, recording),) = fairtrial.evaluate(case(*parts), agent, CRITERIA).recordings
        body = server.requests[0][0]
        with pytest.raises(UsageError, match="Claude takes pictures, PDF documents and texts only"):
            fairtrial.evaluate(case(Part("audio/wav", data="AAAA")), agent, CRITERIA)
    assert recording.failure is None
    sent = [block for block in body["messages"][-1]["content"] if block["type"] != "text"]
    assert [(block["type"], block["source"]["type"]) for block in sent] == [
        ("image", "base64"),
        ("image", "url"),
        ("document", "base64"),
        ("document", "text"),
    ]
    assert (sent[1]["source"]["url"], sent[2]["title"], sent[3]["source"]["data"]) == (
        "https://example.com/cat.jpg",
        "bill.pdf",
        "hi",
    )


def test_an_environment_that_reaches_no_tool_is_refused() -> None:
    """Claude Code runs its own tools; only tools in this process can be simulated."""
    config = {"chaos_effects": [{"effect": "empty"}]}
    with pytest.raises(UsageError, match="reaches only tools of MCP servers in this process"):
        fairtrial.evaluate(saying("hi"), find_agent(ClaudeAgentOptions()), CRITERIA, environment=config)


def test_sessions_of_the_users_folder_are_refused() -> None:
    """Each conversation has an empty folder, in which there is nothing to resume."""
    with pytest.raises(UsageError, match="resume of the options needs the folder of earlier sessions"):
        recorded_with(lambda: ClaudeAgentOptions(resume="123"), "hello")


def test_a_turn_may_end_before_anybody_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a loaded machine, Claude Code may be idle again before the sender of the message goes on."""

    class SlowClient(ClaudeSDKClient):  # type: ignore[misc]
        async def query(self, *args: Any, **options: Any) -> None:
            self.has_ended = asyncio.Event()
            await super().query(*args, **options)
            await self.has_ended.wait()

        async def receive_messages(self) -> AsyncIterator[Any]:
            seen: set[str] = set()
            async for one in super().receive_messages():
                yield one
                state = one.data.get("state") if getattr(one, "subtype", "") == "session_state_changed" else None
                seen |= {type(one).__name__, *([] if state is None else [f"state {state}"])}
                if "ResultMessage" in seen and ("state idle" in seen or "state running" not in seen):
                    self.has_ended.set()
                    seen.clear()

    monkeypatch.setattr("claude_agent_sdk.ClaudeSDKClient", SlowClient)
    globals()["make"] = shop_with(scripted)
    run = fairtrial.evaluate(saying("hello"), f"claude:{__name__}:make", CRITERIA, reply_timeout=30)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.cause


def test_no_process_is_left(tmp_path: Path) -> None:
    """Claude Code ends with its conversation."""
    run_turn(scripted, "hello", env={"MARK_OF_TEST": str(tmp_path)})
    mark = str(tmp_path).encode()
    left = []
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) != os.getpid():
            try:
                left += [folder.name] if mark in (folder / "environ").read_bytes() else []
            except OSError:
                continue
    assert left == []

"""Environments do the same to the tools of every agent, in every framework."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
import shop
from kinds import KINDS, every, reached
from msgspec.structs import replace

import clock
import fairtrial
from fairtrial.agents import find_agent
from fairtrial.planned_case import Environments, PlannedCase
from fairtrial.recording import record
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Injection, ToolResult
from fairtrial.simulate.environment import TIMED_OUT, SimulatedEnvironments
from fairtrial.simulate.environment_options import environment_options
from fairtrial.testing import ScriptedEnvironment

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
with_tools = every(lambda kind: not kind.reports)


class Orders(dict[str, dict[str, str]]):
    """Orders whose state is another one each time that it is looked up."""

    def __init__(self) -> None:
        super().__init__({"A-17": {}, "B-42": {}})
        self.looked_up = 0

    def __getitem__(self, order_id: str) -> dict[str, str]:
        self.looked_up += 1
        return {"item": order_id, "state": f"state {self.looked_up}"}


@pytest.fixture(autouse=True)
def orders(monkeypatch: pytest.MonkeyPatch) -> Orders:
    """What the real tools know."""
    orders = Orders()
    monkeypatch.setattr(shop, "ORDERS", orders)
    return orders


@contextmanager
def hurried() -> Iterator[None]:
    """Let waits of a minute and more end at once, where virtual time would leave no time to a process."""
    sleep = asyncio.sleep

    async def short_sleep(seconds: float, result: Any = None) -> Any:
        return await sleep(0 if seconds >= 60 else seconds, result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "sleep", short_sleep)
        yield


def held(
    agent: Any,
    environments: Environments | Mapping[str, Any],
    *queries: str,
    reply_timeout: float | None = None,
    run: Callable[[Any], Recording] = lambda main: clock.run(main)[0],
) -> Recording:
    """A conversation with the shop made as this kind, or with another agent, in virtual time but for timeouts."""
    if isinstance(agent, str):
        with reached(agent) as target, hurried() if KINDS[agent].process else nullcontext():
            run = asyncio.run if KINDS[agent].process else run
            return held(find_agent(target), environments, *queries, reply_timeout=reply_timeout, run=run)
    if isinstance(environments, Mapping):
        environments = SimulatedEnvironments(environment_options(environments)[0])
    work = PlannedCase(0, "case", shop.saying(*queries).cases[0], (), environments=environments)

    async def first() -> Recording:
        (found,) = [one async for _, one in record([work], find_agent(agent), reply_timeout=reply_timeout)]
        return found

    return run(first()) if reply_timeout is None else asyncio.run(first())


def results(recording: Recording) -> list[ToolResult]:
    """What the agent heard of its tools."""
    steps = [step for one in recording.trace.invocations for step in one.steps or ()]
    return [step for step in steps if isinstance(step, ToolResult)]


def injecting(**options: Any) -> dict[str, Any]:
    """The configuration of one injection into `get_order`."""
    return {"tool_simulation_configs": [{"tool_name": "get_order", "injection_configs": [options]}]}


INJECTIONS: dict[str, tuple[dict[str, Any], Any, list[str]]] = {
    "error": (
        {"injected_error": {"injected_http_error_code": 503, "error_message": "down"}},
        {"error_code": 503, "error_message": "down"},
        ["error: 503: down"],
    ),
    "response": (
        {"injectedResponse": {"item": "nothing"}},
        {"item": "nothing"},
        ['response: {"item": "nothing"}'],
    ),
    "empty response": ({"injected_response": {}}, {}, ["response: {}"]),
    "latency": (
        {"injected_latency_seconds": 100, "injected_response": {"item": "late"}},
        {"item": "late"},
        ["latency: 100 s", 'response: {"item": "late"}'],
    ),
    "matching arguments": (
        {"match_args": {"order_id": "A-17"}, "injected_response": {"item": "mine"}},
        {"item": "mine"},
        ['response: {"item": "mine"}'],
    ),
    "other arguments": (
        {"match_args": {"order_id": "B-42"}, "injected_response": {"item": "not mine"}},
        {"item": "A-17", "state": "state 1"},
        [],
    ),
    "probability 0": (
        {"injection_probability": 0, "injected_response": {"item": "never"}},
        {"item": "A-17", "state": "state 1"},
        [],
    ),
}
"""Injections, with what the agent hears of its tool, and what the trace tells of it."""


def injections_in(result: ToolResult) -> list[str]:
    """What a trace tells of what was done to a result."""
    return [f"{one.effect}: {one.detail}" for one in result.injected]


@with_tools
@pytest.mark.parametrize("injection", INJECTIONS)
def test_injections(kind: str, injection: str, orders: Orders) -> None:
    """What is injected is what the agent hears and what is recorded, and then the real tool is not asked."""
    options, response, injected = INJECTIONS[injection]
    recording = held(kind, injecting(**options), "Where is A-17?")
    assert recording.failure is None
    (result,) = results(recording)
    assert (result.response, injections_in(result)) == (response, injected)
    assert orders.looked_up == (0 if injected else 1)
    assert recording.trace.invocations[0].reply == "Your teapot is shipped."


def garbled(response: Any) -> bool:
    """Whether one value of an order, and only one, is garbled."""
    return set(response) == {"item", "state"} and sum("\ufffd" in value for value in response.values()) == 1


def extract_text(response: Any) -> str:
    """A text as a tool's answer; ADK gives texts a key."""
    return str(response["result"] if isinstance(response, dict) else response)


EFFECTS: dict[str, tuple[Callable[[Any], bool], int]] = {
    "timeout": (lambda response: bool(response == TIMED_OUT), 0),
    "truncated": (lambda response: '{"item": "A-17", "state": "state 1"}'.startswith(extract_text(response)), 1),
    "corrupted": (garbled, 1),
    "empty": (lambda response: response == {}, 1),
    "duplicated": (lambda response: bool(response == {"item": "A-17", "state": "state 2"}), 2),
}
"""Chaos effects on the first answer: what it is like, and how often the real tool was asked."""


@with_tools
@pytest.mark.parametrize("effect", EFFECTS)
def test_effects(kind: str, effect: str, orders: Orders) -> None:
    """Every effect reaches the agent, and is recorded as what it is."""
    is_so, asked = EFFECTS[effect]
    config = {"chaos_effects": [{"effect": effect, "tool_name": "get_*", "seconds": 60}]}
    recording = held(kind, config, "Where is A-17?")
    assert recording.failure is None
    (result,) = results(recording)
    assert is_so(result.response), result.response
    assert [one.effect for one in result.injected] == [effect]
    assert orders.looked_up == asked


@with_tools
def test_stale_results(kind: str) -> None:
    """The second answer to the same call is the first once more; the first cannot be stale."""
    recording = held(kind, {"chaos_effects": [{"effect": "stale"}]}, "Where is A-17?", "And A-17 now?")
    first, second = results(recording)
    assert first.response == second.response == {"item": "A-17", "state": "state 1"}
    assert (first.injected, injections_in(second)) == ((), ['stale: was {"item": "A-17", "state": "state 2"}'])


@with_tools
def test_other_tools_are_left_alone(kind: str) -> None:
    """A tool that the configuration does not name answers as ever, and an effect is that of its own call only."""
    recording = held(kind, injecting(injected_response={"item": "none"}, invalidates=True), "Cancel B-42")
    assert [(one.name, one.response, one.injected) for one in results(recording)] == [
        ("get_order", {"item": "none"}, (Injection("response", '{"item": "none"}', invalidates=True),)),
        ("cancel_order", {"cancelled": True}, ()),
    ]


@with_tools
@pytest.mark.long
def test_what_was_begun_is_known_of_a_call_that_was_cut_off(kind: str) -> None:
    """The call stands in the trace without a result; what was to happen to it stands beside it."""
    slow = injecting(injected_latency_seconds=50, injected_response={"item": "late"}, invalidates=True)
    timeout = KINDS[kind].reply_timeout
    recording = held(kind, slow, "Where is A-17?", reply_timeout=timeout)
    assert recording.failure is not None
    assert (recording.failure.side, recording.failure.cause) == ("agent", f"no reply within {timeout} seconds")
    (broken,) = recording.trace.invocations
    assert ([one.name for one in broken.tool_calls], results(recording)) == (["get_order"], [])
    (unreported_injections,) = broken.unreported_injections
    assert (unreported_injections.name, unreported_injections.response, unreported_injections.injected) == (
        "get_order",
        None,
        (Injection("latency", "50 s", invalidates=True),),
    )


@with_tools
def test_a_failing_environment_is_not_the_agents_fault(kind: str) -> None:
    """The conversation ends on the environment's side, with the call that could not be answered."""
    recording = held(kind, ScriptedEnvironment({"get_order": [RuntimeError("no model")]}), "Where is A-17?")
    assert recording.failure is not None
    assert recording.failure.side == "environment"
    assert recording.failure.cause == "the environment could not answer get_order: RuntimeError: no model"
    assert [one.name for one in recording.trace.invocations[0].tool_calls] == ["get_order"]


@with_tools
def test_what_a_tool_raises_is_the_agents_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the real tool goes the way that it goes without an environment."""
    monkeypatch.setattr(shop, "ORDERS", {})
    recording = held(kind, {"chaos_effects": [{"effect": "empty"}]}, "Where is A-17?")
    assert recording.failure is None or recording.failure.side == "agent"


@with_tools
def test_the_tool_is_declared_to_the_environment(kind: str) -> None:
    """An environment learns what the agent's model knows of a tool: name, purpose, parameters."""
    seen: list[dict[str, Any]] = []

    class Curious:
        async def answer(self, call: Any, declared: dict[str, Any], real: Any) -> ToolResult:
            seen.append(declared)
            return ToolResult(call.name, await real(), call.id)

    held(kind, lambda _case, _attempt: Curious(), "Where is A-17?")
    (declared,) = seen
    assert (declared["name"], declared["description"]) == ("get_order", "Look up an order.")
    assert declared["parameters_json_schema"]["properties"]["order_id"]["type"] == "string"


@with_tools
def test_the_agent_itself_is_not_changed(kind: str, orders: Orders) -> None:
    """After a conversation with an environment, the next without one asks the real tools only."""
    config = injecting(injected_response={"item": "none"})
    with reached(kind) as target:
        agent = find_agent(target)
        first = fairtrial.evaluate(shop.saying("Where is A-17?"), agent, shop.CRITERIA, environment=config)
        second = fairtrial.evaluate(shop.saying("Where is A-17?"), agent, shop.CRITERIA)
    assert [results(one)[0].response for run in (first, second) for _, one in run.recordings] == [
        {"item": "none"},
        {"item": "A-17", "state": "state 1"},
    ]
    assert orders.looked_up == 1


RANDOM = {
    "random_seed": 7,
    "tool_simulation_configs": [
        {
            "tool_name": "get_order",
            "injection_configs": [{"injection_probability": 0.3, "injected_response": {"item": "?"}}],
        }
    ],
    "chaos_effects": [
        {"effect": "corrupted", "probability": 0.5, "random_seed": 1},
        {"effect": "truncated", "probability": 0.3},
        {"effect": "timeout", "probability": 0.2, "tool_name": "cancel_order"},
    ],
}


@with_tools
def test_the_same_seed_is_the_same_run(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether 1 or 16 conversations are held at once, the same happens to the same calls, and not always the same."""
    monkeypatch.setattr(shop, "ORDERS", {"A-17": {"item": "teapot"}, "B-42": {"item": "lamp"}})
    case = shop.saying("Where is A-17?", "Cancel B-42").cases[0]
    eval_set = fairtrial.EvalSet("shop", tuple(replace(case, id=f"case {i}") for i in range(12)))

    def heard(concurrency: int) -> list[list[Any]]:
        with reached(kind) as target:
            run = fairtrial.evaluate(
                eval_set, target, shop.CRITERIA, attempts=2, concurrency=concurrency, environment=RANDOM
            )
        return [
            [(one.name, one.response, injections_in(one)) for one in results(recording)]
            for _, recording in run.recordings
        ]

    first = heard(1)
    assert len(first) == 24
    assert first == heard(16)
    assert len({msgspec.json.encode(one) for one in first}) > 6


EMPTIED = {"chaos_effects": [{"effect": "empty"}]}


@pytest.mark.agents
def test_adk_sub_agents_and_what_steers_adk() -> None:
    """The tools of an agent that was transferred to are reached, and the transfer itself happens as ever."""
    agents = pytest.importorskip("google.adk.agents")
    from adk_shop.agent import ScriptedLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    class Handing(ScriptedLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: ARG002
            """Transfer where that can be done, then look up an order, then reply."""
            if "transfer_to_agent" in llm_request.tools_dict:
                call = types.FunctionCall(name="transfer_to_agent", args={"agent_name": "cashier"})
            else:
                call = types.FunctionCall(name="get_order", args={"order_id": "A-17"})
            done = llm_request.contents[-1].parts[-1].function_response
            part = types.Part(text="Done.") if done and call.name == "get_order" else types.Part(function_call=call)
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    model = Handing(model="scripted")
    closed: dict[str, Any] = {"disallow_transfer_to_parent": True, "disallow_transfer_to_peers": True}
    cashier = agents.Agent(name="cashier", model=model, tools=[shop.get_order], **closed)
    root = agents.Agent(name="root", model=model, sub_agents=[cashier])
    recording = held(root, EMPTIED, "hi")
    assert [(one.name, one.response, one.author) for one in results(recording)][1:] == [("get_order", {}, "cashier")]
    assert recording.trace.invocations[0].reply == "Done."
    assert cashier.tools == [shop.get_order]


@pytest.mark.agents
def test_openai_agents_that_are_handed_over_to() -> None:
    """The tools of the agent that took over are reached, also after the next message; the handover happens as ever."""
    pytest.importorskip("agents.lifecycle")
    import openai_shop

    recording = held(openai_shop.agent, EMPTIED, "The price of B-42?", "Where is A-17?")
    told = [(one.name, one.response, one.author) for one in results(recording)]
    assert told[1:] == [("cancel_order", {}, "cashier"), ("get_order", {}, "cashier")]
    assert told[0][0] == "transfer_to_cashier"
    assert not results(recording)[0].injected


@pytest.mark.agents
def test_openai_models_hear_json() -> None:
    """What is injected, written as JSON and not as Python writes a dictionary."""
    pytest.importorskip("agents.lifecycle")
    import openai_shop

    recording = held(openai_shop.quiet, injecting(injected_response={"item": None}), "Where is A-17?")
    assert recording.trace.invocations[0].reply == '{"item":null}'


@pytest.mark.agents
def test_pydantic_output_is_no_tool() -> None:
    """The tool that the library makes for structured output is left alone."""
    pytest.importorskip("pydantic_ai")
    import pydantic_ai_shop

    assert (
        held(pydantic_ai_shop.pricing, EMPTIED, "price?").trace.invocations[0].reply == '{"price":10,"currency":"EUR"}'
    )


@pytest.mark.agents
def test_graphs_within_graphs() -> None:
    """The tools of an agent that is a node of a graph are reached."""
    graphs = pytest.importorskip("langgraph.graph")
    import langgraph_shop

    outer = graphs.StateGraph(graphs.MessagesState).add_node("shop", langgraph_shop.agent)
    outer = outer.add_edge(graphs.START, "shop").compile()
    (result,) = results(held(outer, EMPTIED, "Where is A-17?"))
    assert result.response == {}
    assert [one.effect for one in result.injected] == ["empty"]


@pytest.mark.agents
@pytest.mark.parametrize("way", ["async", "sync"])
def test_wrappers_of_a_tool_node_stand_around_the_environment(way: str) -> None:
    """A user's own wrapper, a retry say, hears what the environment answers."""
    tool_node = pytest.importorskip("langgraph.prebuilt").ToolNode
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph_shop import ScriptedChat

    heard: list[str] = []

    def note(message: Any) -> Any:
        heard.append(str(message.content))
        return message

    async def run_async(request: Any, execute: Callable[[Any], Any]) -> Any:
        return note(await execute(request))

    wrapper = {"awrap_tool_call": run_async} if way == "async" else {"wrap_tool_call": lambda one, run: note(run(one))}
    model = ScriptedChat().bind_tools(list(shop.TOOLS.values()))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", tool_node(list(shop.TOOLS.values()), **wrapper))
    graph.add_edge(START, "model").add_edge("tools", "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    (result,) = results(held(graph.compile(), EMPTIED, "Where is A-17?"))
    assert (result.response, heard) == ({}, ["{}"])


@pytest.mark.agents
def test_what_else_a_command_changes_it_changes_still() -> None:
    """A tool that returns a command has its message changed, and the state that it writes is written."""
    pytest.importorskip("langgraph")
    import langgraph_shop

    recording = held(langgraph_shop.noting, EMPTIED, "Where is A-17?")
    (result,) = results(recording)
    assert (result.response, injections_in(result)) == ("", ['empty: was "A-17 is lost"'])
    assert recording.trace.final_state == {"noted": "A-17"}


@pytest.mark.agents
def test_a_graph_whose_tools_cannot_be_reached_is_refused() -> None:
    """It has no tool node; the environment would silently do nothing."""
    pytest.importorskip("langgraph")
    import langgraph_shop

    with pytest.raises(fairtrial.UsageError, match="the graph has no ToolNode"):
        fairtrial.evaluate(shop.saying("hi"), langgraph_shop.counting, shop.CRITERIA, environment=EMPTIED)


@with_tools
def test_mutation_testing_degrades_the_tools_of_every_agent(kind: str, tmp_path: Path) -> None:
    """Each tool that the agent calls fails in one mutant, and only there. The rest of the conversation is the same."""
    url = f"sqlite:///{tmp_path}/runs.db"
    with reached(kind) as target:
        report = fairtrial.mutate(shop.EVAL_SET, shop.CRITERIA, agent=target, operators=["tool_fails"], store=url)
    recordings = [recording for _, recording in fairtrial.open_run(report.run, store=url).recordings]
    failed = {
        str(recording.mutation and recording.mutation.tool): {
            step.name
            for turn in recording.trace.invocations
            for step in turn.steps or ()
            if isinstance(step, ToolResult) and "500" in str(step.response)
        }
        for recording in recordings
    }
    assert failed == {"None": set(), "get_order": {"get_order"}, "cancel_order": {"cancel_order"}}
    assert (report.baselines, report.inert) == (1, 2)

"""Observe LlamaIndex agents through copies of their steps and tools that report."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.agents.nested_runs import ToolAtWork, observe_in_tools
from fairtrial.agents.observer import Observer
from fairtrial.agents.plain import as_response, as_text, plain
from fairtrial.agents.routing import describe_tool
from fairtrial.agents.token_usage import token_usage
from fairtrial.llm.token_counts import parse_count
from fairtrial.records.trace import Message, Thought, ToolCall, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-llama-index"
_INPUT_TOKENS = ("prompt_tokens", "input_tokens", "prompt_token_count", "prompt_eval_count")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens", "candidates_token_count", "eval_count")


class LlamaIndexObserver:
    """Makes copies of agents and workflows that report. `is_inside` says that they work inside a tool."""

    def __init__(self, observer: Observer, *, is_inside: bool = False) -> None:
        self._observer = observer
        self._is_inside = is_inside

    def observed(self, original: Any) -> Any:
        """Return a copy of an agent, or of a workflow with its agents, that reports its steps and its calls."""
        root = copy.copy(original)
        get_tools = root.get_tools

        async def observed_tools(*args: Any, **options: Any) -> list[Any]:
            return [self._observe_tool(tool) for tool in await get_tools(*args, **options)]

        # Agents are models of pydantic, which allow their own fields only.
        object.__setattr__(root, "get_tools", observed_tools)
        if hasattr(root, "agents"):
            root.agents = {name: self._observe_steps(copy.copy(agent)) for name, agent in root.agents.items()}
            return root
        return self._observe_steps(root)

    def _observe_steps(self, agent: Any) -> Any:
        take_step, name, model = agent.take_step, str(agent.name), str(agent.llm.metadata.model_name or "")
        has_text_calls = not hasattr(agent, "initial_tool_choice")

        async def observe_step(ctx: Any, llm_input: Sequence[Any], tools: Sequence[Any], memory: Any) -> Any:
            messages = list(llm_input)
            tools = [self._describe(tool) for tool in tools]
            texts = (str(message.content or "") for message in messages if str(message.role.value) == "system")
            self._observer.note_request(name, "\n\n".join(texts), map(declaration, tools))
            with self._observer.model_at_work():
                output = await take_step(ctx, messages, tools, memory)
            self._observer.note(*_items(output, name, model, has_text_calls=has_text_calls))
            if self._is_inside and not output.tool_calls and not output.retry_messages:
                self._observer.note(Message(str(output.response.content or ""), name))
            return output

        object.__setattr__(agent, "take_step", observe_step)
        return agent

    def _describe(self, tool: Any) -> Any:
        """Return a tool, or a copy of it if the environment describes it in another way."""
        metadata = tool.metadata
        name = str(metadata.get_name())
        description = describe_tool(self._observer.environment, name, metadata.description)
        if description == metadata.description or not hasattr(tool, "_metadata"):
            return tool
        described = copy.copy(tool)
        object.__setattr__(described, "_metadata", dataclasses.replace(metadata, description=description))
        return described

    def _observe_tool(self, tool: Any) -> Any:
        """Return a copy of a tool that asks the environment, if there is one, and reports its result."""
        original, name = tool.acall, str(tool.metadata.get_name())
        injected = {getattr(tool, "ctx_param_name", None)}
        waiting = import_extra("workflows.runtime.types.results", EXTRA).WaitingForEvent

        async def acall(*args: Any, **arguments: Any) -> Any:
            call_args = plain({key: value for key, value in arguments.items() if key not in injected})
            call = self._call(name, call_args)

            async def real() -> Any:
                try:
                    return await original(*args, **arguments)
                except waiting as error:
                    raise _WaitsForUser(error) from error

            try:
                answer = await self._observer.answer(call, declaration(tool), real, as_json=response_in)
            except _WaitsForUser as pause:
                raise pause.error from None  # LlamaIndex calls the tool again, with the user's answer
            return answer.value if answer.own else _output(tool, call_args, answer.value)

        observed = copy.copy(tool)
        object.__setattr__(observed, "acall", acall)
        return observed

    def _call(self, name: str, call_args: Json) -> ToolCall:
        """Return the call of a model that a tool now answers. LlamaIndex does not tell the tool which one it is."""
        same_name = [call for call in self._observer.open_calls if call.name == name]
        same = [call for call in same_name if call.args == call_args]
        return next(iter(same or same_name), ToolCall(name, call_args if isinstance(call_args, dict) else {}))


def observe_agents_in_tools() -> None:
    """Observe the agents and workflows that tools of other agents run."""
    workflow = import_extra("llama_index.core.agent.workflow", EXTRA)
    for owner in (workflow.BaseWorkflowAgent, workflow.AgentWorkflow):
        observe_in_tools(owner, "run", _run_in_tool)


def _run_in_tool(original: Any, tool: ToolAtWork, agent: Any, *args: Any, **options: Any) -> Any:
    observed = LlamaIndexObserver(Observer(tool.environment, tool), is_inside=True).observed(agent)
    return original(observed, *args, **options)


class _WaitsForUser(BaseException):
    """A tool waits for the user. This is no failure of the tool, so that no handler of exceptions may see it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def response_in(output: Any) -> Json:
    """Return the result of a tool: its value, or the text of its output."""
    if getattr(output, "is_error", False):
        return {"error": as_text(output.content)}
    return as_response(getattr(output, "raw_output", output))


def _output(tool: Any, call_args: Json, value: Json) -> Any:
    types = import_extra("llama_index.core.tools", EXTRA)
    name = str(tool.metadata.get_name())
    inputs = call_args if isinstance(call_args, dict) else {}
    return types.ToolOutput(content=as_text(value), tool_name=name, raw_input=inputs, raw_output=value)


def declaration(tool: Any) -> dict[str, Json]:
    """Return a tool as it is declared to the model."""
    metadata = tool.metadata
    return {
        "name": str(metadata.get_name()),
        "description": str(metadata.description or ""),
        "parameters_json_schema": plain(metadata.get_parameters_dict()),
    }


def _items(output: Any, author: str, model: str, *, has_text_calls: bool) -> list[Item]:
    """Return the tokens and the steps of a model's response. The reply without calls is that of the whole run.

    If an agent writes its calls as text (ReAct), the text beside a call is a thought.
    """
    items: list[Item] = [_usage(output.raw, model)]
    thoughts = [block for block in output.response.blocks if block.block_type == "thinking" and block.content]
    items += [Thought(str(block.content), author) for block in thoughts]
    text = str(output.response.content or "")
    if text and (output.tool_calls or output.retry_messages):
        is_thought = has_text_calls or output.retry_messages
        items.append(Thought(text, author) if is_thought else Message(text, author))
    return [*items, *(_call(call, author) for call in output.tool_calls)]


def _call(call: Any, author: str) -> ToolCall:
    return ToolCall(str(call.tool_name), plain(call.tool_kwargs), str(call.tool_id), author)


def _usage(raw: Any, model: str) -> Usage:
    """Return the tokens in a provider's response, where they are in one of the usual places."""
    body = raw if isinstance(raw, Mapping) else vars(raw) if hasattr(raw, "__dict__") else {}
    counts = body.get("usage") or body.get("usage_metadata") or body
    counts = counts if isinstance(counts, Mapping) else plain(counts)
    if not isinstance(counts, Mapping):
        return Usage(model=model)
    return token_usage(_count(counts, _INPUT_TOKENS), _count(counts, _OUTPUT_TOKENS), model=model)


def _count(counts: Mapping[str, Any], names: Iterable[str]) -> int | None:
    return next((number for name in names if (number := parse_count(counts.get(name))) is not None), None)

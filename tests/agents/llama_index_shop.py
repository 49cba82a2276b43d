"""The shop as an agent of LlamaIndex, its model scripted at LlamaIndex's own seam for models."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, ThinkingBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from pydantic import PrivateAttr
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, move


class ScriptedLLM(MockFunctionCallingLLM):  # type: ignore[misc]
    """A model that decides as the shop does."""

    _declared: str = PrivateAttr(default="")

    @property
    def metadata(self) -> LLMMetadata:
        """A model that calls functions."""
        return LLMMetadata(is_function_calling_model=True, model_name="scripted")

    async def achat_with_tools(self, tools: Sequence[Any], chat_history: Any = None, **_: Any) -> ChatResponse:
        """Answer a request."""
        self._declared = str([tool.metadata.description for tool in tools])
        return self.answer(chat_history)

    def answer(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        """Return the next message."""
        query, results = "", 0
        for message in messages:
            if message.role.value == "user":
                query, results = str(message.content), 0
            elif message.role.value == "tool":
                results += 1
        usage = {"usage": {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": REPLY_TOKENS}}
        if "visit" in query and results == 0:
            blocks = [ThinkingBlock(content="Who is it?"), _call("visit", {}, len(messages))]
            return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks), raw=usage)
        one = move(query, results, str([message.content for message in messages]) + self._declared)
        reply = ChatMessage(role="assistant", content=one.text)
        if one.call:
            reply.blocks.append(_call(one.call, one.args, len(messages)))
        return ChatResponse(message=reply, raw=usage)


def _call(name: str, args: dict[str, Any], number: int) -> ToolCallBlock:
    return ToolCallBlock(tool_call_id=f"call-{name}-{number}", tool_name=name, tool_kwargs=args)


async def visit(ctx: Context) -> str:
    """Count a visit."""
    state = await ctx.store.get("state")
    await ctx.store.set("state", state | {"visits": state.get("visits", 0) + 1})
    return f"{state['name']} is here."


# LlamaIndex does not read annotations that are texts.
visit.__annotations__["ctx"] = Context
agent = FunctionAgent(
    name="shop",
    description="Helps the customers of a shop.",
    system_prompt=INSTRUCTIONS,
    llm=ScriptedLLM(),
    tools=[*(FunctionTool.from_defaults(tool, description=inspect.getdoc(tool)) for tool in TOOLS.values()), visit],
    state_prompt="{msg}{state!s:.0}",
    streaming=False,
)

"""Read Claude Agent SDK messages: steps, tokens, sub-agent work, and the reason if a turn failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.plain import plain
from fairtrial.agents.token_usage import sum_of_counts, token_usage
from fairtrial.errors import AgentError
from fairtrial.formats.chats.anthropic_messages import response
from fairtrial.llm.token_counts import parse_count
from fairtrial.records.trace import (
    Approval,
    Invocation,
    Message,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
    split_reply,
)

if TYPE_CHECKING:
    from fairtrial.agents.observer import Observer
    from fairtrial.records.record import Json

_SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code itself writes, for example about an error of the API."""
_STATUSES = {"authentication_failed": 401, "billing_error": 402, "rate_limit": 429}
"""The HTTP statuses of failures for which Claude Code names only a kind."""
_COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
_DATE_OR_MARK = re.compile(r"(-\d{8})?(\[\w+\])?$")
_FINAL_STATUSES = ("completed", "failed", "stopped", "killed")


class ApiError(AgentError):
    """The API answered a request of Claude Code with a status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status_code = status


class Listener:
    """Reports the items in the messages of one conversation.

    `name` is the name of the main agent. `calls` are all calls so far by their ids. `declared` are the tools of the
    latest turn by their names. `result` is the latest message at the end of a turn, and `is_idle` says that no other
    turn follows. `approvals` are the decisions about calls by the ids of the calls. `output_tool` is the tool
    that gives a structured answer, or an empty text.
    """

    def __init__(self, name: str, observer: Observer) -> None:
        self.name = name
        self.calls: dict[str, ToolCall] = {}
        self.approvals: dict[str, Approval] = {}
        self.output_tool = ""
        self.tool_names: tuple[str, ...] = ()
        self.result: Any = None
        self.is_idle = False
        self._observer = observer
        self._texts: list[str] = []
        self._model = ""
        self._counts: dict[str, Any] = {}
        self._at_work = ExitStack()
        self._agents: dict[str, _SubAgent] = {}
        self._background: dict[str, tuple[Json, bool] | None] = {}
        self._reports_state = False
        self._failure = ""
        self._totals = _Totals()

    def begin_turn(self) -> None:
        """Expect the messages about a new message of the user."""
        self.result, self.is_idle, self._failure = None, False, ""

    def take(self, message: Any) -> None:
        """Report the items in a message. The classes of the SDK are known by their names."""
        handlers = {
            "AssistantMessage": self._take_assistant,
            "UserMessage": self._take_user,
            "StreamEvent": self._take_event,
            "ResultMessage": self._take_result,
        }
        handler = handlers.get(type(message).__name__)
        if handler is not None:
            handler(message)
        elif hasattr(message, "subtype"):
            self._take_system(message.subtype, message.data)

    def remaining_usage(self) -> list[Usage]:
        """Return the tokens that are in no message: those of sub-agents, and of Claude Code's own requests.

        The messages of sub-agents have only the beginning of a count. The totals are those of the whole conversation.
        """
        return self._totals.take_remaining(getattr(self.result, "model_usage", None) or {})

    def failure(self) -> Exception | None:
        """Return why the latest turn failed, or None."""
        result = self.result
        if not result.is_error:
            return None
        text = str(result.result or "; ".join(result.errors or ()) or result.subtype)
        status = result.api_error_status or _STATUSES.get(self._failure)
        if status is not None:
            return ApiError(text, int(status))
        if self._failure == "server_error":
            error = AgentError(text)
            error.__cause__ = ConnectionError("no response")
            return error
        return AgentError(text if result.subtype == "success" else f"{result.subtype}: {text}")

    def _take_assistant(self, message: Any) -> None:
        if message.model == _SYNTHETIC:
            self._failure = str(message.error or "")
            return
        if message.parent_tool_use_id:
            self._agent(message.parent_tool_use_id).add(message, self.calls)
            return
        for block in message.content:
            kind = type(block).__name__
            if kind == "TextBlock":
                self._texts.append(str(block.text))
            elif kind == "ThinkingBlock" and block.thinking:
                self._observer.note(Thought(str(block.thinking), self.name))
            elif kind in ("ToolUseBlock", "ServerToolUseBlock"):
                self._flush()
                self._at_work.close()
                if block.name == self.output_tool:
                    continue  # the structured answer is the reply
                call = self.calls[str(block.id)] = _call(block, self.name)
                self._observer.begin_tool(call.id)
                self._observer.note(call)
            elif kind == "ServerToolResultBlock":
                self._observer.note_result(str(block.tool_use_id), response(plain(block.content)))

    def _begin_work(self) -> None:
        """Measure the model from now on. A call ends its work, because the tool begins while the model still speaks."""
        self._at_work.close()
        self._at_work.enter_context(self._observer.model_at_work())

    def _flush(self) -> None:
        """Report the text of the model so far. The blocks of one text come one by one."""
        text, self._texts = "".join(self._texts), []
        if text:
            self._observer.note(Message(text, self.name))

    def _take_user(self, message: Any) -> None:
        """Take the results of tools. Texts with the role of the user are remarks of Claude Code itself."""
        for block in message.content if isinstance(message.content, list) else ():
            if type(block).__name__ != "ToolResultBlock":
                continue
            call_id, answer = str(block.tool_use_id), response(plain(block.content))
            is_error = bool(block.is_error)
            if message.parent_tool_use_id:
                name = self.calls[call_id].name if call_id in self.calls else ""
                approval = self.approvals.get(call_id)
                result = ToolResult(
                    name, answer, call_id, is_error=is_error, inner=self._inner(call_id), approval=approval
                )
                self._agent(message.parent_tool_use_id).add_result(result)
            elif call_id in self._background:
                self._background[call_id] = (answer, is_error)
            else:
                self._observer.note_result(call_id, answer, is_error=is_error, inner=self._inner(call_id))

    def _take_event(self, message: Any) -> None:
        """Take the tokens of a response. A message itself has only those of its beginning."""
        event = message.event
        if message.parent_tool_use_id:
            return
        if event.get("type") == "message_start":
            started = event.get("message") or {}
            self._model, self._counts = str(started.get("model") or ""), dict(started.get("usage") or {})
        elif event.get("type") == "message_delta":
            self._counts |= {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
            self._flush()
            self._totals.note(self._model, self._counts)
            self._observer.note(_usage(self._counts, self._model))
        elif event.get("type") == "content_block_delta":
            if (event.get("delta") or {}).get("type") == "text_delta":
                self._observer.note_token()
        elif event.get("type") == "content_block_start":
            self._begin_work()
        elif event.get("type") == "message_stop":
            self._at_work.close()

    def _take_result(self, message: Any) -> None:
        self._flush()
        self._at_work.close()
        self.result = message
        self.is_idle = self.is_idle or not self._reports_state

    def _take_system(self, subtype: str, data: Mapping[str, Any]) -> None:
        if subtype == "init":
            self.tool_names = tuple(str(name) for name in data.get("tools") or () if name != self.output_tool)
        elif subtype == "session_state_changed":
            self._reports_state, self.is_idle = True, data.get("state") == "idle"
        elif subtype == "status" and data.get("status") == "requesting":
            self._begin_work()
        elif subtype == "task_started" and data.get("tool_use_id"):
            self._agent(str(data["tool_use_id"])).begin(data)
            if data.get("is_backgrounded"):
                self._background[str(data["tool_use_id"])] = None
        elif subtype == "task_notification" and data.get("status") in _FINAL_STATUSES:
            self._end_background(str(data.get("tool_use_id")))

    def _end_background(self, call_id: str) -> None:
        """Report the result of a call that started an agent in the background, now that its work is known.

        If the agent ended before the result came, the result is reported when it comes.
        """
        launched = self._background.pop(call_id, None)
        if launched is not None:
            answer, is_error = launched
            self._observer.note_result(call_id, answer, is_error=is_error, inner=self._inner(call_id))

    def _agent(self, call_id: str) -> _SubAgent:
        if call_id not in self._agents:
            args = self.calls[call_id].args if call_id in self.calls else {}
            self._agents[call_id] = _SubAgent(str(args.get("subagent_type") or "agent"), str(args.get("prompt") or ""))
        return self._agents[call_id]

    def _inner(self, call_id: str) -> Trace | None:
        agent = self._agents.pop(call_id, None)
        return agent.trace if agent is not None else None


class _SubAgent:
    """The work of one sub-agent."""

    def __init__(self, name: str, prompt: str) -> None:
        self._name = name
        self._prompt = prompt
        self._steps: list[Step] = []
        self._latest = ""

    def begin(self, data: Mapping[str, Any]) -> None:
        """Take the name and the task of the agent."""
        self._name = str(data.get("subagent_type") or self._name)
        self._prompt = str(data.get("prompt") or self._prompt)

    def add(self, message: Any, calls: dict[str, ToolCall]) -> None:
        """Add the blocks of a message. The blocks of one message come one by one."""
        for block in message.content:
            kind = type(block).__name__
            last = self._steps[-1] if self._steps and self._latest == message.message_id else None
            if kind == "TextBlock" and isinstance(last, Message):
                self._steps[-1] = replace(last, text=last.text + str(block.text))
            elif kind == "TextBlock":
                self._steps.append(Message(str(block.text), self._name))
            elif kind == "ThinkingBlock" and block.thinking:
                self._steps.append(Thought(str(block.thinking), self._name))
            elif kind == "ToolUseBlock":
                call = calls[str(block.id)] = _call(block, self._name)
                self._steps.append(call)
            self._latest = message.message_id

    def add_result(self, result: ToolResult) -> None:
        """Add the result of a call."""
        self._steps.append(replace(result, author=self._name))

    @property
    def trace(self) -> Trace | None:
        """The work as a conversation of one turn, or None if nothing is known of it."""
        if not self._steps:
            return None
        steps, reply = split_reply(self._steps)
        return Trace((Invocation(Message(self._prompt), steps, reply),))


class _Totals:
    """The tokens of a conversation by model: all of them, and those that were reported."""

    def __init__(self) -> None:
        self._reported: dict[str, list[int]] = {}

    def note(self, model: str, counts: Mapping[str, Any]) -> None:
        """Note the tokens of one response."""
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        self._add(model, (parse_count(counts.get(name)) or 0 for name in names))

    def take_remaining(self, totals: Mapping[str, Any]) -> list[Usage]:
        """Return the tokens in the totals that were not reported, and note them."""
        usages: list[Usage] = []
        for model, counts in totals.items():
            reported = self._reported.get(_strip_date(model), [0] * len(_COUNTS))
            rest = [
                max((parse_count(counts.get(name)) or 0) - known, 0)
                for name, known in zip(_COUNTS, reported, strict=True)
            ]
            if any(rest):
                self._add(model, rest)
                fresh, output, cached, created = rest
                usages.append(Usage(fresh + cached + created, output, None, cached or None, model))
        return usages

    def _add(self, model: str, counts: Iterable[int]) -> None:
        earlier = self._reported.get(_strip_date(model), [0] * len(_COUNTS))
        self._reported[_strip_date(model)] = [known + count for known, count in zip(earlier, counts, strict=True)]


def _strip_date(model: str) -> str:
    """Return the name of a model without its date and its mark. A request and its response may differ in them."""
    return _DATE_OR_MARK.sub("", model)


def _call(block: Any, author: str) -> ToolCall:
    return ToolCall(str(block.name), plain(block.input), str(block.id), author)


def _usage(counts: Mapping[str, Any], model: str) -> Usage:
    """Return the tokens of a response. Anthropic counts tokens of the cache beside the input."""
    cached = counts.get("cache_read_input_tokens")
    fresh, created = counts.get("input_tokens"), counts.get("cache_creation_input_tokens")
    thinking = (counts.get("output_tokens_details") or {}).get("thinking_tokens")
    return token_usage(sum_of_counts(fresh, cached, created), counts.get("output_tokens"), thinking, cached, model)


def read_question(arguments: Mapping[str, Any]) -> str:
    """Return the text of the questions in a call of `AskUserQuestion`, with the answers that the agent offers."""
    return "\n\n".join(_questions(arguments))


def _questions(arguments: Mapping[str, Any]) -> Iterator[str]:
    for question in arguments.get("questions") or ():
        options = [f"- {option.get('label')}: {option.get('description')}" for option in question.get("options") or ()]
        yield "\n".join([str(question.get("question")), *options])


def answers_to(arguments: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Return the arguments of a call of `AskUserQuestion` with the message of the user as the answer to each."""
    questions = arguments.get("questions") or ()
    return {**arguments, "answers": {str(question.get("question")): message for question in questions}}

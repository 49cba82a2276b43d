"""The examples of makers that run as tests, by framework."""

from __future__ import annotations

import asyncio
import contextlib
import io
from types import ModuleType
from typing import Any

import pytest
from maker_programs import PROGRAMS
from maker_readmes import MORE_EXAMPLES
from makers import Archive, By, Call, Example, Readme, Source, Turn


def _openai(feature: str, path: str, target: Any, *turns: Turn) -> Example:
    source = Archive("openai-agents", f"examples/{path}")
    return Example("OpenAI Agents SDK", feature, "agents.lifecycle", source, "openai-agents", target, turns)


def _airline(module: ModuleType) -> Any:
    """The context that `main` of the example makes."""
    return lambda: (module.triage_agent, {"context": module.AirlineAgentContext()})


_OPENAI = [
    _openai(
        "tools",
        "basic/tools.py",
        "agent",
        Turn(
            "What's the weather in Tokyo?",
            (Call("get_weather", {"city": "Tokyo"}), "The weather in Tokyo is sunny."),
            "The weather in Tokyo is sunny.",
            ("Hello world: get_weather(city='Tokyo')",),
        ),
    ),
    _openai(
        "agents in tools",
        "agent_patterns/agents_as_tools.py",
        "orchestrator_agent",
        Turn(
            "Translate 'Hello, world!' to French and Spanish.",
            (
                Call("translate_to_french", {"input": "Hello, world!"}),
                "Bonjour, le monde !",
                Call("translate_to_spanish", {"input": "Hello, world!"}),
                "¡Hola, mundo!",
                "Bonjour, le monde ! ¡Hola, mundo!",
            ),
            "Bonjour, le monde ! ¡Hola, mundo!",
            (
                "orchestrator_agent: translate_to_french(input='Hello, world!')",
                "> french_agent said 'Bonjour, le monde !'",
                "orchestrator_agent: translate_to_spanish(input='Hello, world!')",
                "> spanish_agent said '¡Hola, mundo!'",
            ),
        ),
    ),
    _openai(
        "teams, graphs",
        "customer_service/main.py",
        _airline,
        Turn(
            "How many bags may I bring?",
            (
                Call("transfer_to_faq_agent", {}),
                Call("faq_lookup_tool", {"question": "How many bags may I bring?"}),
                "You may bring one bag.",
            ),
            "You may bring one bag.",
            (
                "Triage Agent: transfer_to_faq_agent()",
                "FAQ Agent: faq_lookup_tool(question='How many bags may I bring?')",
            ),
        ),
        Turn(
            "Move me to seat 12A, please. My number is ABC123.",
            (
                Call("transfer_to_triage_agent", {}),
                Call("transfer_to_seat_booking_agent", {}),
                Call("update_seat", {"confirmation_number": "ABC123", "new_seat": "12A"}),
                "You have seat 12A.",
            ),
            "You have seat 12A.",
            (
                "FAQ Agent: transfer_to_triage_agent()",
                "Triage Agent: transfer_to_seat_booking_agent()",
                "Seat Booking Agent: update_seat(confirmation_number='ABC123', new_seat='12A')",
            ),
        ),
    ),
    _openai(
        "approval",
        "agent_patterns/human_in_the_loop.py",
        "agent",
        Turn(
            "What is the temperature in Oakland?",
            (Call("get_temperature", {"city": "Oakland"}),),
            'May I call get_temperature({"city": "Oakland"})? (yes, no, or other arguments as JSON)',
            ("Weather Assistant: get_temperature(city='Oakland')",),
        ),
        Turn("yes", ("It is 20 °C.",), "It is 20 °C."),
    ),
    _openai(
        "structured answer",
        "agent_patterns/deterministic.py",
        "outline_checker_agent",
        Turn(
            "A robot learns to sing.",
            ('{"good_quality": true, "is_scifi": true}',),
            '{"good_quality": true, "is_scifi": true}',
        ),
    ),
]


def _claude(feature: str, path: str, name: str, *turns: Turn) -> Example:
    def find(module: ModuleType) -> Any:
        options = _options(module, name)
        return lambda: options

    find.__name__ = f"{name}_options"
    source = Archive("claude-agent-sdk", f"examples/{path}")
    return Example("Claude Agent SDK", feature, "claude_agent_sdk", source, "claude", find, turns)


class _FoundError(Exception):
    """The options that a program gives to the SDK."""


def _options(module: ModuleType, name: str) -> Any:
    """The options with which a function of the example begins its first conversation."""
    import claude_agent_sdk

    def find(options: Any, **_: Any) -> Any:
        raise _FoundError(options)

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        for home in (module, claude_agent_sdk):
            for taken in ("query", "ClaudeSDKClient"):
                patch.setattr(home, taken, find, raising=False)
        try:
            asyncio.run(getattr(module, name)())
        except _FoundError as error:
            return error.args[0]
    raise AssertionError(f"{name} begins no conversation")


_REVIEW = {
    "description": "Review",
    "prompt": "Review it.",
    "subagent_type": "code-reviewer",
    "run_in_background": False,
}
_CLAUDE = [
    _claude(
        "tools",
        "mcp_calculator.py",
        "main",
        Turn(
            "Calculate 15 + 27",
            (Call("mcp__calc__add", {"a": 15, "b": 27}), "15 + 27 is 42."),
            "15 + 27 is 42.",
            ("main_options: mcp__calc__add(a=15, b=27)",),
        ),
    ),
    _claude(
        "approval",
        "tool_permission_callback.py",
        "main",
        Turn(
            "Make hello.py, please.",
            (Call("Bash", {"command": "touch hello.py"}),),
            'May I call Bash({"command": "touch hello.py"})? (yes, no, or other arguments as JSON)',
            ("main_options: Bash(command='touch hello.py')",),
        ),
        Turn("yes", ("It is made.",), "It is made."),
    ),
    _claude(
        "agents in tools",
        "agents.py",
        "code_reviewer_example",
        Turn(
            "Use the code-reviewer agent to review the code.",
            (
                Call("Agent", _REVIEW),
                By("You are a code reviewer.", "It is good."),
                "The reviewer says that it is good.",
            ),
            "The reviewer says that it is good.",
            (
                "code_reviewer_example_options: Agent(" + ", ".join(f"{k}={v!r}" for k, v in _REVIEW.items()) + ")",
                "> code-reviewer said 'It is good.'",
            ),
        ),
    ),
]


def _strands(feature: str, source: Source, target: Any, *turns: Turn) -> Example:
    return Example("Strands", feature, "strands", source, "strands", target, turns)


def _fixture(module: ModuleType, name: str, *arguments: Any) -> Any:
    """What a fixture of the maker's tests makes."""
    return getattr(module, name)._get_wrapped_function()(*arguments)


def _with_hook(module: ModuleType) -> Any:
    names = ("interrupt_hook", "time_tool", "weather_tool")
    return lambda: _fixture(module, "agent", *(_fixture(module, name) for name in names))


def _swarm(module: ModuleType) -> Any:
    def make() -> Any:
        hooks = _fixture(module, "hook_provider")
        names = ("researcher_agent", "analyst_agent", "writer_agent")
        return module.Swarm([_fixture(module, name, hooks) for name in names])

    return make


_STRANDS = [
    _strands(
        "tools",
        Readme("strands-agents", 1),
        lambda module: lambda: module.Agent(tools=[module.word_count]),
        Turn(
            "How many words are in this sentence?",
            (Call("word_count", {"text": "How many words are in this sentence?"}), "It has 7 words."),
            "It has 7 words.",
            ("agent: word_count(text='How many words are in this sentence?')",),
        ),
    ),
    _strands(
        "approval",
        Archive("strands-agents", "tests_integ/interrupts/test_hook.py"),
        _with_hook,
        Turn(
            "What is the time and weather?",
            ((Call("time_tool", {}), Call("weather_tool", {})),),
            "need approval",
            ("agent: time_tool()", "agent: weather_tool()"),
        ),
        Turn("APPROVE", ("It is 12:00 and sunny.",), "It is 12:00 and sunny."),
    ),
    _strands(
        "teams, graphs",
        Archive("strands-agents", "tests_integ/test_multiagent_swarm.py"),
        _swarm,
        Turn(
            "Research the market, and write a report.",
            (
                Call("web_search", {"query": "AI agents"}),
                Call("handoff_to_agent", {"agent_name": "writer", "message": "Write it."}),
                "The writer writes.",
                "The market grows by 25 %.",
            ),
            "The market grows by 25 %.",
            (
                "researcher: web_search(query='AI agents')",
                "researcher: handoff_to_agent(agent_name='writer', message='Write it.')",
            ),
        ),
    ),
]

EXAMPLES = [*_OPENAI, *_CLAUDE, *_STRANDS, *MORE_EXAMPLES, *PROGRAMS]

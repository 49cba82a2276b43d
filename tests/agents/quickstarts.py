"""The shapes in which makers of frameworks teach agents, each with the test that runs it with the real package."""

from __future__ import annotations

import re
from pathlib import Path

from maker_examples import EXAMPLES
from makers import Example

_FLOW = "test_flow.py:test_what_is_recorded_can_be_held_against_every_criterion"
_SPANS = "test_framework_spans.py:test_agents_that_a_function_runs_are_recorded"
_INSIDE = "test_agents_in_tools.py:test_the_work_of_an_agent_in_a_tool_is_inside_the_result_of_the_tool"
_ASKS = "test_approvals.py:test_the_agent_asks_and_the_user_agrees"
_ANSWER = "test_structured_outputs.py:test_a_structured_answer_is_the_reply"
_OF_SDK = "test_sdk_spans.py:test_"
_GROUPS = "test_groups_of_agents.py:"
_FIELDS = "test_graph_fields.py:"
_TUTORIALS = "test_tutorials.py:"
_NO_VERDICT = "!test_agents_in_tools.py:test_work_that_is_not_recorded_gives_no_verdict"

FEATURES = ("tools", "agents in tools", "teams, graphs", "approval", "structured answer", "in a function, by spans")

QUICKSTARTS: dict[str, dict[str, str]] = {
    "OpenAI Agents SDK": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": "test_sdk_spans.py:test_hand_written_orchestration_of_agents_is_recorded",
        "approval": _ASKS,
        "structured answer": _ANSWER,
        "in a function, by spans": "test_sdk_spans.py:test_hand_written_orchestration_of_agents_is_recorded",
    },
    "OpenAI SDK": {
        **dict.fromkeys(
            ("tools", "in a function, by spans"), _OF_SDK + "a_loop_around_the_openai_sdk_is_recorded_whole"
        ),
        "structured answer": _OF_SDK + "a_parsed_answer_of_the_openai_sdk_is_the_reply",
    },
    "LangChain and LangGraph": {
        "tools": _FLOW,
        "agents in tools": "test_nested_agents.py:test_an_agent_in_a_tool_of_langchain",
        "teams, graphs": _FIELDS + "test_question_context_and_answer_are_mapped",
        "approval": _ASKS,
        "structured answer": "test_nested_graphs.py:test_a_structured_response_is_the_reply",
        "in a function, by spans": _SPANS,
    },
    "Pydantic AI": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": _TUTORIALS + "test_a_graph_of_pydantic_ai_is_recorded_in_a_function",
        "approval": _ASKS,
        "structured answer": "test_pydantic_ai_agent.py:test_structured_output_is_the_reply_as_json",
        "in a function, by spans": _SPANS,
    },
    "Agno": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": _GROUPS + "test_the_members_of_an_agno_team_work_inside_its_delegation",
        "approval": _ASKS,
        "structured answer": _ANSWER,
        "in a function, by spans": _SPANS,
    },
    "Strands": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": _GROUPS + "test_a_strands_swarm_is_recorded_over_its_handover",
        "approval": _TUTORIALS + "test_a_hook_of_strands_asks_before_a_tool_runs",
        "structured answer": _ANSWER,
        "in a function, by spans": _SPANS,
    },
    "Microsoft Agent Framework": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": _GROUPS + "test_the_agents_of_a_workflow_of_agent_framework_are_agents_of_the_conversation",
        "approval": _ASKS,
        "structured answer": _ANSWER,
        "in a function, by spans": _SPANS,
    },
    "LlamaIndex": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": "test_llama_index_agent.py:test_agents_hand_over",
        "approval": "test_llama_index_agent.py:test_a_tool_that_asks_the_user_gets_the_next_message",
        "structured answer": _ANSWER,
        "in a function, by spans": _SPANS,
    },
    "LlamaIndex, a workflow of own steps": {
        "teams, graphs": "!" + _TUTORIALS + "test_a_workflow_of_own_steps_of_llama_index_is_refused",
        "in a function, by spans": _TUTORIALS + "test_a_workflow_of_own_steps_is_recorded_in_a_function",
    },
    "CrewAI": {
        "tools": _FLOW,
        "agents in tools": _NO_VERDICT,
        "teams, graphs": _TUTORIALS + "test_the_coworkers_of_a_crew_are_recorded",
        "approval": "test_crewai_flows.py:test_a_question_of_a_step_is_the_reply",
        "structured answer": _ANSWER,
        "in a function, by spans": _SPANS,
    },
    "smolagents": {
        "tools": _FLOW,
        "agents in tools": _NO_VERDICT,
        "teams, graphs": "test_smolagents_agent.py:test_a_managed_agent_is_recorded_too",
        "structured answer": _TUTORIALS + "test_an_object_is_the_final_answer_of_smolagents",
        "in a function, by spans": _SPANS,
    },
    "Claude Agent SDK": {
        "tools": _FLOW,
        "agents in tools": "test_claude_agent.py:test_the_work_of_a_sub_agent_is_inside_the_result_of_its_call",
        "approval": _ASKS,
        "structured answer": _ANSWER,
        "in a function, by spans": _SPANS,
    },
    "Google ADK": {
        "tools": _FLOW,
        "agents in tools": "test_nested_agents.py:test_an_agent_tool_of_adk",
        "teams, graphs": _TUTORIALS + "test_workflow_agents_of_adk_are_recorded",
        "approval": _ASKS,
        "structured answer": _TUTORIALS + "test_the_output_schema_of_adk_gives_the_reply",
        "in a function, by spans": _TUTORIALS + "test_a_runner_of_adk_is_recorded_in_a_function",
    },
    "Google Gen AI SDK": {
        "tools": _FLOW,
        "structured answer": _TUTORIALS + "test_the_schema_of_a_chat_of_genai_gives_the_reply",
        "in a function, by spans": _SPANS,
    },
}
"""The test of each framework and feature, behind `!` if it shows a refusal.

A feature without a test is in `ABSENT`.
"""

ABSENT = {
    "OpenAI SDK": ("agents in tools", "teams, graphs", "approval"),
    "LlamaIndex, a workflow of own steps": ("tools", "agents in tools", "approval", "structured answer"),
    "smolagents": ("approval",),
    "Claude Agent SDK": ("teams, graphs",),
    "Google Gen AI SDK": ("agents in tools", "teams, graphs", "approval"),
}
"""The features that a framework does not have."""


SHAPES = {
    "a single agent": ("tools", "in a function, by spans"),
    "several agents": ("agents in tools", "teams, graphs"),
    "approval or a structured answer": ("approval", "structured answer"),
}
"""What the makers' own files show of each framework, with the features that show it."""

UNPUBLISHED = {
    "LlamaIndex": (
        ("several agents", "approval or a structured answer"),
        (
            "Looked at: llama-index, llama-index-core 0.12 and 0.14, llama-index-workflows, llama-deploy, "
            "llama-agents, llama-index-agent-openai, -introspective and -azure-foundry, llama-index-protocols-ag-ui, "
            "llama-index-cli, the packs, and create-llama 0.3 and 0.6. Their agents are single, or workflows of own "
            "steps that need a server, an index or an older version. The others are notebooks of the repository."
        ),
    ),
    "LlamaIndex, a workflow of own steps": (("several agents",), "They count with LlamaIndex."),
    "smolagents": (
        ("approval or a structured answer",),
        "Looked at: smolagents 1.0, 1.9 and 1.26, whose readme, tests and documentation show none.",
    ),
}
"""The shapes that a maker shows in no package that runs without further services, with the reason for the page."""


def _cell(framework: str, feature: str) -> str:
    test = QUICKSTARTS[framework].get(feature)
    if test is None:
        assert feature in ABSENT.get(framework, ()), f"{framework}: {feature} was not tried"
        return "–"
    return "refused" if test.startswith("!") else "right"


def write_table() -> str:
    """Return the table of the page."""
    rows = [["", *FEATURES], ["---"] * (len(FEATURES) + 1)]
    rows += [[framework, *(_cell(framework, feature) for feature in FEATURES)] for framework in QUICKSTARTS]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_sources() -> str:
    """Return the table of the makers' own files by framework, and of the features that only own programs show."""
    rows = ["| | from the maker's own files | programs of our own |", "|---|---|---|"]
    for framework, tests in QUICKSTARTS.items():
        examples = [example for example in EXAMPLES if example.framework == framework]
        shown = {example.feature for example in examples}
        rest = [feature for feature in FEATURES if feature in tests and feature not in shown]
        reason = UNPUBLISHED.get(framework, ((), ""))[1]
        own = ". ".join(filter(None, (", ".join(rest) or "–", reason)))
        rows.append(f"| {framework} | {'<br>'.join(map(_source, examples))} | {own} |")
    return "\n".join(rows)


def _source(example: Example) -> str:
    """Return the place of an example, with what was replaced besides the model."""
    place = f"{example.feature}: {_version(example.source.package)} `{example.source.place}`"
    added = ["the names that it uses are added"] if example.before else []
    changed = [f"`{text}` became `{repair}`" if repair else f"without `{text}`" for text, repair in example.repairs]
    return f"{place} ({', '.join((*added, *changed))})" if added or changed else place


def _version(package: str) -> str:
    """Return a package with the version that its constraints pin."""
    pins = "\n".join((_ROOT / f"constraints-{name}.txt").read_text() for name in ("makers", *_environments(), "peer"))
    found = re.search(rf"^{re.escape(package)}==(\S+)", pins, re.MULTILINE)
    assert found is not None, package
    return f"{package} {found[1]}"


def _environments() -> list[str]:
    return sorted(path.stem.removeprefix("constraints-") for path in _ROOT.glob("constraints-agents-*.txt"))


_ROOT = Path(__file__).parents[2]

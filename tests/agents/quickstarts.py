"""The shapes in which makers of frameworks teach agents, each with the test that runs it with the real package."""

from __future__ import annotations

_FLOW = "test_flow.py:test_what_is_recorded_can_be_held_against_every_criterion"
_SPANS = "test_framework_spans.py:test_agents_that_a_function_runs_are_recorded"
_INSIDE = "test_agents_in_tools.py:test_the_work_of_an_agent_in_a_tool_is_inside_the_result_of_the_tool"
_ASKS = "test_approvals.py:test_the_agent_asks_and_the_user_agrees"
_ANSWER = "test_structured_outputs.py:test_a_structured_answer_is_the_reply"
_GROUPS = "test_groups_of_agents.py:"
_FIELDS = "test_graph_fields.py:"

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
    "OpenAI SDK": {"in a function, by spans": "test_sdk_spans.py:test_a_loop_around_the_openai_sdk_is_recorded_whole"},
    "LangChain and LangGraph": {
        "tools": _FLOW,
        "agents in tools": "test_nested_agents.py:test_an_agent_in_a_tool_of_langchain",
        "teams, graphs": _FIELDS + "test_question_context_and_answer_are_mapped",
        "approval": _ASKS,
        "structured answer": "test_nested_graphs.py:test_a_structured_response_is_the_reply",
    },
    "Pydantic AI": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
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
    },
    "Strands": {
        "tools": _FLOW,
        "agents in tools": _INSIDE,
        "teams, graphs": _GROUPS + "test_a_strands_swarm_is_recorded_over_its_handover",
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
}
"""The test of each framework and feature. A feature that is absent was not tried."""


def write_table() -> str:
    """Return the table of the page."""
    rows = [["", *FEATURES], ["---"] * (len(FEATURES) + 1)]
    rows += [
        [framework, *("right" if feature in tests else "not tried" for feature in FEATURES)]
        for framework, tests in QUICKSTARTS.items()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)

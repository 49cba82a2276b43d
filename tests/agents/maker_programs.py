"""The examples of OpenAI, Google, Hugging Face and CrewAI: whole programs, projects, and agents of command lines."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from makers import Archive, Call, Docstring, Example, Installed, Readme, Source, Template, Turn

_ORDERS = "look up all my orders in november of last year that were fulfilled but not delivered on time"
_QUERY: dict[str, Any] = {
    "table_name": "orders",
    "columns": ["id"],
    "conditions": [{"column": "status", "operator": "=", "value": "fulfilled"}],
    "order_by": "asc",
}
_PARSED = (
    'ParsedFunction(arguments=\'{"table_name": "orders", "columns": ["id"], "conditions": [{"column": "status", '
    '"operator": "=", "value": "fulfilled"}], "order_by": "asc"}\', name=\'Query\', '
    "parsed_arguments=Query(table_name=<Table.orders: 'orders'>, columns=[<Column.id: 'id'>], "
    "conditions=[Condition(column='status', operator=<Operator.eq: '='>, value='fulfilled')], "
    "order_by=<OrderBy.asc: 'asc'>))\nTable.orders"
)
_STEPS = '{"steps":[{"explanation":"Subtract 31.","output":"8x = -29"}],"final_answer":"x = -3.625"}'
_PRINTED = "[Step(explanation='Subtract 31.', output='8x = -29')]\nanswer:  x = -3.625"
_PRINTED_TWICE = "\n".join(
    [f"MathResponse(steps={_PRINTED.partition(chr(10))[0]}, final_answer='x = -3.625')\nanswer:  x = -3.625"] * 2
)

_DEMO = (
    "----- standard request -----\nThis is a test.\n----- streaming request -----\nCall os.listdir.None\n"
    "----- custom response headers test -----\nNone\nIt is one."
)


def _openai(feature: str, path: str, *turns: Turn) -> Example:
    source = Archive("openai", f"examples/{path}")
    return Example("OpenAI SDK", feature, "openinference.instrumentation.openai", source, "", "", turns)


_OPENAI = [
    _openai(
        "tools",
        "parsing_tools.py",
        Turn(
            _ORDERS,
            (Call("Query", _QUERY),),
            _PARSED,
            (f": Query({', '.join(f'{k}={v!r}' for k, v in _QUERY.items())})",),
        ),
    ),
    _openai("structured answer", "parsing.py", Turn("solve 8x + 31 = 2", (_STEPS,), _PRINTED)),
    _openai(
        "structured answer", "responses/structured_outputs.py", Turn("solve 8x + 31 = 2", (_STEPS,), _PRINTED_TWICE)
    ),
    _openai(
        "in a function, by spans",
        "demo.py",
        Turn("Say this is a test", ("This is a test.", "Call os.listdir.", "It is one."), _DEMO),
    ),
]

_CLIENT = "from google import genai\nclient = genai.Client()\n"
_COUNTRY = (
    '{"name":"United States","population":331900000,"capital":"Washington, D.C.","continent":"North America",'
    '"gdp":23320000,"official_language":"English","total_area_sq_mi":3796742}'
)


def _genai(feature: str, number: int, *turns: Turn, unseen: int = 0) -> Example:
    source = Readme("google-genai", number)
    return Example("Google Gen AI SDK", feature, "google.genai", source, "", "", turns, _CLIENT, unseen=unseen)


_GENAI = [
    _genai(
        "tools",
        42,
        Turn(
            "What is the weather like in Boston?",
            (Call("get_current_weather", {"location": "Boston, MA"}), "It is sunny in Boston."),
            "It is sunny in Boston.",
            (": get_current_weather(location='Boston, MA')",),
        ),
        unseen=1,
    ),
    _genai("structured answer", 52, Turn("Give me information for the United States.", (_COUNTRY,), _COUNTRY)),
    _genai(
        "in a function, by spans",
        72,
        Turn("tell me a story", ("A fox met a hen.", "A fox and a hen."), "A fox met a hen.\nA fox and a hen."),
    ),
]


def _smolagents(feature: str, source: Source, prefix: str, target: Any, *turns: Turn, **more: Any) -> Example:
    return Example("smolagents", feature, "smolagents", source, prefix, target, turns, **more)


def _manager(module: ModuleType) -> Any:
    """The manager that a test of the maker makes before it saves it."""

    def make() -> Any:
        saved = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module.CodeAgent, "save", lambda agent, _: saved.append(agent))
            with pytest.raises((AssertionError, OSError)):
                module.TestMultiAgents().test_multiagents_save(Path("nowhere"))
        (agent,) = saved
        return agent

    return make


_LEOPARD = "How many seconds would it take for a leopard at full speed to run through Pont des Arts?"
_OPENAI_MODEL = ("--model-type=OpenAIModel", "--model-id=gpt-4o", "--api-base=$OPENAI_BASE_URL", "--api-key=none")
_SMOLAGENTS = [
    _smolagents(
        "tools",
        Readme("smolagents", 0),
        "smolagents",
        lambda module: lambda: module.CodeAgent(tools=[module.WebSearchTool()], model=module.model),
        Turn(_LEOPARD, ("<code>\nfinal_answer(round(155 / 16, 2))\n</code>",), "9.69"),
        model=(("InferenceClientModel()", 'OpenAIModel("gpt-4o")'), ("InferenceClientModel", "OpenAIModel")),
    ),
    _smolagents(
        "teams, graphs",
        Archive("smolagents", "tests/test_agents.py"),
        "smolagents",
        _manager,
        Turn(
            "How long is the Pont des Arts?",
            (
                '<code>\nfinal_answer(web_agent(task="Find its length."))\n</code>',
                Call("final_answer", {"answer": "It is 155 m long."}),
            ),
            "Here is the final answer from your managed agent 'web_agent':\nIt is 155 m long.",
        ),
        model=(
            ('InferenceClientModel(model_id="Qwen/Qwen2.5-Coder-32B-Instruct"', 'OpenAIModel(model_id="gpt-4o"'),
            ("    InferenceClientModel,", "    InferenceClientModel, OpenAIModel,"),
        ),
        repairs=(('"pandas", ', ""),),
    ),
    _smolagents(
        "in a function, by spans",
        Installed("smolagents", "smolagents.cli", "main", ("What is 6 times 7?", *_OPENAI_MODEL)),
        "",
        "",
        Turn("What is 6 times 7?", ("<code>\nfinal_answer(6 * 7)\n</code>",), "42"),
        shown=r"Final answer: (.*)",
    ),
]


def _adk(feature: str, source: Source, *turns: Turn, target: Any = "root_agent", **more: Any) -> Example:
    return Example("Google ADK", feature, "google.adk", source, "adk", target, turns, **more)


_RESEARCH = Archive("agent-starter-pack", "agents/adk_gemini_fullstack/app/agent.py")
_RESEARCH_CONFIG = (
    # The configuration asks for the credentials of Google Cloud when it is imported.
    (
        "from .config import config",
        "class config: critic_model = worker_model = 'gemini-2.5-pro'; max_search_iterations = 5",
    ),
)

_ADK = [
    _adk("tools", Readme("google-adk", 0), Turn("Hello", ("A warm welcome!",), "A warm welcome!")),
    _adk("teams, graphs", Readme("google-adk", 1), Turn("Go on", ("Pear", "A pear has fibre."), "A pear has fibre.")),
    _adk(
        "tools",
        Installed("google-adk", "google.adk.cli.built_in_agents.agent", "root_agent"),
        Turn(
            "Which files are there?",
            (Call("read_files", {"file_paths": ["root_agent.yaml"]}), "There are none."),
            "There are none.",
            ("agent_builder_assistant: read_files(file_paths=['root_agent.yaml'])",),
        ),
    ),
    _adk(
        "tools",
        Docstring("google.adk.tools.model_consult._model_consult_tool", "root_cause_analysis_agent"),
        Turn(
            "Why is the site down?",
            (Call("model_consult", {"question": "Why?"}), "The disk is full.", "The disk is full."),
            "The disk is full.",
            ("root_cause_analysis_agent: model_consult(question='Why?')",),
        ),
        before="from google.adk import Agent\nfrom google.adk.tools.model_consult import ModelConsultTool\n",
        unseen=1,
    ),
    _adk(
        "agents in tools",
        _RESEARCH,
        Turn(
            "Why is tea bitter?",
            (Call("plan_generator", {"request": "bitter tea"}), "[RESEARCH] Tannins", "The plan: tannins. May I?"),
            "The plan: tannins. May I?",
            (
                "interactive_planner_agent: plan_generator(request='bitter tea')",
                "> plan_generator said '[RESEARCH] Tannins'",
            ),
        ),
        Turn(
            "Looks good, run it.",
            (
                Call("transfer_to_agent", {"agent_name": "research_pipeline"}),
                "# Tannins",
                "Tannins are bitter.",
                '{"grade": "pass", "comment": "Complete."}',
                "Tannins taste bitter .",
            ),
            "Tannins taste bitter.",
            ("interactive_planner_agent: transfer_to_agent(agent_name='research_pipeline')",),
        ),
        repairs=_RESEARCH_CONFIG,
    ),
    _adk(
        "structured answer",
        _RESEARCH,
        Turn(
            "Tannins are bitter.",
            ('{"grade": "fail", "comment": "Which?", "follow_up_queries": [{"search_query": "tannins"}]}',),
            '{"grade": "fail", "comment": "Which?", "follow_up_queries": [{"search_query": "tannins"}]}',
        ),
        target="research_evaluator",
        repairs=_RESEARCH_CONFIG,
    ),
]


def _crewai(
    feature: str, folder: str, path: str, target: Any, *turns: Turn, state: dict[str, Any] | None = None
) -> Example:
    source = Template("crewai_cli", f"templates/{folder}", path)
    return Example("CrewAI", feature, "crewai_cli", source, "crewai", target, turns, state=state or {})


_STEP = {"step_number": 1, "description": "Think about the moon.", "tool_to_use": None, "depends_on": []}
_PLAN = {"plan": "Think.", "steps": [_STEP], "ready": True}
_OBSERVED = (
    '{"step_completed_successfully":true,"key_information_learned":"It does.","remaining_plan_still_valid":true}'
)
_CREWAI = [
    _crewai(
        "teams, graphs",
        "crew",
        "crew.py",
        lambda module: lambda: (module.LatestAi(), {"message": "topic", "inputs": {"current_year": "2026"}}),
        Turn("AI LLMs", ("Ten points.", "A report of ten points."), "A report of ten points."),
    ),
    _crewai(
        "teams, graphs",
        "flow",
        "main.py",
        lambda module: lambda: (module.ContentFlow(), {"message": "topic"}),
        Turn("Write.", ("An outline.", "A draft.", "A post."), ""),
        state={"topic": "AI Agents", "final_post": "A post."},
    ),
    Example(
        "CrewAI",
        "tools",
        "crewai_cli",
        Docstring("crewai.agent.planning_config", "max_attempts=3"),
        "crewai",
        lambda module: lambda: module.agent,
        (
            Turn(
                "What makes tides?",
                (Call("create_reasoning_plan", _PLAN), "The moon.", _OBSERVED, "The moon makes them."),
                "The moon makes them.",
            ),
        ),
        unseen=2,
    ),
    Example(
        "CrewAI",
        "approval",
        "crewai_cli",
        Docstring("crewai.flow.human_feedback", "def publish(self)"),
        "crewai",
        lambda module: module.ReviewFlow,
        (
            Turn("Write.", (), '{"title":"Article","body":"Content..."}\n\nPlease review this content:'),
            Turn("Good, publish it.", ('{"outcome":"approved"}',), ""),
        ),
        repairs=(("result = self.human_feedback", "result = self.last_human_feedback"),),
        unseen=1,
    ),
    Example(
        "CrewAI",
        "teams, graphs",
        "crewai_cli",
        Readme("crewai", 0),
        "crewai",
        lambda module: lambda: (module.AdvancedAnalysisFlow(), {"message": "sentiment"}),
        (Turn("Analyse the market.", ("It grows.", "The data agree."), "Additional analysis required"),),
        state={"sentiment": "analyzing", "confidence": 0.0, "recommendations": ["Gather more data"]},
    ),
]


PROGRAMS = [*_OPENAI, *_GENAI, *_SMOLAGENTS, *_ADK, *_CREWAI]

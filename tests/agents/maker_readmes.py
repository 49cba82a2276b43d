"""The examples in the readmes, the documentation and the templates of packages that are installed."""

from __future__ import annotations

from typing import Any

from makers import Call, Docstring, Example, Readme, Source, Template, Turn

_OPENAI_MODEL = (("anthropic:claude-sonnet-4-5-20250929", "openai:gpt-4.1"),)
_MAIL = '''
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="gpt-4.1")
def send_email(to: str) -> str:
    """Send an email."""
    return f"sent to {to}"
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"
'''
_MAY_I = (
    'May I call send_email({"to": "alice"}) and delete_file({"path": "report"})? (yes, no, or other arguments as JSON)'
)


def _langchain(
    feature: str, source: Source, target: str, *turns: Turn, module: str = "langchain_openai", before: str = ""
) -> Example:
    return Example(
        "LangChain and LangGraph", feature, module, source, "langgraph", target, turns, before, _OPENAI_MODEL
    )


_LANGCHAIN = [
    _langchain(
        "tools",
        Docstring("langchain.agents.factory", "check_weather"),
        "graph",
        Turn(
            "What is the weather in sf?",
            (Call("check_weather", {"location": "sf"}), "It's always sunny in sf."),
            "It's always sunny in sf.",
            ("LangGraph: check_weather(location='sf')",),
        ),
    ),
    _langchain(
        "teams, graphs",
        Readme("langgraph-supervisor", 0),
        "app",
        Turn(
            "What's the combined headcount of two FAANG companies?",
            (
                Call("transfer_to_research_expert", {}),
                Call("web_search", {"query": "FAANG headcount"}),
                "Facebook has 67317, Apple has 164000.",
                Call("transfer_to_math_expert", {}),
                Call("add", {"a": 67317, "b": 164000}),
                "It is 231317.",
                "The combined headcount is 231317.",
            ),
            "The combined headcount is 231317.",
            (
                "supervisor: transfer_to_research_expert()",
                "research_expert: web_search(query='FAANG headcount')",
                "supervisor: transfer_to_math_expert()",
                "math_expert: add(a=67317, b=164000)",
            ),
        ),
        module="langgraph_supervisor",
    ),
    _langchain(
        "teams, graphs",
        Readme("langgraph-swarm", 0),
        "app",
        Turn(
            "i'd like to speak to Bob",
            (Call("transfer_to_bob", {}), "Arr, what can I do?"),
            "Arr, what can I do?",
            ("Alice: transfer_to_bob()",),
        ),
        Turn(
            "what's 5 + 7?",
            (Call("transfer_to_alice", {}), Call("add", {"a": 5, "b": 7}), "5 + 7 is 12."),
            "5 + 7 is 12.",
            ("Bob: transfer_to_alice()", "Alice: add(a=5, b=7)"),
        ),
        module="langgraph_swarm",
    ),
    _langchain(
        "approval",
        Docstring("langchain.agents.middleware.human_in_the_loop", '"delete_file": True})'),
        "agent",
        Turn(
            "Email Alice, then delete the report.",
            ((Call("send_email", {"to": "alice"}), Call("delete_file", {"path": "report"})),),
            _MAY_I,
            ("LangGraph: send_email(to='alice')", "LangGraph: delete_file(path='report')"),
        ),
        Turn("yes", ("Both is done.",), "Both is done."),
        before=_MAIL,
    ),
]


def _pydantic(feature: str, source: Source, *turns: Turn) -> Example:
    model = (("'test'", "'openai:gpt-5.2'"),)
    return Example("Pydantic AI", feature, "pydantic_ai", source, "pydantic-ai", "agent", turns, "", model)


_PYDANTIC_AI = [
    _pydantic(
        "tools",
        Docstring("pydantic_ai.agent", "def foobar() -> int"),
        Turn(
            "foobar",
            ((Call("foobar", {}), Call("spam", {})), "They are 123 and 3.14."),
            "They are 123 and 3.14.",
            ("agent: foobar()", "agent: spam()"),
        ),
    ),
    _pydantic(
        "structured answer",
        Docstring("pydantic_ai.output", "name='return_fruit'"),
        Turn(
            "What is a banana?",
            (Call("return_fruit", {"name": "banana", "color": "yellow"}),),
            '{"name":"banana","color":"yellow"}',
        ),
    ),
    _pydantic(
        "structured answer",
        Docstring("pydantic_ai.output", "StructuredDict(schema)"),
        Turn("Create a person", (Call("final_result", {"name": "John", "age": 30}),), '{"name":"John","age":30}'),
    ),
    _pydantic(
        "tools",
        Docstring("pydantic_ai.toolsets.function", "async def spam(y: float)"),
        Turn(
            "foobar",
            (Call("foobar", {"x": 1}), Call("spam", {"y": 2.0}), "They are 2 and 4."),
            "They are 2 and 4.",
            ("agent: foobar(x=1)", "agent: spam(y=2.0)"),
        ),
    ),
]


def _agent_framework(feature: str, source: Source, prefix: str, target: str, *turns: Turn, before: str = "") -> Example:
    return Example(
        "Microsoft Agent Framework", feature, "agent_framework_openai", source, prefix, target, turns, before
    )


_CLIENT = """
from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
client = OpenAIChatClient(model="gpt-4")
"""
_AGENT_FRAMEWORK = [
    _agent_framework(
        "agents in tools",
        Docstring("agent_framework._agents", "research_tool = agent.as_tool()"),
        "agent-framework",
        "coordinator",
        Turn(
            "What is known about tides?",
            (Call("research_agent", {"task": "tides"}), "The moon makes them.", "The moon makes tides."),
            "The moon makes tides.",
            ("coordinator: research_agent(task='tides')", "> research-agent said 'The moon makes them.'"),
        ),
        before=_CLIENT,
    ),
    _agent_framework(
        "in a function, by spans",
        Readme("agent-framework-core", 3),
        "",
        "",
        Turn(
            "What's the weather in Amsterdam and what are today's specials?",
            ((Call("get_weather", {"location": "Amsterdam"}), Call("get_menu_specials", {})), "Sunny, and a soup."),
            "Sunny, and a soup.",
            (": get_weather(location='Amsterdam')", ": get_menu_specials()"),
        ),
    ),
    _agent_framework(
        "in a function, by spans",
        Readme("agent-framework-core", 4),
        "",
        "",
        Turn(
            "Create a slogan for a new electric SUV.",
            ("Drive on.", "It is short.", "Drive on, quietly."),
            "Writer: Drive on.\nReviewer: It is short.\nFinal Slogan: Drive on, quietly.",
        ),
    ),
]


def _agno(
    feature: str, source: Source, *turns: Turn, model: tuple[tuple[str, str], ...] = (), unseen: int = 0
) -> Example:
    return Example("Agno", feature, "agno", source, "agno", "agent", turns, "", model, unseen=unseen)


_AGNO = [
    _agno(
        "tools",
        Docstring("agno.knowledge.filesystem", "fs_knowledge"),
        Turn(
            "Find where main() is defined",
            (Call("search_knowledge_base", {"query": "def main"}), "It is in code.py."),
            "It is in code.py.",
            ("agent: search_knowledge_base(query='def main')",),
        ),
        model=(("/path/to/code", "."),),
    ),
    _agno(
        "tools",
        Docstring("agno.tools.advisor", "AdvisorTools("),
        Turn(
            "Is it safe?",
            (
                Call("ask_advisor", {"advisor": "gpt-5.5", "prompt": "Is it safe?"}),
                "It is.",
                "My advisor says that it is.",
            ),
            "My advisor says that it is.",
            ("agent: ask_advisor(advisor='gpt-5.5', prompt='Is it safe?')",),
        ),
        model=(
            ("from agno.models.anthropic import Claude", "from agno.models.openai import OpenAIChat as Claude"),
            ("google:gemini-3-pro", "openai:gpt-4.1"),
        ),
        unseen=1,
    ),
]

_LLAMA_INDEX = [
    Example(
        "LlamaIndex",
        "tools",
        "llama_index.tools.code_interpreter",
        Readme("llama-index-tools-code-interpreter", 0),
        "llama-index",
        "agent",
        (
            Turn(
                "Calculate the volume of a cube of 3 cm.",
                (Call("code_interpreter", {"code": "print(3 ** 3)"}), "It has 27 cubic centimetres."),
                "It has 27 cubic centimetres.",
                ("Agent: code_interpreter(code='print(3 ** 3)')",),
            ),
        ),
    ),
    Example(
        "LlamaIndex",
        "tools",
        "llama_index.tools.requests",
        Readme("llama-index-tools-requests", 0),
        "llama-index",
        "agent",
        (
            Turn(
                "What is at example?",
                (Call("get_request", {"url_template": "example", "path_params": {}}), "That is no URL."),
                "That is no URL.",
                ("Agent: get_request(url_template='example', path_params={})",),
            ),
        ),
    ),
]
_SMOLAGENTS = [
    Example(
        "smolagents",
        "tools",
        "smolagents",
        Readme("smolagents", 0),
        "smolagents",
        lambda module: lambda: module.CodeAgent(tools=[module.WebSearchTool()], model=module.model),
        (
            Turn(
                "How many seconds would it take for a leopard at full speed to run through Pont des Arts?",
                ("<code>\nfinal_answer(round(155 / 16, 2))\n</code>",),
                "9.69",
            ),
        ),
        "",
        (("InferenceClientModel()", 'OpenAIModel("gpt-4o")'), ("InferenceClientModel", "OpenAIModel")),
    ),
]


def _adk(feature: str, number: int, *turns: Turn) -> Example:
    source = Readme("google-adk", number)
    return Example("Google ADK", feature, "google.adk", source, "adk", "root_agent", turns)


_ADK = [
    _adk("tools", 0, Turn("Hello", ("A warm welcome!",), "A warm welcome!")),
    _adk("teams, graphs", 1, Turn("Go on", ("Pear", "A pear has fibre."), "A pear has fibre.")),
]


def _crewai(
    feature: str, folder: str, path: str, target: Any, *turns: Turn, state: dict[str, Any] | None = None
) -> Example:
    source = Template("crewai_cli", f"templates/{folder}", path)
    return Example("CrewAI", feature, "crewai_cli", source, "crewai", target, turns, state=state or {})


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
]

MORE_EXAMPLES = [
    *_LANGCHAIN,
    *_PYDANTIC_AI,
    *_AGENT_FRAMEWORK,
    *_AGNO,
    *_LLAMA_INDEX,
    *_SMOLAGENTS,
    *_ADK,
    *_CREWAI,
]

"""The examples in the readmes, the documentation and the templates of packages that are installed."""

from __future__ import annotations

import json
import sqlite3
from types import ModuleType
from typing import Any

from makers import Archive, Call, Docstring, Example, Installed, Page, Readme, Source, Turn

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


def _pydantic(feature: str, source: Source, *turns: Turn, target: Any = "agent") -> Example:
    model = (("'test'", "'openai:gpt-5.2'"),)
    return Example("Pydantic AI", feature, "pydantic_ai", source, "pydantic-ai", target, turns, "", model)


def _bank(module: ModuleType) -> Any:
    """The agent with the customer that the example makes when it runs as a program."""

    def make() -> Any:
        module.cur = cursor = sqlite3.connect(":memory:", check_same_thread=False).cursor()  # type: ignore[attr-defined]
        cursor.execute("CREATE TABLE customers(id, name, balance)")
        cursor.execute("INSERT INTO customers VALUES (123, 'John', 123.45)")
        deps = module.SupportDependencies(customer_id=123, db=module.DatabaseConn(sqlite_conn=cursor.connection))
        return module.support_agent, {"deps": deps}

    return make


def _triage(module: ModuleType) -> Any:
    """The agent with the first patient of the example."""
    patient = module.PatientInfo(patient_id="P001", age=64, known_conditions=["hypertension"])
    return lambda: (module.triage_agent, {"deps": patient})


_REPORT = {
    "diagnosis": ["angina"],
    "differential": [],
    "recommended_tests": ["ECG"],
    "immediate_actions": [],
    "estimated_time_minutes": 30,
}
_RESOLVED = {
    "specialty": "cardiology",
    "final_report": _REPORT,
    "treatment_plan": None,
    "final_status": "resolved_by_specialist",
}
_BALANCE = {"support_advice": "Hello John, your balance is $123.45.", "block_card": False, "risk": 1}
_LOST = {"support_advice": "We block your card, John.", "block_card": True, "risk": 8}


def _written(answer: dict[str, Any]) -> str:
    return json.dumps(answer, separators=(",", ":"))


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
    _pydantic(
        "structured answer",
        Archive("pydantic-ai-examples", "pydantic_ai_examples/bank_support.py"),
        Turn(
            "What is my balance?",
            (Call("customer_balance", {}), Call("final_result", _BALANCE)),
            _written(_BALANCE),
            ("agent: customer_balance()",),
        ),
        Turn("I just lost my card!", (Call("final_result", _LOST),), _written(_LOST)),
        target=_bank,
    ),
    _pydantic(
        "agents in tools",
        Archive("pydantic-ai-examples", "pydantic_ai_examples/medical_agent_delegation.py"),
        Turn(
            "Sudden severe chest pain radiating to left arm and shortness of breath.",
            (
                Call("consult_specialist", {"specialty": "cardiology", "question": "Chest pain?"}),
                Call("final_result", _REPORT),
                Call("final_result", _RESOLVED),
            ),
            _written(_RESOLVED),
            (
                "agent: consult_specialist(specialty='cardiology', question='Chest pain?')",
                f"> specialist_agent said '{_written(_REPORT)}'",
            ),
        ),
        target=_triage,
    ),
    _pydantic(
        "approval",
        Page(
            "pydantic-ai-slim",
            "pydantic_ai/.agents/skills/building-pydantic-ai-agents/references/TOOLS-ADVANCED.md",
            "validate_transfer",
        ),
        Turn(
            "Transfer 500.",
            (Call("transfer_funds", {"amount": 500}),),
            'May I call transfer_funds({"amount": 500})? (yes, no, or other arguments as JSON)',
            ("validation_agent: transfer_funds(amount=500)",),
        ),
        Turn("yes", ("It is transferred.",), "It is transferred."),
        target=lambda module: lambda: (module.agent, {"deps": 1000}),
    ),
]


def _agent_framework(
    feature: str, source: Source, prefix: str, target: Any, *turns: Turn, module: str = "", **more: Any
) -> Example:
    module = module or "agent_framework_openai"
    return Example("Microsoft Agent Framework", feature, module, source, prefix, target, turns, **more)


_CLIENT = """
from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
client = OpenAIChatClient(model="gpt-4")
"""
_AGENTS = "agent1, agent2, agent3 = (client.as_agent(name=name) for name in ('writer', 'reviewer', 'editor'))\n"
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
    _agent_framework(
        "approval",
        Docstring("agent_framework._tools", "# the same function but with approval required to run"),
        "agent-framework",
        lambda module: lambda: module.Agent(client=module.client, name="helper", tools=[module.tool_example]),
        Turn(
            "Try a and 1.",
            (Call("tool_example", {"arg1": "a", "arg2": 1}),),
            'May I call tool_example({"arg1": "a", "arg2": 1})? (yes, no, or other arguments as JSON)',
            ("helper: tool_example(arg1='a', arg2=1)",),
        ),
        Turn("yes", ("It is tried.",), "It is tried."),
        before=_CLIENT,
    ),
    _agent_framework(
        "teams, graphs",
        Docstring("agent_framework_orchestrations._handoff", "builder.with_start_agent(triage)"),
        "agent-framework",
        lambda module: module.builder.build,
        Turn(
            "I want my money back.",
            (Call("handoff_to_refund_agent", {}), "Which order is it?"),
            "Which order is it?",
            ("triage_agent: handoff_to_refund_agent()",),
        ),
        Turn("1001", ("It is refunded.",), "It is refunded."),
        module="agent_framework_orchestrations",
        repairs=(('instructions="..."', 'instructions="...", require_per_service_call_history_persistence=True'),),
    ),
    _agent_framework(
        "teams, graphs",
        Readme("agent-framework-orchestrations", 0),
        "agent-framework",
        lambda module: lambda: module.SequentialBuilder(participants=[module.agent1, module.agent2]).build(),
        Turn("Write a slogan.", ("Drive on.", "Drive on, quietly."), "Drive on, quietly."),
        before=_CLIENT + _AGENTS,
        module="agent_framework_orchestrations",
    ),
]


def _agno(feature: str, source: Source, *turns: Turn, **more: Any) -> Example:
    return Example("Agno", feature, "agno", source, "agno", "agent", turns, **more)


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
        repairs=(("/path/to/code", "."),),
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
    _agno(
        "tools",
        Docstring("agno.knowledge.protocol", "agent = Agent(knowledge=MyKnowledge())"),
        Turn(
            "What is a tide?",
            (Call("search_knowledge_base", {"query": "tide"}), "The moon makes it."),
            "The moon makes it.",
            ("agent: search_knowledge_base(query='tide')",),
        ),
        before="from typing import List, Callable\nfrom agno.agent import Agent\n",
        repairs=(("self._internal_search(query)", "[self.search_docs(query)]"),),
    ),
]


def manager(module: ModuleType) -> Any:
    """The team that Agno brings to manage its platform: a lead, a builder and an operator, with a database here."""
    from agno.db.sqlite import SqliteDb
    from agno.models.openai import OpenAIChat
    from agno.os import AgentOS

    own = module.OSManager(model=OpenAIChat("gpt-4.1"), access_docs=False)
    return AgentOS(db=SqliteDb(db_file="os.db"), manager=own, telemetry=False)._manager.team


def _agno_manager(feature: str, *turns: Turn) -> Example:
    source = Installed("agno", "agno.os.manager", "OSManager")
    return Example("Agno", feature, "fastapi", source, "agno", manager, turns)


_CHECK = {"member_id": "platform-manager-internal", "task": "Check it"}
_ARCHIVE = {"member_id": "platform-builder-internal", "task": "Archive shop"}
_AGNO += [
    _agno_manager(
        "teams, graphs",
        Turn(
            "Are there components?",
            (
                Call("delegate_task_to_member", _CHECK),
                Call("run_diagnostics", {}),
                "There is one.",
                "There is one component.",
            ),
            "There is one component.",
            (
                "OS Manager: delegate_task_to_member(member_id='platform-manager-internal', task='Check it')",
                "> Platform Manager: run_diagnostics()",
                "> Platform Manager said 'There is one.'",
            ),
        ),
    ),
    _agno_manager(
        "approval",
        Turn(
            "Archive the shop",
            (Call("delegate_task_to_member", _ARCHIVE), Call("archive_component", {"component_id": "shop"})),
            'May I call archive_component({"component_id": "shop"})? (yes, no, or other arguments as JSON)',
            (
                "OS Manager: delegate_task_to_member(member_id='platform-builder-internal', task='Archive shop')",
                "> Platform Builder: archive_component(component_id='shop')",
            ),
        ),
        Turn("no", ("It stays.", "The shop stays."), "The shop stays."),
    ),
]


def _llama_index(feature: str, source: Source, *turns: Turn, module: str, prefix: str = "llama-index") -> Example:
    framework = "LlamaIndex" if prefix else "LlamaIndex, a workflow of own steps"
    return Example(framework, feature, module, source, prefix, "agent" if prefix else "", turns)


_REPORT_OF_TIDES = {"title": "Tides", "content": [{"type": "text", "content": "The moon makes them."}]}
_LLAMA_INDEX = [
    _llama_index(
        "tools",
        Readme("llama-index-tools-code-interpreter", 0),
        Turn(
            "Calculate the volume of a cube of 3 cm.",
            (Call("code_interpreter", {"code": "print(3 ** 3)"}), "It has 27 cubic centimetres."),
            "It has 27 cubic centimetres.",
            ("Agent: code_interpreter(code='print(3 ** 3)')",),
        ),
        module="llama_index.tools.code_interpreter",
    ),
    _llama_index(
        "tools",
        Readme("llama-index-tools-requests", 0),
        Turn(
            "What is at example?",
            (Call("get_request", {"url_template": "example", "path_params": {}}), "That is no URL."),
            "That is no URL.",
            ("Agent: get_request(url_template='example', path_params={})",),
        ),
        module="llama_index.tools.requests",
    ),
    _llama_index(
        "tools",
        Readme("llama-index-tools-artifact-editor", 0),
        Turn(
            "Write a report about tides.",
            (Call("create_artifact", _REPORT_OF_TIDES), "It is written."),
            "It is written.",
            (f"Agent: create_artifact(title='Tides', content={_REPORT_OF_TIDES['content']})",),
        ),
        module="llama_index.tools.artifact_editor",
    ),
    _llama_index(
        "in a function, by spans",
        Readme("llama-index-workflows", 0),
        Turn(
            "Hello, world!",
            (),
            "Workflow result: Processed 1 times, data length: 13\nWorkflow result: Processed 2 times, data length: 26",
        ),
        module="workflows",
        prefix="",
    ),
]

MORE_EXAMPLES = [
    *_LANGCHAIN,
    *_PYDANTIC_AI,
    *_AGENT_FRAMEWORK,
    *_AGNO,
    *_LLAMA_INDEX,
]

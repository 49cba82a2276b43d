"""The table of frameworks and features on the page is that of the tests."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from maker_examples import EXAMPLES
from quickstarts import FEATURES, QUICKSTARTS, SHAPES, UNPUBLISHED, write_sources, write_table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "reference" / "agents.md"
PACKAGES = {
    "A2A SDK": ("a2a-sdk", "agents-a2a"),
    "Google ADK": ("google-adk", "peer"),
    "Microsoft Agent Framework": ("agent-framework-core", "agents-agent-framework"),
    "Agno": ("agno", "agents-agno"),
    "Claude Agent SDK": ("claude-agent-sdk", "agents-claude"),
    "CrewAI": ("crewai", "agents-crewai"),
    "Google Gen AI SDK": ("google-genai", "peer"),
    "LangGraph": ("langgraph", "agents-langgraph"),
    "LangChain": ("langchain", "agents-langgraph"),
    "LlamaIndex": ("llama-index-core", "agents-llama-index"),
    "MCP SDK": ("mcp", "agents-mcp"),
    "OpenAI Agents SDK": ("openai-agents", "agents-openai"),
    "Pydantic AI": ("pydantic-ai-slim", "agents-pydantic-ai"),
    "smolagents": ("smolagents", "agents-smolagents"),
    "Strands": ("strands-agents", "agents-strands"),
}


def test_the_page_holds_the_table() -> None:
    """`quickstarts.py` is its source."""
    assert write_table() in PAGE.read_text()


def test_the_page_names_the_files_of_the_makers() -> None:
    """The examples of the tests are their source."""
    assert write_sources() in PAGE.read_text()


def test_every_example_shows_a_feature_of_the_table() -> None:
    """A feature that the makers show and the table says is absent would be a contradiction."""
    for example in EXAMPLES:
        assert example.feature in QUICKSTARTS[example.framework]


@pytest.mark.parametrize("framework", QUICKSTARTS)
def test_the_makers_show_each_shape_or_the_page_says_why_not(framework: str) -> None:
    """A single agent, several agents, and approval or a structured answer, if the framework has the features."""
    shown = {example.feature for example in EXAMPLES if example.framework == framework}
    absent = {
        shape
        for shape, features in SHAPES.items()
        if not shown.intersection(features) and any(feature in QUICKSTARTS[framework] for feature in features)
    }
    assert absent == set(UNPUBLISHED.get(framework, ((), ""))[0])


def test_every_framework_has_three_examples_of_its_maker() -> None:
    """The workflows of LlamaIndex count with LlamaIndex."""
    counts = Counter(example.framework.partition(",")[0] for example in EXAMPLES)
    assert counts.keys() == {framework.partition(",")[0] for framework in QUICKSTARTS}
    assert min(counts.values()) >= 3, counts


@pytest.mark.parametrize("framework", QUICKSTARTS)
def test_every_right_cell_has_a_test(framework: str) -> None:
    """A test that was renamed or removed takes its cell with it."""
    for feature, place in QUICKSTARTS[framework].items():
        assert feature in FEATURES
        file, _, name = place.removeprefix("!").partition(":")
        functions = {node.name for node in ast.parse((HERE / file).read_text()).body if hasattr(node, "name")}
        assert name in functions


@pytest.mark.parametrize("framework", PACKAGES)
def test_the_page_names_the_versions_that_are_tested(framework: str) -> None:
    """The first is that of the environment, and the others lie over it."""
    package, constraints = PACKAGES[framework]
    pins = (ROOT / f"constraints-{constraints}.txt").read_text()
    makefile = (ROOT / "Makefile").read_text()
    versions = re.findall(rf"^{package}==(\S+)", pins, re.MULTILINE)
    versions += re.findall(rf"^OTHERS_.*[ =]{package}==(\S+)", makefile, re.MULTILINE)
    assert f"| {framework} | {', '.join(versions)} |" in PAGE.read_text()

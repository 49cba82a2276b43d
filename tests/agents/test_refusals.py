"""Targets without an agent are found out before anything runs, in every framework."""

from __future__ import annotations

import pytest
from kinds import KINDS, make_marks

from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.metrics.signature import signature

REFUSED = [
    ("http", "http:host", "must be a URL"),
    ("http", "http://a:b@host", "must hold no password"),
    ("http", "http://host:port/v1", "must be a URL"),
    ("http", "http://[::1", "must be a URL"),
    ("a2a", "a2a:shop", "must be a URL"),
    ("a2a", "a2a:http://a:b@c", "must hold no password"),
    ("adk", "adk:nowhere", "no such folder as 'nowhere'"),
    (
        "langgraph",
        "langgraph:langgraph_shop:INSTRUCTIONS",
        "or a function that returns it, got str",
    ),
    (
        "openai-agents",
        "openai-agents:openai_shop:tools",
        r"must be an agents\.Agent, or a function that returns it, got list",
    ),
    ("pydantic-ai", "pydantic-ai:pydantic_ai_shop:tools", r"must be a pydantic_ai\.Agent, or a function"),
]


@pytest.mark.parametrize(
    ("kind", "target", "problem"), [pytest.param(*one, marks=make_marks(KINDS[one[0]])) for one in REFUSED]
)
def test_a_target_that_means_no_agent_is_refused(kind: str, target: str, problem: str) -> None:
    """With the target and what is wrong with it: it cannot be reached, should not be kept, or is something else."""
    if not KINDS[kind].installed:
        pytest.skip(f"needs {KINDS[kind].module}")
    with pytest.raises(UsageError, match=problem) as refused:
        find_agent(target)
    assert str(refused.value).startswith(f"agent {target}: ")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=pytest.mark.agents)
        for kind, name in (
            ("langgraph", "langgraph_shop:agent"),
            ("openai-agents", "openai_shop:agent"),
            ("pydantic-ai", "pydantic_ai_shop:agent"),
            ("adk", "adk_shop.agent:root_agent"),
        )
    ],
)
def test_the_signature_of_an_agent_holds_no_address(kind: str, name: str) -> None:
    """Two processes give an agent the same signature, so that their runs can be compared."""
    if not KINDS[kind].installed:
        pytest.skip(f"needs {KINDS[kind].module}")
    assert " at 0x" not in str(signature(find_agent(f"{kind}:{name}")))


@pytest.mark.agents
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_swarm_of_strands_that_conversations_would_share_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its agents hold their conversation, and so do those of a graph."""
    pytest.importorskip("strands")
    import strands_shop
    from strands.multiagent import GraphBuilder, Swarm

    builder = GraphBuilder()
    builder.add_node(strands_shop.shop(), "shop")
    builder.set_max_node_executions(5)
    for thing in (Swarm([strands_shop.shop()]), builder.build()):
        monkeypatch.setattr(strands_shop, "several", thing, raising=False)
        with pytest.raises(UsageError, match="each conversation needs an agent of its own"):
            find_agent("strands:strands_shop:several")

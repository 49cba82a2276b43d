"""Agents behind a real A2A server are recorded whole."""

from __future__ import annotations

import socket

import pytest
from kinds import every, reached, recorded

from fairtrial.errors import UsageError
from fairtrial.records.trace import Message, Part

pytestmark = pytest.mark.agents
pytest.importorskip("a2a")
pytest.importorskip("uvicorn")

every_a2a = every(lambda kind: kind.module == "a2a")


@every_a2a
def test_reported_ids_are_kept(kind: str) -> None:
    """Calls have the ids that the server gave them."""
    with reached(kind) as target:
        (invocation,) = recorded(target, "Cancel B-42").trace.invocations
    assert [one.id for one in invocation.tool_calls] == ["get_order-0", "cancel_order-1"]


@every_a2a
def test_a_message_alone_is_the_reply(kind: str) -> None:
    """An agent that answers without a task is recorded too."""
    with reached(kind) as target:
        (invocation,) = recorded(target, "hello").trace.invocations
    assert invocation.final_response == Message("You said: hello", "shop")


@every_a2a
def test_files_of_an_artifact_are_parts_of_the_reply(kind: str) -> None:
    """Their content is in base64, or at a URL."""
    with reached(kind) as target:
        (invocation,) = recorded(target, "picture").trace.invocations
    media = (
        Part("image/png", data="AA==", name="lamp.png"),
        Part("application/pdf", "https://example.com/lamp.pdf"),
    )
    assert invocation.final_response == Message("Here it is.", "shop", parts=media)


@every_a2a
def test_a_task_that_needs_more_goes_on(kind: str) -> None:
    """The question is the reply, and the user's next message goes to the same task."""
    with reached(kind) as target:
        one = recorded(target, "which?", "the blue one")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Which one?", "You chose the blue one."]


@every_a2a
@pytest.mark.parametrize(("message", "state"), [("which?", "input-required"), ("sign in", "auth-required")])
def test_the_state_of_a_task_that_waits_is_the_final_state(kind: str, message: str, state: str) -> None:
    """So that a criterion can compare it."""
    with reached(kind) as target:
        assert recorded(target, message).trace.final_state == {"task_state": state}


@every_a2a
def test_a_task_that_went_on_is_completed(kind: str) -> None:
    """The final state is that of the last turn."""
    with reached(kind) as target:
        assert recorded(target, "which?", "the blue one").trace.final_state == {"task_state": "completed"}


@every_a2a
def test_the_card_of_an_agent_is_examined(kind: str) -> None:
    """Fields, interfaces and skills, each on a line."""
    from fairtrial.api import examine_target

    with reached(kind) as target:
        findings = examine_target(target)
    assert [(finding.name.partition(" http")[0], finding.state) for finding in findings] == [
        ("shop", "ok"),
        ("interface", "ok"),
        ("skill orders", "ok"),
    ]


def test_each_fault_of_a_card_is_named() -> None:
    """Fields that are missing, media types, interfaces, skills and security schemes."""
    from fairtrial.agents.target_checks.a2a_checks import card_findings

    card = {
        "name": "shop",
        "description": "Sells.",
        "supportedInterfaces": [
            {"url": "/relative", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "http://shop.example/a", "protocolBinding": "SOAP"},
        ],
        "defaultInputModes": ["text"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "a", "name": "A", "description": "Does a.", "tags": ["x"]}, {"id": "a", "name": "B"}],
        "securityRequirements": [{"schemes": {"oauth": {}}}],
    }
    problems = [(finding.subject, finding.problem) for finding in card_findings(card) if finding.problem]
    assert problems == [
        ("shop", "lacks version"),
        ("shop", "'text' is not a media type, such as text/plain"),
        ("interface /relative", "has no absolute URL"),
        (
            "interface http://shop.example/a",
            (
                "is not encrypted; use https; has the binding 'SOAP'; known are JSONRPC, GRPC, HTTP+JSON; "
                "names no version of the protocol"
            ),
        ),
        ("skill a", "lacks description, tags"),
        ("skill a", "is the id of 2 skills"),
        ("shop", "requires the security scheme 'oauth', which it does not define"),
    ]


@every_a2a
def test_a_task_that_fails_is_the_failure_of_its_case(kind: str) -> None:
    """The cause is what the agent said, and what came before is kept."""
    with reached(kind) as target:
        one = recorded(target, "hello", "refuse")
    assert one.failure is not None
    assert one.failure.cause == "shop: failed: We are closed."
    assert one.trace.invocations[0].reply == "You said: hello"


def test_a_server_that_says_nothing_is_given_up() -> None:
    """The agent's card does not come. That is an error before any case is run."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(UsageError, match="does not answer with the"):
        recorded(f"a2a:http://127.0.0.1:{silent.getsockname()[1]}", "hello", reply_timeout=0.2)

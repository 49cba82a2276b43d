"""Tests hold a conversation with an agent, and check it, without an eval set."""

from __future__ import annotations

import pytest

from sessions import prepare, session, stored_run

pytest_plugins = ["pytester"]

REFUND = """
import fairtrial as ft
import pytest

def shop(text: str):
    yield ft.ToolCall("issue_refund", {"order_id": "B-42"})
    yield "Your money was refunded"

def broken(text: str):
    raise RuntimeError("the shop is closed")
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a module of agents."""
    prepare(pytester, "good")
    pytester.makepyfile(refund_agents=REFUND)
    return pytester


@pytest.mark.long
@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ('tools=[("issue_refund", {"order_id": "B-42"})], reply="refunded money", threshold=0.6', ""),
        ('tools=[("issue_refund", {"order_id": "B-43"})]', '*issue_refund(order_id="B-43")*'),
        ('tools=["look"], match="IN_ORDER"', "*expected look, got issue_refund*"),
        ('reply="nothing like it"', "*response_match_score*needs*0.80*"),
        ('criteria={"tool_call_count_v1": 0}', "*tool_call_count_v1  1.00  (needs ? 0.00)*"),
        ("", "*needs tools, reply or criteria*"),
        ("tools=[3]", "*tools must hold (name, arguments)*"),
    ],
)
def test_expectations_in_a_test(folder: pytest.Pytester, expected: str, problem: str) -> None:
    """Tools, reply and criteria decide, and a failure shows the difference."""
    folder.makepyfile(
        f"""
        from refund_agents import shop

        def test_refund(fairtrial):
            trace = fairtrial.trace(shop, "Refund B-42")
            fairtrial.check(trace, {expected})
        """
    )
    result = session(folder)
    if not problem:
        result.assert_outcomes(passed=1)
    else:
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([problem])


def test_an_agent_that_raises_shows_its_traceback(folder: pytest.Pytester) -> None:
    """The frames of the agent, not those of pytest and ours."""
    folder.makepyfile(
        """
        from refund_agents import broken

        def test_refund(fairtrial):
            fairtrial.trace(broken, "Refund B-42")
        """
    )
    result = session(folder)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["agent: RuntimeError: the shop is closed (refund_agents.py, line 9)", "*in broken"])


@pytest.mark.long
def test_checks_are_in_the_run_with_the_cases(folder: pytest.Pytester) -> None:
    """One run holds everything that the session checked, under the names of its tests."""
    folder.makepyfile(
        """
        import pytest
        from refund_agents import shop

        @pytest.mark.fairtrial("trips.evalset.json", agent="bot:obedient")
        def test_trips(fairtrial_case):
            fairtrial_case.check()

        def test_refund(fairtrial):
            trace = fairtrial.trace(shop, "Refund B-42", "Thanks")
            assert len(trace.invocations) == 2
            fairtrial.check(trace, reply="Your money was refunded")
            fairtrial.check(trace, tools=["issue_refund", "issue_refund"], criteria={"tool_call_count_v1": 9})
        """
    )
    result = session(folder)
    result.assert_outcomes(passed=1, failed=1)
    run = stored_run(folder)
    assert [case.name for case in run.expected] == ["test_refund", "test_refund#2", "good"]
    assert [result.verdict.value for result in run.cases] == ["passed", "failed", "passed"]
    assert run.verdict == "failed"

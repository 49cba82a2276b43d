"""The objects behind the pytest fixtures for cases and agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from fairtrial.errors import FairtrialError
from fairtrial.pytest_plugin.plugin_options import option_value
from fairtrial.records.attempt_rule import ALL, AttemptRule
from fairtrial.records.result import CaseResult, Verdict

if TYPE_CHECKING:
    from fairtrial.pytest_plugin.case_sources import TestedCase
    from fairtrial.pytest_plugin.suite import Suite
    from fairtrial.records.trace import ToolCall, Trace


class FairtrialCase:
    """One case of an eval set, after the agent has had its conversations."""

    def __init__(self, item: pytest.Item, suite: Suite, case: TestedCase, results: Sequence[CaseResult]) -> None:
        self._item, self._suite, self._case, self._results = item, suite, case, results
        self.was_read = False
        add_properties(item, results)

    @property
    def name(self) -> str:
        """The name of the case."""
        return self._case.name

    @property
    def results(self) -> list[CaseResult]:
        """The result of each attempt."""
        self.was_read = True
        return list(self._results)

    @property
    def traces(self) -> list[Trace]:
        """The conversation of each attempt."""
        self.was_read = True
        return list(self._suite.collect_traces(self._case))

    def check(self, *criteria: str) -> None:
        """Fail the test unless the case passes all criteria with a threshold, or the criteria that are named."""
        __tracebackhide__ = True
        self.was_read = True
        rule = self._suite.find_rule(self._case, self._results)
        report_check(self._item, self._results, criteria, self._case.source.pass_rate, rule)


class Checks:
    """Conversations and expectations that stand in a test itself, without an eval set."""

    def __init__(self, item: pytest.Item, suite: Suite) -> None:
        self._item, self._suite, self._number = item, suite, 0

    def trace(self, agent: Any, *messages: str, reply_timeout: float | None = None) -> Trace:
        """Return a conversation with an agent. The test fails, with the traceback, if the agent raises."""
        __tracebackhide__ = True
        from fairtrial import api

        try:
            recording = api.hold_conversation(agent, messages, reply_timeout=reply_timeout)
        except FairtrialError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        failure = recording.failure
        if failure is not None:
            pytest.fail(f"{failure.side}: {failure.cause}\n{failure.traceback}".rstrip(), pytrace=False)
        return recording.trace

    def check(
        self,
        trace: Trace,
        *,
        tools: Iterable[ToolCall | tuple[str, Mapping[str, Any]] | str] | None = None,
        reply: str | None = None,
        threshold: float = 0.8,
        match: str = "EXACT",
        criteria: Mapping[str, Any] | None = None,
    ) -> None:
        """Fail the test unless a trace has the expected tool calls and reply, and passes the criteria.

        `tools` are the calls in their order: (name, arguments), a name, or a ToolCall. `match` is EXACT, IN_ORDER or
        ANY_ORDER. `reply` is a reference for the last reply. `threshold` is the lowest share of equal words.
        """
        __tracebackhide__ = True
        self._number += 1
        name = self._item.name if self._number == 1 else f"{self._item.name}#{self._number}"
        expected = {"tools": tools, "reply": reply, "threshold": threshold, "match": match, "criteria": criteria}
        try:
            results = self._suite.check_trace(trace, name, test=self._item.nodeid.partition("::")[0], **expected)
        except FairtrialError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        add_properties(self._item, results)
        report_check(self._item, results, (), None)


def report_check(
    item: pytest.Item,
    results: Sequence[CaseResult],
    criteria: Sequence[str],
    pass_rate: float | None,
    rule: AttemptRule = ALL,
) -> None:
    """Fail or skip a test unless its case passes."""
    __tracebackhide__ = True
    from fairtrial import api

    try:
        check = api.check_case(results, criteria, pass_rate=pass_rate, rule=rule)
    except FairtrialError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    if check.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(check.text)
    if check.verdict is Verdict.UNSCORED and option_value(item.config, "allow-unscored"):
        pytest.skip(check.text)
    if check.verdict not in (Verdict.PASSED, Verdict.INFORMATIONAL):
        pytest.fail(check.text, pytrace=False)


def add_properties(item: pytest.Item, results: Sequence[CaseResult]) -> None:
    """Add verdicts, values and thresholds to the test, for --junitxml."""
    for result in results:
        prefix = f"fairtrial.attempt{result.attempt}" if len(results) > 1 else "fairtrial"
        item.user_properties.append((f"{prefix}.verdict", result.verdict.value))
        for outcome in result.outcomes:
            name = f"{prefix}.{outcome.criterion}"
            item.user_properties.append((f"{name}.verdict", outcome.verdict.value))
            for key, value in (("value", outcome.score.value), ("threshold", outcome.threshold)):
                if value is not None:
                    item.user_properties.append((f"{name}.{key}", f"{value:g}"))

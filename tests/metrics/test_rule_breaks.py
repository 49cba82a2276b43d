"""Operators that break rules: each form is kept by a conversation, and broken by its mutant."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial import api
from fairtrial.metrics.tool_rules.criterion import ToolRules
from fairtrial.metrics.tool_rules.rule_breaks import rule_operators
from fairtrial.mutations.operator import Scene
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Trace

CONVERSATION = (
    Invocation(
        Message("Refund 20 dollars of order A-1700."),
        (
            ToolCall("log_in", {}, "1"),
            ToolResult("log_in", {"ok": True}, "1"),
            ToolCall("get_order", {"order_id": "A-1700"}, "2"),
            ToolResult("get_order", {"total": 20, "card": "4242-7788", "closed": ["A-1500"]}, "2"),
        ),
        Message("Shall I refund 20 dollars?"),
    ),
    Invocation(
        Message("Yes, go ahead."),
        (
            ToolCall("refund", {"order_id": "A-1700", "amount": 20}, "3"),
            ToolResult("refund", {"ok": True}, "3"),
            ToolCall("log_out", {}, "4"),
            ToolResult("log_out", {"ok": True}, "4"),
        ),
        Message("I refunded 20 dollars."),
    ),
)
FORMS: list[dict[str, Any]] = [
    {"never": "delete_account"},
    {"never": {"call": "refund", "where": "amount > 1000"}},
    {"before": {"call": "refund", "needs": "get_order", "same": ["order_id"]}},
    {"before": {"call": "refund", "needs_user": True}},
    {"after": {"call": "refund", "needs": "log_out"}},
    {"immediately_after": {"call": "log_in", "needs": "get_order"}},
    {"between": {"call": "refund", "first": "log_in", "last": "log_out"}},
    {"at_most": {"call": "refund", "count": 1}},
    {"at_most": {"call": "refund", "count": 1, "same": ["order_id"]}},
    {"at_least": {"call": "refund", "count": 1}},
    {"at_most_per_invocation": {"call": "refund", "count": 1}},
    {"argument": {"call": "refund", "field": "amount", "schema": {"type": "number", "maximum": 100}}},
    {"argument": {"call": "refund", "compare": "amount <= result(get_order, order_id).total"}},
    {"argument": {"call": "refund", "schema": {"required": ["order_id"]}}},
    {"argument": {"call": "refund", "compare": "0 < amount"}},
    {"argument": {"call": "refund", "compare": "amount != 999"}},
    {"argument": {"call": "refund", "compare": "order_id not in result(get_order).closed"}},
    {"source": {"call": "refund", "field": "order_id", "trusted": ["user"]}},
    {"says": {"facts": "20 dollars"}},
    {"never_says": {"contains": ["secret code"]}},
    {"never_says": {"secrets": True}},
    {"never_says": {"result": "get_order.card"}},
    {"errors": {"tool": "refund", "then": ["retry", "tell_user"]}},
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: next(iter(form)))
def test_every_form_is_broken(form: dict[str, Any]) -> None:
    """The conversation does not break the rule, and at least one mutant does."""
    metric = ToolRules(rules=({"id": "own", **form},))  # type: ignore[arg-type]
    case = EvalCase("one", CONVERSATION)
    assert metric(Trace(CONVERSATION), case).value != 0.0
    (operator,) = rule_operators(metric.rules)
    mutants = [operator.mutate(Scene(case, CONVERSATION, place), "1") for place in range(2)]
    assert 0.0 in [metric(Trace(mutant), case).value for mutant in mutants if mutant is not None]


@pytest.mark.long
def test_a_rule_that_catches_nothing_is_seen() -> None:
    """Planning warns of rules that no change breaks, that no conversation is about, and that no change was made for."""
    rules = [
        {"id": "bounded", "argument": {"call": "refund", "compare": "amount <= result(get_order, order_id).total"}},
        {
            "id": "useless",
            "argument": {"call": "refund", "compare": "amount < 9000000000"},
            "rule": "Never more than the bank has.",
        },
        {"id": "foreign", "before": {"call": "cancel", "needs": "get_order"}},
        {"id": "unchanged", "never_says": {"regex": "code [0-9]{9}"}},
    ]
    criteria = {"tool_rules_v1": {"threshold": 1.0, "rules": rules}}
    plan = api.plan_mutation(EvalSet("shop", (EvalCase("one", CONVERSATION),)), criteria)
    assert plan.plan.warnings == (
        "tool_rules_v1: rule useless catches nothing here: none of 1 change breaks it",
        "tool_rules_v1: rule foreign catches nothing here: no conversation is about it",
        "tool_rules_v1: rule unchanged was not tried: there is no change that breaks such a rule",
    )
    report = api.mutate(EvalSet("shop", (EvalCase("one", CONVERSATION),)), criteria)
    rates = {row.operator: row.overall.rate for row in report.operators if row.operator.startswith("rule ")}
    assert rates["rule bounded"] == 1.0
    assert "rule foreign" in report.unused_operators

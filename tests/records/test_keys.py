"""Cases keep their key in every run, and get another one when their expectation changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from builders import call, case, turn
from fairtrial import api
from fairtrial.records.attack import AttackGoal, PlantedAttack
from fairtrial.records.case import Behavior, EvalCase, EvalSet, Persona, Scenario, SessionInput
from fairtrial.records.check import Check
from fairtrial.records.keys import KEY_FIELDS, CaseKey, case_key, digest
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Trace
from fairtrial.records.workspace import CaseFile, Workspace, WorkspaceCheck
from loading import written

CASE = case(turn(call("f", x=1), reply="hello"), name="order_status")
TIMES = {"started", "seconds", "span_id", "parent_id"}
CAPTURE = {"withheld", "beginning"}
IMAGE = Part("image/png", "photo.png")
SHOP, BANK = EvalSet("shop", (CASE,)), EvalSet("bank", (CASE,))


def agent(conversation: Trace) -> str:
    """Say hello."""
    del conversation
    return "hello"


def test_a_case_has_the_same_key_alone_and_beside_another_set_with_its_id(tmp_path: Path) -> None:
    """Two runs are compared case by case, so the key of a case does not depend on what else was run."""
    for eval_set in (SHOP, BANK):
        api.save_eval_set(eval_set, tmp_path / f"{eval_set.id}.evalset.json")
    files = [tmp_path / "shop.evalset.json", tmp_path / "bank.evalset.json"]
    alone = api.evaluate(files[0], agent, {"response_match_score": 1.0})
    together = api.evaluate(files, agent, {"response_match_score": 1.0})
    (shop,) = [result.key for result in alone.cases]
    assert [result.key for result in together.cases] == [shop, CaseKey("bank", "order_status", shop.digest)]


def test_a_recording_names_the_set_and_the_own_id_of_its_case(tmp_path: Path) -> None:
    """A file of recordings of two sets that share an id can be scored against both sets."""
    for eval_set in (SHOP, replace(BANK, cases=(case(turn(reply="goodbye"), name="order_status"),))):
        api.save_eval_set(eval_set, tmp_path / f"{eval_set.id}.evalset.json")
    files = [tmp_path / "shop.evalset.json", tmp_path / "bank.evalset.json"]
    api.write_recordings(api.plan_run(files, agent), tmp_path / "all.jsonl")
    recordings = api.load_recordings(tmp_path / "all.jsonl")
    assert [(each.eval_set, each.case_id) for each in recordings] == [
        ("shop", "order_status"),
        ("bank", "order_status"),
    ]
    run = api.score(tmp_path / "all.jsonl", files, {"response_match_score": 1.0})
    assert [(result.key.eval_set, result.verdict) for result in run.cases] == [("shop", "passed"), ("bank", "failed")]


@pytest.mark.parametrize(
    "changed",
    [
        replace(CASE, conversation=(turn(call("f", x=2), reply="hello"),)),
        replace(CASE, conversation=(turn(call("f", x=True), reply="hello"),)),
        replace(CASE, conversation=(turn(call("f", x=1), reply="Hello"),)),
        replace(CASE, conversation=(turn(call("f", x=1), query="hey", reply="hello"),)),
        replace(CASE, conversation=(*(CASE.conversation or ()), turn())),
        replace(CASE, rubrics=(Rubric("polite", "The reply is polite."),)),
        replace(CASE, session_input=SessionInput(state={"cart": []})),
        replace(CASE, final_session_state={}),
        replace(CASE, context="The shop is closed on Sundays."),
        replace(CASE, conversation=(turn(call("f", x=1), ToolResult("f", "no", is_error=True), reply="hello"),)),
        replace(CASE, conversation=(replace(turn(call("f", x=1), reply="hello"), user=Message("hi", parts=(IMAGE,))),)),
        EvalCase("order_status", scenario=Scenario("hi", "buy")),
    ],
)
def test_another_expectation_has_another_digest(changed: EvalCase) -> None:
    """Whatever is said to the agent, given to it or expected of it counts."""
    assert digest(changed) != digest(CASE)


@pytest.mark.parametrize(
    "same",
    [
        replace(CASE, id="other", created=1.0, extra={"foreign": 1}),
        replace(CASE, conversation=tuple(replace(each, id="i-1", created=2.0) for each in CASE.conversation or ())),
        replace(CASE, conversation=(replace(turn(call("f", x=1.0), reply="hello"), user=Message("hi", "user")),)),
        replace(CASE, session_input=None, rubrics=(), final_session_state=None),
    ],
)
def test_what_expects_nothing_does_not_count(same: EvalCase) -> None:
    """Ids, authors, creation times and unknown keys do not change a digest, nor does 1.0 in place of 1."""
    assert digest(same) == digest(CASE)


def test_every_field_of_a_case_counts_or_is_known_not_to() -> None:
    """Whoever adds a field decides whether two cases that differ in it expect the same."""
    not_counted = {
        EvalCase: {"id", "extra", "created", "cluster", "groups"},
        Invocation: {
            "id",
            "usages",
            "durations",
            "about",
            "events",
            "extra",
            "created",
            "unreported_injections",
            "origin",
        },
        Message: {"author", "extra", "model"} | TIMES | CAPTURE,
        Thought: {"author", "extra", "model"} | TIMES | CAPTURE,
        ToolCall: {"id", "author", "extra", "model"} | TIMES | CAPTURE,
        ToolResult: {"id", "author", "extra", "approval", "injected", "inner"} | TIMES | CAPTURE,
        Check: {"name"},
        Workspace: {"skill", "variant"},
        PlantedAttack: set(),
        AttackGoal: set(),
        CaseFile: set(),
        WorkspaceCheck: {"name"},
        Rubric: {"extra"},
        Scenario: {"extra"},
        Persona: {"extra"},
        Behavior: {"extra"},
        SessionInput: {"extra", "session_id"},
        Part: set(),
    }
    counted = {kind: set(names) for kind, names in KEY_FIELDS.items()}
    assert {kind: set(kind.__struct_fields__) - counted[kind] for kind in counted} == not_counted


def test_the_order_of_keys_does_not_count() -> None:
    """A file may be written again with its keys in another order."""
    first, second = (replace(CASE, final_session_state=state) for state in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert digest(first) == digest(second)


def test_a_key_is_shown_short() -> None:
    """The digest of an empty case is the SHA-256 of `{}`, of which people see the first 12 digits."""
    key = case_key("shop", EvalCase("a"))
    assert key.digest == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert str(key) == "shop:a@44136fa355b3"


def test_a_digest_can_be_written_down_for_years() -> None:
    """Any text that a file can hold has a digest: numbers beyond 64 bits and half a surrogate pair too."""
    odd = replace(CASE, final_session_state={"n": 2**70, "text": "\ud800", "x": 1e300})
    assert len(digest(odd)) == 64


def test_only_takes_an_id_behind_that_of_its_set(tmp_path: Path) -> None:
    """With two sets in a run, `shop:order_status` chooses the case of one set, and `order_status` both cases."""
    for eval_set in (SHOP, BANK):
        api.save_eval_set(eval_set, tmp_path / f"{eval_set.id}.evalset.json")
    written(tmp_path, "test_config.json", {"criteria": {"response_match_score": 1.0}})
    for only, sets in (("shop:order_status", ["shop"]), ("order_status", ["bank", "shop"])):
        run = api.evaluate(tmp_path, agent, only=[only])
        assert [result.key.eval_set for result in run.cases] == sets

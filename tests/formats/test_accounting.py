"""A leaf of a message that nobody reads makes the recording incomplete, and gives no verdict of absence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from builders import eval_set, load, said
from fairtrial.api.score_planning import plan_score
from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read
from fairtrial.records.attempt import Recording

ASKED = {"role": "user", "content": "Where is my order?"}
REPLIED = {"role": "assistant", "content": "It has left the depot."}
PROSE = "the refund was granted at once"


def only(document: Any, **options: Any) -> Recording:
    """Return the only recording of a document."""
    (recording,) = read(json.dumps(document).encode(), "chat.json", **options).recordings
    return recording


def test_a_text_under_an_unknown_key_makes_the_recording_incomplete() -> None:
    """What is there stays: the text is not a part of the reply."""
    found = only([ASKED, {**REPLIED, "zzz": PROSE}])
    assert found.trace.incomplete == "/1/zzz was not read"
    assert found.trace.invocations[0].reply == REPLIED["content"]


def test_a_text_in_any_script_counts() -> None:
    """Korean and Chinese have few spaces or none."""
    assert only([ASKED, {**REPLIED, "zzz": "환불이 바로 승인되었습니다"}]).trace.incomplete
    assert only([ASKED, {**REPLIED, "zzz": "退款申请已经立即得到批准"}]).trace.incomplete


@pytest.mark.parametrize("beside", [{"zzz": "a-1"}, {"zzz": 7}, {"metadata": {"note": PROSE}}, {"id": PROSE}], ids=str)
def test_ids_numbers_and_known_keys_carry_nothing(beside: dict[str, Any]) -> None:
    """The recording is whole, and no word is said."""
    assert only([ASKED, {**REPLIED, **beside}]).trace.incomplete == ""


def test_a_repeated_text_is_used() -> None:
    """Frameworks write a text twice. It stands in the recording, so that nothing is lost."""
    assert only([ASKED, {**REPLIED, "rendered": REPLIED["content"]}]).trace.incomplete == ""


def test_a_reply_with_an_unread_part_is_withheld() -> None:
    """Its beginning is kept for people. It is not compared, because the rest may turn it around."""
    parts = [{"type": "text", "text": "It is false that"}, {"type": "text", "body": PROSE}]
    for dialect in ({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}):
        message = {"role": "assistant", "content": [dialect, *parts]}
        reply = only([ASKED, message]).trace.invocations[0].final_response
        assert reply is not None
        assert (reply.text, reply.withheld[-12:]) == ("", "was not read")
        assert "false" in reply.beginning


def test_a_message_without_anything_read_is_a_gap() -> None:
    """A short text counts if nothing else of the message was read."""
    found = only([ASKED, {"role": "assistant", "body": "Yes."}])
    reply = found.trace.invocations[0].final_response
    assert reply is not None
    assert reply.withheld == found.trace.incomplete == "/1/body was not read"


def test_arguments_under_another_key_are_withheld() -> None:
    """The call has none, which must not be compared with a call that expects none."""
    call = {"id": "1", "type": "function", "function": {"name": "refund", "params": '{"id": 1}'}}
    found = only([ASKED, {"role": "assistant", "content": None, "tool_calls": [call]}, REPLIED])
    assert found.trace.invocations[0].tool_calls[0].withheld == "/1/tool_calls/0/function/params was not read"


def test_a_text_beside_the_messages_makes_the_conversation_incomplete() -> None:
    """It may be the reply. Notes for people and settings of the request are known."""
    assert only({"messages": [ASKED], "final_words": PROSE}).trace.incomplete == "/final_words was not read"
    assert only({"messages": [ASKED, REPLIED], "description": PROSE}).trace.incomplete == ""


def test_lenient_reading_warns() -> None:
    """The recording is then scored as if it were whole."""
    loaded = read(json.dumps([ASKED, {**REPLIED, "zzz": PROSE}]).encode(), "chat.json", lenient=True)
    assert loaded.recordings[0].trace.incomplete == ""
    (warning,) = loaded.warnings
    assert warning.startswith("chat.json: /1/zzz: holds content that is not read")


def test_one_word_is_said_for_each_key() -> None:
    """A log has the same key in each of its messages."""
    document = [message for _ in range(5) for message in (ASKED, {**REPLIED, "zzz": PROSE})]
    assert len(load(document, "chat.json").warnings) == 1


def test_what_is_not_read_gives_no_verdict_of_absence(tmp_path: Path) -> None:
    """No call was read, which says nothing. The reply is there, and is scored."""
    (tmp_path / "a.json").write_text(
        json.dumps({"id": "case", "messages": [ASKED, {**REPLIED, "tool_calls": [], "zzz": PROSE}]})
    )
    turn = {"user_content": said(ASKED["content"]), "final_response": said(REPLIED["content"])}
    expected = eval_set({**turn, "intermediate_data": {"tool_uses": []}}, eval_id="case")
    (tmp_path / "a.evalset.json").write_text(json.dumps(expected))
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8, "tool_call_count_v1": 0.5}
    run = fairtrial.score(tmp_path / "a.json", tmp_path / "a.evalset.json", criteria)
    (case,) = run.cases
    verdicts = {outcome.criterion: str(outcome.verdict) for outcome in case.outcomes}
    assert verdicts["response_match_score"] == "passed"
    assert verdicts["tool_call_count_v1"] == "unscored"


def test_a_text_of_a_case_under_an_unknown_name_is_refused() -> None:
    """It may be what somebody expects, and nothing would check it."""
    with pytest.raises(FormatError, match="/eval_cases/0/soll: is not a known key"):
        load(eval_set({"user_content": said("hi")}, soll="The refund was granted at once."))
    assert load(eval_set({"user_content": said("hi")}, notes="The refund was granted at once.")).eval_set is not None


@pytest.mark.parametrize("value", [[PROSE], {"a": PROSE}], ids=str)
def test_a_text_inside_a_value_of_a_case_is_refused_too(value: Any) -> None:
    """A list of statements is an expectation as a text is. The lenient reader warns."""
    document = eval_set({"user_content": said("hi")}, soll=value)
    with pytest.raises(FormatError, match="/eval_cases/0/soll: is not a known key; a text for people"):
        load(document)
    assert any("/eval_cases/0/soll: unknown key" in warning for warning in load(document, lenient=True).warnings)
    assert load(eval_set({"user_content": said("hi")}, metadata=value)).eval_set is not None


def test_the_recordings_that_were_not_read_in_full_are_counted(tmp_path: Path) -> None:
    """One number says how much of the data gives no verdict of absence."""
    lines = [{"id": "a", "messages": [ASKED, REPLIED]}, {"id": "b", "messages": [ASKED, {**REPLIED, "zzz": PROSE}]}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    planned = plan_score([tmp_path / "a.jsonl"], criteria={"tool_call_count_v1": 9})
    assert any("1 of 2 recordings were not read in full" in warning for warning in planned.warnings)


@pytest.mark.parametrize(("share", "is_refused"), [(None, False), (0.5, False), (0.4, True), (0, True)])
def test_too_many_recordings_that_are_not_read_in_full_are_refused(
    share: float | None, tmp_path: Path, *, is_refused: bool
) -> None:
    """A build goes red before anything is scored. The message names the first leaf."""
    lines = [{"id": "a", "messages": [ASKED, REPLIED]}, {"id": "b", "messages": [ASKED, {**REPLIED, "zzz": PROSE}]}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    criteria = {"tool_call_count_v1": 9}
    sources: list[Any] = [tmp_path / "a.jsonl", fairtrial.load_recordings(tmp_path / "a.jsonl")]
    for source in sources:
        if is_refused:
            with pytest.raises(fairtrial.UsageError, match=r"1 of 2 recordings .* max_incomplete .*/1/messages/1/zzz"):
                fairtrial.score(source, criteria=criteria, max_incomplete=share)
        else:
            fairtrial.score(source, criteria=criteria, max_incomplete=share)


@pytest.mark.parametrize("share", [1.5, -1, True, "some"])
def test_a_share_is_a_number_from_0_to_1(share: Any) -> None:
    """1.5 is neither a share nor a percentage."""
    with pytest.raises(fairtrial.UsageError, match="max_incomplete must be a number from 0 to 1"):
        fairtrial.score([], criteria={"tool_call_count_v1": 9}, max_incomplete=share)

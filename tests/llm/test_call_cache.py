"""Nothing is asked twice."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairtrial.llm.call_cache import Cached, CallCache
from fairtrial.llm.model import CallError, NamedModel, call_key
from fairtrial.records.reply import Prompt, Reply
from fairtrial.testing import ModelLine, ScriptedModel

PROMPT = Prompt(id="p", version="1", text="?")
SIGNATURE = {"model": "m", "settings": {}}


async def gather(model: Cached, *prompts: Prompt) -> list[Reply | BaseException]:
    """Ask all at once."""
    return await asyncio.gather(*(model(prompt) for prompt in prompts), return_exceptions=True)


def test_a_known_reply_is_not_asked_for() -> None:
    """The mapping that it was handed is enough."""
    known = {call_key(SIGNATURE, PROMPT): Reply(text="known")}
    model = Cached(ScriptedModel([]), SIGNATURE, CallCache(known))
    assert asyncio.run(model(PROMPT)).text == "known"


def test_a_call_under_way_is_awaited() -> None:
    """Three equal prompts at once are one call."""

    async def slow(_: Prompt) -> str:
        await asyncio.sleep(0)
        return "yes"

    inner = ScriptedModel(slow)
    replies = asyncio.run(gather(Cached(inner, SIGNATURE, CallCache()), PROMPT, PROMPT, PROMPT))
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["yes"] * 3
    assert len(inner.prompts) == 1


def test_a_failure_is_shared_but_not_kept() -> None:
    """Who waits for a call gets its failure; who asks later asks anew."""
    lines: list[ModelLine] = [CallError("broken"), "now"]
    inner = ScriptedModel(lambda _: asyncio.sleep(0, lines.pop(0)))
    model = Cached(inner, SIGNATURE, CallCache())

    async def both() -> tuple[list[Reply | BaseException], Reply]:
        return await gather(model, PROMPT, PROMPT), await model(PROMPT)

    failures, reply = asyncio.run(both())
    assert [str(failure) for failure in failures] == ["broken", "broken"]
    assert reply.text == "now"


def test_a_cancelled_call_is_taken_over() -> None:
    """Who waits for a call that is cancelled asks itself."""
    inner = ScriptedModel(lambda _: asyncio.sleep(0, "yes"))
    model = Cached(inner, SIGNATURE, CallCache())

    async def cancel_first() -> Reply:
        first, second = asyncio.ensure_future(model(PROMPT)), asyncio.ensure_future(model(PROMPT))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(cancel_first()).text == "yes"


def test_an_earlier_run_is_reused_into_this_one() -> None:
    """What is reused becomes part of this run's replies."""
    key = call_key(SIGNATURE, PROMPT)
    ledger = CallCache(earlier={key: Reply(text="then")})
    assert asyncio.run(Cached(ScriptedModel([]), SIGNATURE, ledger)(PROMPT)).text == "then"
    assert ledger.replies[key].text == "then"


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(PROMPT, text="!"),
        msgspec.structs.replace(PROMPT, system="s"),
        msgspec.structs.replace(PROMPT, schema={"type": "object"}),
        msgspec.structs.replace(PROMPT, draw="2"),
        msgspec.structs.replace(PROMPT, ask=2),
    ],
)
def test_a_key_depends_on_all_that_is_asked(other: Prompt) -> None:
    """Text, system, schema, draw and ask each make another call."""
    assert call_key(SIGNATURE, other) != call_key(SIGNATURE, PROMPT)


def test_a_key_depends_on_model_and_settings_not_on_their_order() -> None:
    """Settings are a mapping."""
    one = call_key({"model": "m", "settings": {"a": 1, "b": 2}}, PROMPT)
    assert one == call_key({"settings": {"b": 2, "a": 1}, "model": "m"}, PROMPT)
    assert one != call_key({"model": "m", "settings": {"a": 1, "b": 3}}, PROMPT)


def test_a_named_model_says_its_signature_and_not_its_client() -> None:
    """What a number depends on is name and settings."""
    assert NamedModel("m", ScriptedModel([]), {"temperature": 0}).signature == {
        "model": "m",
        "settings": {"temperature": 0},
    }

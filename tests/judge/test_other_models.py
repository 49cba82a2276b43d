"""A router that answers with another model than the asked one, in each protocol of a provider."""

from __future__ import annotations

import asyncio

import pytest

from fairtrial.judge.judge import Judge
from fairtrial.judge.question import Question, answer_schema
from fairtrial.judge.voting import majority
from fairtrial.llm.endpoint import Endpoint
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import ModelPool
from fairtrial.records.ballot import Ballot
from fairtrial.records.reply import Prompt
from loopback import Loopback, Request, Say

NAMES = ("openai/gpt-4o-mini", "gemini/gemini-2.5-flash", "anthropic/claude-haiku-4-5")
OTHER = "llama-3-8b"


def asked(name: str, *, strict: bool) -> tuple[Ballot, list[str]]:
    """Ask a judge with one vote at a router, and return the ballot and the notes."""
    prompt = Prompt(id="p", version="1", text="?", schema=answer_schema(("i",), ("yes", "no")))
    question = Question(prompt, ("i",), ("yes", "no"), majority(["yes"], ["no"]))
    notes: list[str] = []

    def script(request: Request) -> Say:
        return Say(request.answers("yes"), served=OTHER)

    async def ask(server: Loopback) -> Ballot:
        url = f"{server.url}/v1" if name.startswith("openai") else server.url
        model = NamedModel(name, endpoint=Endpoint(url, "SERVER_KEY"))
        async with ModelPool(note=notes.append) as pool:
            judge = Judge((pool.connected(model),), 1, strict_model=strict)
            await pool.check()
            return await judge(question)

    with Loopback(script) as server:
        return asyncio.run(ask(server)), notes


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for the router."""
    monkeypatch.setenv("SERVER_KEY", "planted-SERVER_KEY")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_another_model_counts_with_a_note(name: str) -> None:
    """The ballot has its name."""
    ballot, (note,) = asked(name, strict=False)
    assert ballot.decisions["i"].result.value == 1
    assert [call.served for call in ballot.calls] == [OTHER]
    assert f"model {name!r}: another model answered: {OTHER!r}" in note


@pytest.mark.parametrize("name", NAMES)
def test_another_model_abstains_in_strict_mode(name: str) -> None:
    """The reason names both models."""
    ballot, _ = asked(name, strict=True)
    assert ballot.decisions["i"].result.value is None
    assert f"another model answered: asked {name!r}, got {OTHER!r}" in ballot.why_unscored("i")


def test_another_model_writes_nothing_in_strict_mode() -> None:
    """The texts that a judge writes, such as adaptive rubrics, are those of the asked model."""

    async def ask(server: Loopback) -> tuple[str | None, Ballot]:
        model = NamedModel(NAMES[0], endpoint=Endpoint(f"{server.url}/v1", "SERVER_KEY"))
        async with ModelPool() as pool:
            judge = Judge((pool.connected(model),), 1, strict_model=True)
            await pool.check()
            return await judge.write(Prompt(id="p", version="1", text="?"), str)

    with Loopback(lambda _: Say("written", served=OTHER)) as server:
        text, ballot = asyncio.run(ask(server))
    assert text is None
    assert OTHER in ballot.votes[0].problems["p"]

"""A cassette gives back what was recorded, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.llm.cassette import CassetteWriter, MissingEntryError, RecordedModel, ReplayedModel, load_cassette
from fairtrial.llm.model import CallError, NamedModel, UnusableModelError
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import ModelPool
from fairtrial.protocols import Model
from fairtrial.records.reply import Prompt, Reply
from fairtrial.testing import ModelLine, ScriptedModel

PROMPT = Prompt(id="p", version="1", text="질문")
SIGNATURE = {"model": "m", "settings": {}}


def record(path: Path, *lines: ModelLine) -> None:
    """Record one call for each line, each of another draw."""
    recorder = CassetteWriter(path)
    model = RecordedModel(ScriptedModel(lines), SIGNATURE, recorder)

    async def ask_all() -> None:
        for draw in range(1, len(lines) + 1):
            try:
                await model(Prompt(id="p", version="1", text="질문", draw=str(draw)))
            except CallError:
                continue

    asyncio.run(ask_all())
    recorder.close()


def replay(path: Path, prompt: Prompt = PROMPT) -> Reply:
    """Ask the cassette."""
    return asyncio.run(ReplayedModel(SIGNATURE, load_cassette(path), str(path))(prompt))


def test_a_reply_comes_back_whole(tmp_path: Path) -> None:
    """Text, tokens, cost and seconds are those of the recording."""
    reply = Reply(text="답", model="m-1", input_tokens=3, output_tokens=2, cost=0.01, seconds=1.5, attempts=2)
    record(tmp_path / "c.jsonl", reply)
    assert replay(tmp_path / "c.jsonl") == reply


def test_a_failure_comes_back_as_a_failure(tmp_path: Path) -> None:
    """Else a run with a failed call could not be replayed."""
    record(tmp_path / "c.jsonl", CallError("HTTP 500"))
    with pytest.raises(CallError, match="HTTP 500"):
        replay(tmp_path / "c.jsonl")


def test_what_is_recorded_stays_until_there_is_something_new(tmp_path: Path) -> None:
    """A run that is refused before its first call has not lost the cassette that was to be replaced."""
    record(tmp_path / "c.jsonl", "old")
    record(tmp_path / "c.jsonl")
    assert replay(tmp_path / "c.jsonl").text == "old"
    record(tmp_path / "c.jsonl", "new")
    assert replay(tmp_path / "c.jsonl").text == "new"
    assert len(load_cassette(tmp_path / "c.jsonl")) == 1


def test_a_call_that_is_not_there_is_no_abstention(tmp_path: Path) -> None:
    """It is an error of the run, and says which call is missing."""
    record(tmp_path / "c.jsonl", "yes")
    with pytest.raises(MissingEntryError, match=r"prompt p/1, draw 2, ask 1"):
        replay(tmp_path / "c.jsonl", Prompt(id="p", version="1", text="질문", draw="2"))


def test_a_call_is_written_once(tmp_path: Path) -> None:
    """Equal questions of a run are one line."""
    recorder = CassetteWriter(tmp_path / "c.jsonl")
    model = RecordedModel(ScriptedModel(["yes", "yes"]), SIGNATURE, recorder)

    async def twice() -> None:
        await model(PROMPT)
        await model(PROMPT)

    asyncio.run(twice())
    recorder.close()
    assert len((tmp_path / "c.jsonl").read_bytes().splitlines()) == 2


def test_every_broken_line_is_listed(tmp_path: Path) -> None:
    """With its number."""
    path = tmp_path / "c.jsonl"
    record(path, "yes", "no")
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], lines[1][:-5], b"{}"]))
    with pytest.raises(FormatError) as caught:
        load_cassette(path)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["line 2", "line 3"]


@pytest.mark.parametrize("content", [b"", b"{}\n", b"not JSON\n"])
def test_what_is_no_cassette_is_said_so(tmp_path: Path, content: bytes) -> None:
    """An empty file, other JSON, no JSON."""
    (tmp_path / "c.jsonl").write_bytes(content)
    with pytest.raises(FormatError, match="not a cassette"):
        load_cassette(tmp_path / "c.jsonl")


def test_a_missing_file_is_a_format_error(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(FormatError, match=r"none\.jsonl"):
        load_cassette(tmp_path / "none.jsonl")


def ask_in_auto(path: Path, model: Model, *draws: str) -> list[str]:
    """Ask a model of one's own behind a cassette that is completed."""

    async def ask_all() -> list[str]:
        options = ModelOptions(custom_models={"m": model}, cassette=path, cassette_mode="auto")
        async with ModelPool(options) as pool:
            named = pool.connected(NamedModel("m"))
            await pool.check()
            return [(await named(Prompt(id="p", version="1", text="질문", draw=draw))).text for draw in draws]

    return asyncio.run(ask_all())


def test_in_auto_only_calls_that_are_not_recorded_are_made(tmp_path: Path) -> None:
    """They are added, each once; a recorded failure is made again."""
    path = tmp_path / "c.jsonl"
    record(path, "old", CallError("HTTP 500"))
    model = ScriptedModel(["second", "third"])
    assert ask_in_auto(path, model, "1", "2", "3") == ["old", "second", "third"]
    lines = path.read_bytes().splitlines()
    assert len(lines) == 1 + 2 + 2
    assert ask_in_auto(path, ScriptedModel([]), "3", "2", "1") == ["third", "second", "old"]
    assert path.read_bytes().splitlines() == lines
    assert replay(path, Prompt(id="p", version="1", text="질문", draw="2")).text == "second"


def test_in_auto_a_cassette_that_is_not_there_is_recorded(tmp_path: Path) -> None:
    """The first run of a build makes it."""
    path = tmp_path / "c.jsonl"
    assert ask_in_auto(path, ScriptedModel(["first"]), "1") == ["first"]
    assert replay(path).text == "first"


def test_in_auto_a_model_is_connected_by_its_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a call that is missing, neither a key nor a server is needed."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    named, path = NamedModel("openai/m"), tmp_path / "c.jsonl"
    writer = CassetteWriter(path)
    asyncio.run(RecordedModel(ScriptedModel(["old"]), named.signature, writer)(PROMPT))
    writer.close()

    async def ask(draw: str) -> str:
        async with ModelPool(ModelOptions(cassette=path, cassette_mode="auto")) as pool:
            model = pool.connected(named)
            await pool.check()
            return (await model(replace(PROMPT, draw=draw))).text

    assert asyncio.run(ask("1")) == "old"
    with pytest.raises(UnusableModelError, match="no key; set OPENAI_API_KEY"):
        asyncio.run(ask("2"))

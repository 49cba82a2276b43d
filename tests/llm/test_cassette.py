"""A cassette gives back what was recorded, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairtrial.errors import FormatError
from fairtrial.llm.cassette import CassetteWriter, MissingEntryError, RecordedModel, ReplayedModel, load_cassette
from fairtrial.llm.model import CallError
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

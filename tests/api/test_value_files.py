"""The command `fairtrial value` takes globs, folders, packed files and Parquet, also with broken conversations."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fairtrial
from reasonings import reasoning
from span_files import call, otlp

DIALOGUE: list[Any] = [{"role": "user", "content": "Weather in Seoul?"}, {"role": "assistant", "content": "Sunny."}]


def values(*arguments: str | Path, success: bool = True) -> list[dict[str, Any]]:
    """Return the rows of a command, and expect it to read something."""
    said = ["--success"] if success else []
    done = fairtrial("value", *arguments, "--confidence", "0.5", *said, "--embedder", "none", "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def lines(*items: Any) -> bytes:
    """Return items as JSON lines."""
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the same trace in every packing and format, each under its own id."""
    monkeypatch.chdir(tmp_path)
    day = tmp_path / "day"
    day.mkdir()
    (day / "a.jsonl").write_bytes(lines(reasoning(0)))
    (day / "b.jsonl.gz").write_bytes(gzip.compress(lines(reasoning(1))))
    (day / "c.json.zst").write_bytes(pa.compress(json.dumps([reasoning(2)]).encode(), "zstd", asbytes=True))
    (day / "d.jsonl.zst").write_bytes(pa.compress(lines({"id": "d", "messages": DIALOGUE}), "zstd", asbytes=True))
    (day / "e.jsonl.gz").write_bytes(gzip.compress(lines({"id": "e", "messages": DIALOGUE})))
    pq.write_table(pa.table({"id": ["f"], "messages": [json.dumps(DIALOGUE)]}), day / "f.parquet")
    (day / "readme.txt").write_text("no traces")
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        (["day"], "0 1 2 d e f"),
        (["day/*.gz"], "1 e"),
        (["**/c*", "day/f.parquet"], "2 f"),
        (["day/a.jsonl", "day/d.jsonl.zst"], "0 d"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_folders_globs_and_packed_files_are_read(paths: list[str], ids: str) -> None:
    """In the order of the paths, and then by name."""
    assert [row["id"].removeprefix("kp:trace:") for row in values(*paths)] == ids.split()
    assert [row["score"] is None for row in values(*paths)] == [False] * len(ids.split())


def test_a_packed_file_is_worth_what_the_plain_file_is(folder: Path) -> None:
    """Every number is equal."""
    (folder / "plain.jsonl").write_bytes(gzip.decompress((folder / "day/b.jsonl.gz").read_bytes()))
    assert values("plain.jsonl") == values("day/b.jsonl.gz")


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["day/a.jsonl", "day"], "a.jsonl: is named twice, so that its traces would count twice"),
        (["day/*.csv"], "day/*.csv: holds no"),
        (["nothing"], "nothing: no such file or folder"),
        (["day", "-o", "day/a.jsonl"], "day/a.jsonl: would be written over, as an input or by another output"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_paths_that_cannot_be_meant_are_refused(paths: list[str], message: str) -> None:
    """Before anything is written."""
    done = fairtrial("value", *paths, "--embedder", "none")
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_damaged_file_is_refused_alone(folder: Path) -> None:
    """Also if the damage is at its end."""
    (folder / "day/b.jsonl.gz").write_bytes(gzip.compress(lines(*[reasoning(7)] * 3))[:-9])
    rows = values("day/a.jsonl", "day/b.jsonl.gz", "day/c.json.zst")
    assert rows[0]["score"] is not None
    assert rows[-1]["score"] is not None
    assert [row["errors"][0]["problem"][:15] for row in rows if row["score"] is None] == ["cannot be read:"]


def _tau2(messages: Any, reason: str, number: int) -> Any:
    return {"id": f"s{number}", "task_id": str(number), "messages": messages, "termination_reason": reason}


def _sample(messages: Any, number: int, **more: Any) -> Any:
    return {"id": f"q{number}", "epoch": 1, "messages": messages, "events": [], **more}


def _crashes() -> dict[str, bytes]:
    """Return files of three conversations, of which the second crashed."""
    result: dict[str, Any] = {"trial": 0, "info": {"task": {"actions": []}}, "traj": DIALOGUE, "reward": None}
    crash = {"task_id": 1, "info": {"error": "RateLimitError"}, "traj": []}
    half = json.dumps({"messages": DIALOGUE}).encode()[:-30] + b"\n"
    chat = lines({"messages": DIALOGUE})
    tau2 = {"tasks": [{"id": str(i)} for i in range(3)], "info": {}}
    log = {"version": 2, "status": "error", "eval": {}}
    error = {"message": "boom", "traceback": ""}
    step = {"kind": "thought", "text": "look"}
    own = [{"case_id": str(i), "trace": {"invocations": [{"user": {"text": "hi"}, "steps": [step]}]}} for i in range(3)]
    return {
        "tau.json": json.dumps([{**result, "task_id": 0}, {**result, **crash}, {**result, "task_id": 2}]).encode(),
        "tau2-null.json": json.dumps(
            {
                **tau2,
                "simulations": [_tau2(DIALOGUE, "user_stop", 0), _tau2(None, "agent_error", 1), _tau2(DIALOGUE, "", 2)],
            }
        ).encode(),
        "tau2-part.json": json.dumps(
            {**tau2, "simulations": [_tau2(DIALOGUE, "", 0), _tau2(DIALOGUE, "timeout", 1), _tau2(DIALOGUE, "", 2)]}
        ).encode(),
        "inspect.json": json.dumps(
            {**log, "samples": [_sample(DIALOGUE, 0), _sample([], 1, error=error), _sample(DIALOGUE, 2)]}
        ).encode(),
        "inspect-part.json": json.dumps(
            {**log, "samples": [_sample(DIALOGUE, 0), _sample(DIALOGUE[:1], 1, error=error), _sample(DIALOGUE, 2)]}
        ).encode(),
        "chat-empty.jsonl": chat + lines({"messages": []}) + chat,
        "chat-null.jsonl": chat + lines({"messages": None}) + chat,
        "chat-role.jsonl": chat + lines({"messages": [{"role": "robot"}]}) + chat,
        "chat-cut.jsonl": chat + half + chat,
        "chat.json": json.dumps([{"messages": DIALOGUE}, {"messages": []}, {"messages": DIALOGUE}]).encode(),
        "spans.json": json.dumps(
            otlp(call(1, ["Hi"], "Hello"), {**call(2, [], ""), "status": {"code": 2}}, call(3, ["Hi"], "Hello"))
        ).encode(),
        "traces.jsonl": lines(reasoning(0)) + json.dumps(reasoning(1)).encode()[:-40] + b"\n" + lines(reasoning(2)),
        "own.jsonl": lines(own[0], {**own[1], "trace": None}, own[2]),
    }


def _damages() -> dict[str, bytes]:
    """Return files of three conversations, of which the second is damaged, in formats that are read as a whole."""
    tau = [
        {"task_id": number, "trial": 0, "info": {"task": {"actions": []}}, "traj": DIALOGUE, "reward": 1.0}
        for number in range(3)
    ]
    row = {"id": "a", "input": "Hi", "output": "Hello"}
    spans = [lines(otlp(call(number, ["Hi"], "Hello"))) for number in range(1, 4)]
    return {
        "tau-object.json": json.dumps([tau[0], {**tau[1], "traj": "lost"}, tau[2]]).encode(),
        "tau-number.json": json.dumps([tau[0], 5, tau[2]]).encode(),
        "tau-role.json": json.dumps([tau[0], {**tau[1], "traj": [{"role": "robot"}]}, tau[2]], indent=1).encode(),
        "spans.jsonl": spans[0] + spans[1][:-30] + b"\n" + spans[2],
        "spans-first.jsonl": spans[1][:-30] + b"\n" + spans[0] + spans[2],
        "table.csv": b'id,input,output\na,"Hi,\nyou",Hello\n"b\n",,\nc,Hi,Hello\n',
        "table-cells.csv.gz": gzip.compress(b"id,input,output\na,Hi,Hello\nb,Hi,Hello,more\nc,Hi,Hello"),
        "table-null.json": json.dumps([row, {"id": "b", "input": None}, {**row, "id": "c"}]).encode(),
        "table-cut.jsonl": lines(row) + b'{"id": "b", "inp\n' + lines({**row, "id": "c"}),
    }


@pytest.mark.parametrize("name", _damages())
def test_one_damaged_part_is_refused_and_not_its_file(name: str, tmp_path: Path) -> None:
    """An item, a line or a row. The refusal names its place, and the others have their values."""
    path = tmp_path / name
    path.write_bytes(_damages()[name])
    done = fairtrial("value", path, "--confidence", "1", "--success", "--embedder", "none", "--json")
    scores = [json.loads(line)["score"] for line in done.out.splitlines()]
    place = {"spans-first.jsonl": ":1", "table.csv": ":4", "table-cells.csv.gz": ":3"}.get(name)
    assert [score is None for score in scores] == [True, False, False]
    assert f"{path}{place or ('/1' if name.endswith('.json') else ':2')}: /" in done.err


def test_a_damaged_part_on_standard_input_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a file."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_damages()["tau-object.json"])))
    done = fairtrial("value", "-", "--embedder", "none", "--confidence", "1", "--success", "--json")
    assert [json.loads(line)["score"] is None for line in done.out.splitlines()] == [True, False, False]


def test_a_conversation_with_a_damaged_message_is_refused_as_a_whole(tmp_path: Path) -> None:
    """Without the message it would be another conversation."""
    (tmp_path / "chat.json").write_text(json.dumps([*DIALOGUE, {"role": "robot"}, *DIALOGUE]))
    done = fairtrial("value", tmp_path / "chat.json", "--confidence", "1", "--success", "--embedder", "none", "--json")
    assert [json.loads(line)["score"] for line in done.out.splitlines()] == [None]


@pytest.mark.parametrize("name", _crashes())
def test_one_crashed_conversation_is_refused_and_not_its_file(name: str, tmp_path: Path) -> None:
    """In every format. The conversations beside it have their values, and the reason names the crash."""
    (tmp_path / name).write_bytes(_crashes()[name])
    rows = values(tmp_path / name)
    assert [row["score"] is None for row in rows] == [False, True, False], [row.get("errors") for row in rows]


def test_an_archive_of_a_trajectory_that_crashed_is_refused_alone(tmp_path: Path) -> None:
    """A trajectory of SWE-agent is a file of its own, so that the folder is read on."""
    step = {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls", "agent": "main"}
    history = [{"role": "user", "content": "Fix it."}, step, {"role": "user", "content": "a.py"}]
    (tmp_path / "a.traj").write_text(json.dumps({"history": history, "trajectory": [], "info": {}}))
    (tmp_path / "b.traj").write_text(
        json.dumps({"history": [], "trajectory": [], "info": {"exit_status": "exit_error"}})
    )
    assert [row["score"] is None for row in values(tmp_path)] == [False, True]


def test_success_that_a_user_states_is_not_that_of_a_crash(tmp_path: Path) -> None:
    """A conversation that broke off is refused with its cause, unless its own reward says how it ended."""
    file = {"tasks": [{"id": "0"}], "info": {}, "simulations": [_tau2(DIALOGUE, "agent_error", 0)]}
    (tmp_path / "a.json").write_text(json.dumps(file))
    done = fairtrial("value", tmp_path / "a.json", "--confidence", "0.5", "--success", "--embedder", "none")
    assert "the conversation broke off: tau2-bench broke the dialogue off: agent_error" in done.err
    file["simulations"][0]["reward_info"] = {"reward": 0.0}  # type: ignore[index]
    (tmp_path / "a.json").write_text(json.dumps(file))
    assert [row["score"] is None for row in values(tmp_path / "a.json")] == [False]


@pytest.mark.parametrize("damaged", [{"id": "bad", "messages": 3}, 7, [], {"id": "bad"}], ids=repr)
@pytest.mark.parametrize("place", [0, 1])
def test_a_damaged_item_of_an_array_is_refused_alone(tmp_path: Path, place: int, damaged: Any) -> None:
    """The conversations beside it are valued, wherever it stands."""
    items: list[Any] = [{"id": "a", "messages": DIALOGUE}, {"id": "b", "messages": DIALOGUE}]
    items.insert(place, damaged)
    (tmp_path / "chats.json").write_text(json.dumps(items))
    rows = values(tmp_path / "chats.json")
    assert [row["score"] is None for row in rows] == [number == place for number in range(3)]
    assert {row["id"] for row in rows if row["score"] is not None} == {"kp:trace:a", "kp:trace:b"}


@pytest.mark.parametrize("place", [0, 1])
def test_a_damaged_reasoning_trace_of_an_array_is_refused_alone(tmp_path: Path, place: int) -> None:
    """Also if it is the first, or no object at all."""
    items: list[Any] = [reasoning(0), reasoning(1)]
    items.insert(place, "damaged")
    (tmp_path / "traces.json").write_text(json.dumps(items))
    rows = values(tmp_path / "traces.json", success=False)
    assert [row["score"] is None for row in rows] == [number == place for number in range(3)]

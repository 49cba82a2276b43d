"""Many traces: files, processes, modes, an index, and going on after a crash."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from fairtrial.api.value.valuation_resume import read_finished, skip_finished
from fairtrial.api.value.valuation_stages import Valuation
from fairtrial.batch.executors import ProcessPool
from fairtrial.errors import UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.loading.documents import TraceDefaults, document_files, iter_documents
from fairtrial.valuation.chunk import KeepFilter
from fairtrial.valuation.embed import read_name
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.single import value
from fairtrial.valuation.trace_value import ScoringContext
from reasonings import by_words, many, reasoning

WORDS = read_name(by_words)
OUTPUT = Path("out.jsonl")


def _write(path: Path, traces: list[Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(trace) + b"\n" for trace in traces))
    return path


def _job(path: Path, mode: str = "sequence", *, jobs: int = 1, **options: Any) -> Valuation:
    options["executor"] = ProcessPool(jobs)
    return Valuation([path], context=ScoringContext(mode=mode, embedder=WORDS), embed=by_words, **options)


def _encode_line(valuation: Valuation) -> list[bytes]:
    return [msgspec.json.encode(row) for chunk in valuation.run() for row in chunk.rows]


def _lines(valuation: Valuation) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _encode_line(valuation)]


def _same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert [one["id"] for one in found] == [one["id"] for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert abs(one["score"] - other["score"]) < 1e-6
        assert abs(one["novelty"] - other["novelty"]) < 1e-6


def _resume_part(valuation: Valuation, lines: list[bytes]) -> Valuation:
    return skip_finished(valuation, read_finished(valuation, lines, OUTPUT))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 1,200 traces: more than a cache holds."""
    return _write(tmp_path_factory.mktemp("traces") / "traces.jsonl", many(1200))


@pytest.fixture(scope="module")
def whole(file: Path) -> list[bytes]:
    """The lines of a run over the file that nothing breaks off."""
    return _encode_line(_job(file))


@pytest.mark.long
def test_a_batch_is_what_one_by_one_is(file: Path) -> None:
    """Every value of a file equals that of its traces valued one after the other, evictions included."""
    cache = VectorCache()
    single = [value(json.loads(line), embedder=by_words, cache=cache) for line in file.read_text().splitlines()]
    _same(_lines(_job(file)), [{"id": one.id, "score": one.score, "novelty": one.novelty} for one in single])


@pytest.mark.long
@pytest.mark.parametrize("mode", ["sequence", "leave-one-out"])
def test_processes_change_nothing(file: Path, mode: str) -> None:
    """Two processes give what one gives, in the same order."""
    _same(_lines(_job(file, mode, jobs=2)), _lines(_job(file, mode)))


@pytest.mark.long
def test_processes_change_nothing_without_embedder(tmp_path: Path) -> None:
    """Line for line the same bytes, of more chunks than are done without starting processes."""
    file = _write(tmp_path / "a.jsonl", [reasoning(number) for number in range(1500)])
    one, two = (_encode_line(Valuation([file], executor=ProcessPool(jobs, patience=1))) for jobs in (1, 2))
    assert one == two
    assert len(one) == 1500


@pytest.mark.long
def test_leave_one_out_does_not_depend_on_the_order_of_a_file(tmp_path: Path) -> None:
    """A file turned round has the same values, trace by trace."""
    traces = many(300)
    forward = _lines(_job(_write(tmp_path / "a.jsonl", traces), "leave-one-out"))
    backward = _lines(_job(_write(tmp_path / "b.jsonl", traces[::-1]), "leave-one-out"))
    _same(backward[::-1], forward)


def test_a_corpus_is_made_then_searched_and_left_as_it_is(tmp_path: Path) -> None:
    """The first run makes the index. A second run finds a copy of every trace in it, and changes nothing."""
    file, index = _write(tmp_path / "a.jsonl", many(100)), tmp_path / "index"
    first = _lines(_job(file, "corpus", index=index))
    assert {one["novelty"] for one in first} == {0.5}
    before = index.read_bytes()
    second = _lines(_job(_write(tmp_path / "b.jsonl", _copies(many(100))), "corpus", index=index))
    assert {one["novelty"] for one in second} == {0.0}
    assert index.read_bytes() == before


def _copies(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same traces under other ids."""
    return [trace | {"id": f"{trace['id']}-copy"} for trace in traces]


def test_a_trace_never_finds_itself_in_a_corpus(tmp_path: Path) -> None:
    """The novelty of a trace that is in the index is its distance from the other traces, as with leave-one-out."""
    file, index = _write(tmp_path / "a.jsonl", many(60)), tmp_path / "index"
    _lines(_job(file, "corpus", index=index))
    found = _lines(_job(file, "corpus", index=index))
    others = _lines(_job(file, "leave-one-out"))
    assert [row["novelty"] for row in found] == pytest.approx([row["novelty"] for row in others], abs=1e-6)


def test_a_trace_that_was_changed_finds_its_earlier_version(tmp_path: Path) -> None:
    """The id alone does not make it the same trace: cases of two runs have the same ids."""
    index = tmp_path / "index"
    _lines(_job(_write(tmp_path / "a.jsonl", [reasoning(1, text="a b c")]), "corpus", index=index))
    (row,) = _lines(_job(_write(tmp_path / "b.jsonl", [reasoning(1, text="a b d")]), "corpus", index=index))
    assert row["nearest"]["id"] == "kp:trace:1"


def test_a_corpus_grows_only_where_it_is_asked_to(tmp_path: Path) -> None:
    """With `extend` the new traces are held against the old ones alone, and are found by the next run."""
    index = tmp_path / "index"
    old, new = _write(tmp_path / "a.jsonl", many(50)), _write(tmp_path / "b.jsonl", [reasoning(900, text="z " * 9)])
    _lines(_job(old, "corpus", index=index))
    (extending,) = _lines(_job(new, "corpus", index=index, extend=True))
    assert extending["novelty"] > 0.0
    copy = _write(tmp_path / "c.jsonl", _copies([reasoning(900, text="z " * 9)]))
    assert [one["novelty"] for one in _lines(_job(copy, "corpus", index=index))] == [0.0]


def test_extending_a_corpus_replaces_the_traces_with_the_same_ids(tmp_path: Path) -> None:
    """The index holds each id once, with the latest vector."""
    index = tmp_path / "index"
    _lines(_job(_write(tmp_path / "a.jsonl", many(50)), "corpus", index=index))
    changed = [*many(50)[:49], reasoning(49, text="z z z")]
    _lines(_job(_write(tmp_path / "b.jsonl", changed), "corpus", index=index, extend=True))
    cache = VectorCache.load(index)
    assert sorted(cache.ids) == sorted(trace["id"] for trace in many(50))
    copy = _write(tmp_path / "c.jsonl", _copies(changed))
    assert {row["novelty"] for row in _lines(_job(copy, "corpus", index=index))} == {0.0}


def test_two_writers_of_an_index_exclude_each_other(tmp_path: Path) -> None:
    """The second writer is refused before it reads the index, and may write it after the first."""
    file, index = _write(tmp_path / "a.jsonl", many(40)), tmp_path / "index"
    first = _job(file, "sequence", index=index).run()
    next(first)
    with pytest.raises(UsageError, match="another process is writing it"):
        list(_job(file, "sequence", index=index).run())
    list(first)
    assert len(_lines(_job(file, "sequence", index=index))) == 40


def test_a_sequence_goes_on_where_its_index_ended(tmp_path: Path) -> None:
    """Two files one after the other through a saved index are worth what they are worth as one file."""
    traces, index = many(400), tmp_path / "index"
    halves = [_write(tmp_path / f"{n}.jsonl", part) for n, part in enumerate((traces[:170], traces[170:]))]
    found = [line for half in halves for line in _lines(_job(half, index=index))]
    _same(found, _lines(_job(_write(tmp_path / "all.jsonl", traces))))


@pytest.mark.long
@pytest.mark.parametrize("done_before", [0, 1, 700, 1200])
def test_resuming_gives_what_was_not_broken_off(file: Path, whole: list[bytes], done_before: int) -> None:
    """Wherever the output broke off, the rest is the same, down to the novelty after evictions."""
    before = read_finished(_job(file), whole[:done_before], OUTPUT)
    assert len(before.scores) == done_before
    rest = _lines(skip_finished(_job(file), before))
    _same(rest, [json.loads(line) for line in whole[done_before:]])


@pytest.mark.parametrize(("mode", "extend"), [("leave-one-out", False), ("corpus", False), ("corpus", True)])
def test_resuming_a_mode_that_needs_every_vector(tmp_path: Path, mode: str, extend: bool) -> None:
    """All others of the set, or an index that is made or extended: rest and index are what they would have been."""
    file, old = _write(tmp_path / "a.jsonl", many(90)), _write(tmp_path / "old.jsonl", many(20, seed=2))
    options: dict[str, Any] = {"extend": extend}
    if mode == "corpus":
        options["index"] = tmp_path / "index"
    if extend:
        _lines(_job(old, mode, index=tmp_path / "index"))
        shutil.copytree(tmp_path, tmp_path / "copy")
    whole = _encode_line(_job(file, mode, **options))
    made = VectorCache.load(tmp_path / "index").vectors if mode == "corpus" else None
    (tmp_path / "index").unlink(missing_ok=True)
    if extend:
        shutil.copytree(tmp_path / "copy", tmp_path, dirs_exist_ok=True)
    job = _job(file, mode, **options)
    _same(_lines(_resume_part(job, whole[:40])), [json.loads(line) for line in whole[40:]])
    if made is not None:
        assert np.allclose(VectorCache.load(tmp_path / "index").vectors, made, atol=1e-6)


@pytest.mark.parametrize(("mode", "extend"), [("sequence", False), ("corpus", True)])
def test_resuming_what_was_finished_adds_nothing_to_the_index(tmp_path: Path, mode: str, extend: bool) -> None:
    """Where only the last word was missing, the traces are not in the index a second time."""
    job = _job(_write(tmp_path / "a.jsonl", many(60)), mode, index=tmp_path / "index", extend=extend)
    whole = _encode_line(job)
    assert not _lines(_resume_part(job, whole))
    assert len(VectorCache.load(tmp_path / "index")) == 60


@pytest.mark.long
def test_an_index_that_keeps_all_keeps_all_over_a_break(tmp_path: Path) -> None:
    """A sequence over an index without limit remembers every trace that was done before the break."""
    file, index = _write(tmp_path / "a.jsonl", many(1200)), tmp_path / "index"
    VectorCache(capacity=None).save(index, embedder=WORDS)
    whole = _encode_line(_job(file))
    job = _job(file, index=index)
    _lines(_resume_part(job, whole[:1100]))
    assert len(VectorCache.load(index)) == 1200


@pytest.mark.parametrize("mode", ["sequence", "corpus"])
@pytest.mark.parametrize(("ttl", "novelty"), [(500.0, 0.5), (5000.0, 0.0), (None, 0.0)])
def test_what_is_older_than_its_time_to_live_does_not_count(
    tmp_path: Path, mode: str, ttl: float | None, novelty: float
) -> None:
    """A vector of 1,000 seconds ago is compared with for 5,000 seconds, not for 500."""
    file, index = _write(tmp_path / "a.jsonl", many(1)), tmp_path / "index"
    cache = VectorCache(clock=lambda: time.time() - 1000)
    cache.add("old", by_words([knowledgepulse.loads(file.read_bytes()).text])[0])
    cache.save(index, embedder=WORDS)
    assert _lines(_job(file, mode, index=index, ttl=ttl))[0]["novelty"] == novelty


@pytest.mark.parametrize(
    "change", [{"id": "kp:trace:other"}, {"score": 0.123}, {"embedder": "other"}, {"score": None}, {"id": 3}]
)
def test_another_output_is_not_resumed(file: Path, whole: list[bytes], change: dict[str, Any]) -> None:
    """A line that these traces do not give under these options is refused, with its number."""
    lines = whole[:3]
    lines[1] = msgspec.json.encode(json.loads(lines[1]) | change)
    with pytest.raises(UsageError, match=r"line 2 of out\.jsonl does not match .*traces\.jsonl:2"):
        read_finished(_job(file), lines, OUTPUT)


def test_more_output_than_input_is_not_resumed(tmp_path: Path) -> None:
    """An output that is longer than the input belongs to another one."""
    file = _write(tmp_path / "a.jsonl", [reasoning()])
    line = _lines(Valuation([file]))[0]
    with pytest.raises(UsageError, match=r"line 2 of out\.jsonl does not match the end of the input"):
        read_finished(Valuation([file]), [msgspec.json.encode(line)] * 2, OUTPUT)


def test_a_refused_trace_stands_in_its_place(tmp_path: Path) -> None:
    """Between two values: its id if it has one, a score that is null, and each problem with its pointer."""
    bad = reasoning(1, outcome={"result_summary": "", "confidence": 5})
    found = _lines(Valuation([_write(tmp_path / "a.jsonl", [reasoning(0), bad, reasoning(2)])]))
    assert [one["score"] is None for one in found] == [False, True, False]
    assert found[1] == {
        "id": "kp:trace:1",
        "score": None,
        "errors": [{"pointer": "/outcome/confidence", "problem": "must be a number from 0 to 1, got 5"}],
    }


def test_a_line_has_the_documented_keys(tmp_path: Path) -> None:
    """In their order, none left out, whatever its value."""
    found = _lines(Valuation([_write(tmp_path / "a.jsonl", [reasoning()])]))
    assert list(found[0]) == [
        "id",
        "score",
        "complexity",
        "novelty",
        "tool_diversity",
        "outcome_confidence",
        "overrides",
        "warnings",
        "embedder",
        "nearest",
        "tokens_seen",
        "tokens",
    ]


def test_only_what_reaches_the_threshold_is_kept(tmp_path: Path) -> None:
    """A score equal to the threshold is enough. A kept trace has all its keys, and the score as its quality."""
    good, weak = reasoning(0, note="kept"), reasoning(1, steps=[{"step_id": 0, "type": "thought", "content": "x"}])
    file = _write(tmp_path / "a.jsonl", [good, weak])
    limit = value(good, embedder=None).score
    valuation = Valuation([file], keep_filter=KeepFilter(limit, keep=True))
    kept = [json.loads(bytes(trace)) for chunk in valuation.run() for trace in chunk.kept]
    assert kept == [good | {"metadata": good["metadata"] | {"quality_score": limit}}]


def test_what_is_kept_has_no_secret_anywhere(tmp_path: Path) -> None:
    """Objective, contents, inputs, outputs and summary are redacted, and each secret is reported with its place."""
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"
    trace = reasoning(0, task={"objective": f"use {token}"}, outcome={"result_summary": token, "confidence": 1})
    trace["steps"][0]["content"] = f"export K={token}"
    trace["steps"][1]["input"] = {"headers": [{"X": token}], "password": "Tr0ub4dor"}
    trace["steps"][2]["output_summary"] = f"<{token}>"
    file = _write(tmp_path / "a.jsonl", [trace])
    (chunk,) = Valuation([file], keep_filter=KeepFilter(0.0, keep=True)).run()
    assert token.encode() not in bytes(chunk.kept[0])
    assert b"Tr0ub4dor" not in bytes(chunk.kept[0])
    assert {one.pointer for one in chunk.redactions} == {
        "/task/objective",
        "/outcome/result_summary",
        "/steps/0/content",
        "/steps/1/input/headers/0/X",
        "/steps/1/input/password",
        "/steps/2/output_summary",
    }


def _origins(*paths: Path) -> list[str]:
    return [
        Path(one.origin).name for one in iter_documents(document_files([str(path) for path in paths]), TraceDefaults())
    ]


def test_every_shape_of_file_is_read(tmp_path: Path) -> None:
    """An object, a list, JSON lines under either name, blank lines and a byte order mark, and folders in order."""
    (tmp_path / "b").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(reasoning(0), indent=1))
    (tmp_path / "b" / "list.json").write_text(json.dumps([reasoning(1), reasoning(2)]))
    (tmp_path / "b" / "m.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(reasoning(3)).encode() + b"\n\n")
    (tmp_path / "b" / "n.json").write_text(f"{json.dumps(reasoning(4))}\n{json.dumps(reasoning(5))}\n")
    (tmp_path / "b" / "other.txt").write_text("no")
    found = _lines(Valuation(document_files([str(tmp_path)])))
    assert [one["id"] for one in found] == [f"kp:trace:{n}" for n in range(6)]
    assert all(one["score"] is not None for one in found)
    assert _origins(tmp_path) == ["a.json", "0", "1", "m.jsonl:1", "n.json:1", "n.json:2"]


@pytest.mark.parametrize("wrong", ["nowhere.jsonl", "empty"])
def test_what_is_not_there_is_refused(tmp_path: Path, wrong: str) -> None:
    """A path that does not exist, and a folder without JSON, end everything before it starts."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=wrong):
        document_files([str(tmp_path / wrong)])


def test_another_format_is_valued_too(tmp_path: Path) -> None:
    """Chat messages have a value once confidence and success are said, and are refused with the reason before."""
    chat = [
        {"role": "user", "content": "How many files?"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "a b"},
        {"role": "assistant", "content": "Two."},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    (unsaid,) = _lines(Valuation([tmp_path / "chat.json"]))
    assert "does not state its confidence and success" in unsaid["errors"][0]["problem"]
    (said,) = _lines(Valuation([tmp_path / "chat.json"], defaults=TraceDefaults(0.8, success=True)))
    # Three steps of two types, one tool: C = 2/4 * 0.5 + 3/20 * 0.2, D = 1, O = 0.8; 0.1 less for few tools.
    assert said["score"] == pytest.approx(0.25 * 0.28 + 0.35 * 0.5 + 0.15 + 0.25 * 0.8 - 0.1)


@pytest.mark.parametrize(("reward", "counted"), [(1.0, 0.8), (0.0, 0.24), (0, 0.24), (0.5, 0.8), (None, 0.8)])
def test_a_tau_bench_reward_is_its_success(tmp_path: Path, reward: float | None, counted: float) -> None:
    """1 is success and 0 is none, whatever the user says of other traces; any other reward says nothing."""
    traj = [{"role": "user", "content": "Cancel it."}, {"role": "assistant", "content": "Done."}]
    result: Any = {"task_id": 3, "reward": reward, "traj": traj, "info": {"task": {"actions": []}}, "trial": 0}
    (tmp_path / "tau.json").write_text(json.dumps([result]))
    (found,) = _lines(Valuation([tmp_path / "tau.json"], defaults=TraceDefaults(0.8, success=True)))
    assert found["outcome_confidence"] == pytest.approx(counted)


def test_a_file_without_traces_is_refused(tmp_path: Path) -> None:
    """A configuration holds nothing to value, which does not keep what stands beside it from being valued."""
    (tmp_path / "c.json").write_text('{"criteria": {"response_match_score": 0.8}}')
    (tmp_path / "d.json").write_text('{"neither": "nor"}')
    config, other, good = _lines(
        Valuation([tmp_path / "c.json", tmp_path / "d.json", _write(tmp_path / "e.jsonl", [reasoning()])])
    )
    assert "holds EvalConfig without recorded traces" in config["errors"][0]["problem"]
    assert "the keys 'neither'" in other["errors"][0]["problem"]
    assert good["score"] is not None

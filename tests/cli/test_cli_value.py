"""The command `fairtrial value`: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import fairtrial
from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, ResponseMatch, Trace
from fairtrial.cli import main
from fairtrial.valuation import weights
from reasonings import reasoning

KEYS = [
    *("id", "score", "complexity", "novelty", "tool_diversity", "outcome_confidence"),
    *("overrides", "warnings", "embedder", "nearest", "tokens_seen", "tokens"),
]


STEPS = [
    {"step_id": 0, "type": "tool_call", "tool": {"name": "grep"}, "output_summary": "a"},
    {"step_id": 1, "type": "tool_call", "tool": {"name": "fix"}, "output_summary": "b"},
]


def _trace(number: int = 0, **changes: Any) -> dict[str, Any]:
    return reasoning(number, **{"steps": STEPS, **changes})


GOOD, WEAK = _trace(0), _trace(1, steps=[{"step_id": 0, "type": "thought", "content": "hm"}])
BAD = _trace(2, outcome={"result_summary": "", "confidence": 5})
# C = 1/4 * 0.5 + 2/20 * 0.2 = 0.145, D = 1, O = 0.8: 0.25 C + 0.175 + 0.15 + 0.2; a single thought is worth 0.1.
GOOD_SCORE, WEAK_SCORE = 0.25 * 0.145 + 0.175 + 0.15 + 0.2, 0.1


def _file(folder: Path, *traces: dict[str, Any], name: str = "traces.jsonl") -> str:
    (folder / name).write_text("".join(json.dumps(trace, ensure_ascii=False) + "\n" for trace in traces))
    return str(folder / name)


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def _whole(args: tuple[str, ...]) -> None:
    """Run the command as the entry point does, with its way of telling errors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairtrial", "value", *args])
        main()


def _run(*args: str | Path, stdin: str | None = None, embedder: str | None = "none") -> Result:
    chosen = ["--embedder", embedder] if embedder else []
    return CliRunner().invoke(_whole, [*map(str, args), *chosen], input=stdin)


def _lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_json_is_one_object_a_line_in_input_order(tmp_path: Path) -> None:
    """With the documented keys, and a refused trace in its place with its reasons."""
    found = _lines(_run(_file(tmp_path, GOOD, BAD, WEAK), "--json"))
    assert [list(one) for one in found] == [KEYS, ["id", "score", "errors"], KEYS]
    assert [one["score"] for one in found] == [pytest.approx(GOOD_SCORE), None, pytest.approx(WEAK_SCORE)]
    assert found[1]["errors"][0]["pointer"] == "/outcome/confidence"


def test_the_table_shows_dimensions_and_totals(tmp_path: Path) -> None:
    """Each trace with its score and four dimensions, and a sentence below."""
    shown = _run(_file(tmp_path, GOOD, WEAK)).stdout
    for text in (f"{GOOD_SCORE:.4f}", "0.145", "0.500", "1.000", "0.800", "single_thought", "2 valued, mean 0.331"):
        assert text in shown


def test_ids_and_numbers_are_whole_in_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that would be too wide is a list; where there is nothing to tell, as in a refused trace, nothing is."""
    long = "step-by-step-" * 4
    monkeypatch.setattr("fairtrial.cli.console._PIPED_WIDTH", 60)
    shown = _run(_file(tmp_path, GOOD | {"id": f"kp:trace:{long}"}, BAD)).stdout
    assert f"{long}\n    score {GOOD_SCORE:.4f}, C 0.145, N 0.500, D 1.000, O 0.800\n" in shown
    assert "\n2\n    score refused\n" in shown


def test_a_file_from_standard_input(tmp_path: Path) -> None:
    """`-` is JSON lines on standard input."""
    assert len(_lines(_run("-", "--json", stdin=json.dumps(GOOD) + "\n"))) == 1
    assert not list(tmp_path.iterdir())


HOSTILE = "[bold red]\x1b[2J\x07\u202e[/] 비밀 :smile:"


def test_what_traces_say_is_never_markup_and_never_steers_the_terminal(tmp_path: Path) -> None:
    """Brackets stay brackets; escape, bell and direction marks are spelt out, in the table and in the reasons."""
    hostile = _trace(0, id=f"kp:trace:{HOSTILE}")
    weak = WEAK | {"id": f"kp:trace:weak {HOSTILE}"}
    result = _run(_file(tmp_path, hostile, weak, BAD | {"@type": HOSTILE}), "--threshold", "0.5")
    printed = result.stdout + result.stderr
    assert "[bold" in result.stdout
    assert "[bold red]" in result.stderr
    assert ":smile:" in result.stderr
    assert not any(one in printed for one in "\x1b\x07\u202e")


@pytest.mark.parametrize(("limit", "code"), [("0.1", 0), ("0.11", 1)])
def test_fail_under_is_a_check_of_every_trace(tmp_path: Path, limit: str, code: int) -> None:
    """The lowest score is 0.1: enough for 0.1, too little for 0.11."""
    assert _run(_file(tmp_path, GOOD, WEAK), "--fail-under", limit).exit_code == code


def test_a_threshold_alone_is_no_check(tmp_path: Path) -> None:
    """What is left out is told with its reason; the exit code stays 0."""
    result = _run(_file(tmp_path, GOOD, WEAK), "--threshold", "0.5")
    assert result.exit_code == 0
    assert "left out 1:" in result.stderr
    assert "kp:trace:1: 0.1000 < 0.5 (complexity 0.135" in result.stderr
    assert "1 of at least 0.5" in result.stdout


def test_a_refused_trace_is_never_a_pass(tmp_path: Path) -> None:
    """With a check it is unscored (3); without one it is told; with nothing else the input is wrong (2)."""
    assert _run(_file(tmp_path, GOOD, BAD), "--fail-under", "0").exit_code == 3
    beside = _run(_file(tmp_path, GOOD, BAD))
    assert beside.exit_code == 0
    assert "traces.jsonl:2: /outcome/confidence: must be a number from 0 to 1, got 5" in beside.stderr
    assert _run(_file(tmp_path, BAD)).exit_code == 2


def test_what_is_kept_is_redacted_and_the_report_says_where(tmp_path: Path) -> None:
    """The kept file holds the trace without its secret; the places are on standard error and in the report."""
    leaky = _trace(0, task={"objective": "mail jane@example.com", "x": [1]})
    kept, report = tmp_path / "kept.jsonl", tmp_path / "report.jsonl"
    result = _run(_file(tmp_path, leaky, WEAK), "--threshold", "0.5", "--keep", kept, "--redactions", report)
    quality = {"metadata": leaky["metadata"] | {"quality_score": GOOD_SCORE}}
    assert [json.loads(line) for line in kept.read_text().splitlines()] == [
        leaky | {"task": {"objective": "mail [REDACTED:email]", "x": [1]}} | quality
    ]
    assert "redacted before keeping: 1 email; 1:" in result.stderr
    assert json.loads(report.read_text()) == {
        "id": "kp:trace:0",
        "kind": "email",
        "detail": "e-mail address",
        "pointer": "/task/objective",
    }


def test_parquet_holds_what_json_holds(tmp_path: Path) -> None:
    """Row for row, with null where a refused trace has no value."""
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = _lines(_run(_file(tmp_path, GOOD, BAD), "--json", "--parquet", tmp_path / "out.parquet"))
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    for row, line in zip(rows, lines, strict=True):
        assert {key: row[key] for key in line} == line
    assert rows[1]["complexity"] is None
    assert rows[0]["errors"] is None


@pytest.mark.long
def test_an_output_can_be_resumed_after_any_cut(tmp_path: Path) -> None:
    """Cut anywhere, half a line included, output and kept file end up as if nothing had happened."""
    file = _file(tmp_path, *[_trace(n) if n % 3 else WEAK | {"id": f"kp:trace:{n}"} for n in range(20)])
    out, kept = tmp_path / "out.jsonl", tmp_path / "kept.jsonl"
    options = (file, "--output", out, "--keep", kept, "--threshold", "0.5")
    assert _run(*options).exit_code == 0
    whole, whole_kept = out.read_bytes(), kept.read_bytes()
    for cut in (0, 1, 500, len(whole) - 1, len(whole)):
        out.write_bytes(whole[:cut])
        kept.write_bytes(whole_kept)
        assert _run(*options, "--resume").exit_code == 0
        assert (out.read_bytes(), kept.read_bytes()) == (whole, whole_kept)


def test_a_resumed_output_has_the_same_table_and_report_beside_it(tmp_path: Path) -> None:
    """Parquet and redactions of what was done before the break are written again, and told again."""
    table = pytest.importorskip("pyarrow.parquet")
    leaky = [_trace(n, outcome={"result_summary": f"mail a{n}@example.org", "confidence": 0.8}) for n in range(6)]
    file, out = _file(tmp_path, *leaky), tmp_path / "out.jsonl"
    parquet, report = tmp_path / "out.parquet", tmp_path / "redactions.jsonl"
    outputs = ("--output", out, "--parquet", parquet, "--redactions", report)
    options = (file, *outputs, "--keep", tmp_path / "kept.jsonl", "--threshold", "0")
    told = _run(*options).stderr
    whole, rows, places = out.read_bytes(), table.read_table(parquet).to_pylist(), report.read_bytes()
    out.write_bytes(whole[: len(whole) // 2 - 1])
    assert _run(*options, "--resume").stderr == f"resumed after 2 traces\n{told}"
    assert (out.read_bytes(), table.read_table(parquet).to_pylist(), report.read_bytes()) == (whole, rows, places)
    assert len(places.splitlines()) == 6


def test_standard_input_is_not_resumed(tmp_path: Path) -> None:
    """It cannot be read from its start again."""
    result = _run("-", "--output", tmp_path / "out.jsonl", "--resume", stdin=json.dumps(GOOD))
    assert result.exit_code == 2
    assert "--resume reads its input from the start" in result.stderr


def test_another_output_is_not_resumed(tmp_path: Path) -> None:
    """An output under another profile is refused, and left as it is."""
    file, out = _file(tmp_path, GOOD), tmp_path / "out.jsonl"
    _run(file, "--output", out)
    before = out.read_bytes()
    result = _run(file, "--output", out, "--resume", "--profile", "medical")
    assert result.exit_code == 2
    assert f"line 1 of {out} does not match" in result.stderr
    assert out.read_bytes() == before


WRONG: dict[str, tuple[list[str], str]] = {
    "an unknown profile": (["--profile", "finanse"], "did you mean 'finance'"),
    "an unknown mode": (["--novelty", "corpse"], "did you mean 'corpus'"),
    "an unknown embedder": (["--embedder", "minlm"], "did you mean 'minilm'"),
    "a mode without its embedder": (["--novelty", "leave-one-out"], "needs an embedder"),
    "an index without embedder": (["--index", "i"], "needs an embedder"),
    "keeping without threshold": (["--keep", "k"], "--keep needs --threshold"),
    "a report of nothing": (["--redactions", "r"], "--redactions needs --keep"),
    "resuming standard output": (["--resume"], "--resume needs --output"),
    "a store of nothing": (["--store", "sqlite:///s.db"], "--store needs --from-run"),
    "extending what is extended": (["--extend"], "--extend needs --novelty corpus"),
    "a time to live of nothing": (["--ttl", "60"], "--ttl needs --index"),
    "a time to live that is over": (["--index", "i", "--ttl", "-5"], "--ttl: must be more than 0 seconds, got -5.0"),
    "a threshold out of range": (["--threshold", "75"], "--threshold: must be a number from 0 to 1"),
    "a confidence out of range": (["--confidence", "nan"], "--confidence: must be a number from 0 to 1"),
    "files and a run": (["--from-run", "r"], "give either FILE... or --from-run RUN"),
    "a file that is not there": (["nowhere.json"], "nowhere.json: no such file or folder"),
}


@pytest.mark.parametrize(("options", "problem"), WRONG.values(), ids=WRONG.keys())
def test_wrong_usage_ends_with_two_and_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], problem: str
) -> None:
    """Before anything is read or written."""
    monkeypatch.chdir(tmp_path)
    result = _run(_file(tmp_path, GOOD), *options, embedder=None if "--embedder" in options else "none")
    assert result.exit_code == 2
    assert problem in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["traces.jsonl"]


def test_a_nesting_bomb_is_refused(tmp_path: Path) -> None:
    """In JSON and in JSON lines, beside a trace that is valued."""
    bomb = '{"@type": ' + "[" * 100_000 + "]" * 100_000 + "}"
    (tmp_path / "bomb.json").write_text(bomb)
    (tmp_path / "lines.jsonl").write_text(f"{bomb}\n{json.dumps(GOOD)}\n")
    found = _lines(_run(tmp_path, "--json"))
    assert [one["score"] is None for one in found] == [True, True, False]
    assert {error["problem"] for one in found[:2] for error in one["errors"]} == {"nested deeper than 200 levels"}


@pytest.mark.parametrize("option", ["--output", "--keep", "--parquet"])
def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, option: str) -> None:
    """What cannot be written ends with 2 and the path, not with a traceback. A file stands in place of the folder."""
    (tmp_path / "no").touch()
    result = _run(_file(tmp_path, GOOD), option, tmp_path / "no" / "file", "--threshold", "0")
    assert result.exit_code == 2
    assert str(tmp_path / "no") in result.stderr


def test_an_index_that_could_not_be_saved_is_refused_before_the_work(tmp_path: Path) -> None:
    """Not after the last trace."""
    if weights.missing_libraries() or weights.find_installed() is None:
        pytest.skip("the model is not installed")
    (tmp_path / "no").touch()
    result = _run(_file(tmp_path, GOOD), "--index", tmp_path / "no" / "index", embedder="minilm")
    assert result.exit_code == 2
    assert str(tmp_path / "no") in result.stderr
    assert not result.stdout


@pytest.mark.parametrize("option", ["--output", "--parquet", "--keep"])
def test_an_input_is_never_written_over(tmp_path: Path, option: str) -> None:
    """An output with the path of an input is refused, however it is spelt."""
    file = _file(tmp_path, GOOD)
    result = _run(file, option, tmp_path / "." / "traces.jsonl", "--threshold", "0.5")
    assert result.exit_code == 2
    assert "would be written over" in result.stderr
    assert json.loads(Path(file).read_text()) == GOOD


@pytest.mark.long
def test_a_missing_embedder_is_said_once_and_loudly(tmp_path: Path) -> None:
    """Without the libraries the value is given without embedder, and standard error says how to install them."""
    code = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'tokenizers' else real(name, *a)\n"
        "from fairtrial.cli.value_command import value; value()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, _file(tmp_path, GOOD, GOOD), "--json"], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("no embedder is installed, so every novelty is 0.5") == 1
    assert {json.loads(line)["embedder"] for line in done.stdout.splitlines()} == {"none"}


@pytest.mark.parametrize(("number", "said"), [(1, "1 trace: the text is Korean"), (2, "2 traces: the text is Korean")])
def test_the_table_counts_the_traces_whose_language_the_embedder_does_not_know(
    number: int, said: str, tmp_path: Path
) -> None:
    """One trace is not "1 traces"."""
    steps = [{"step_id": 0, "type": "thought", "content": "주문을 취소하기 전에 배송 상태를 먼저 확인해야 합니다."}]
    korean = [_trace(i, steps=steps, task={"objective": "주문 취소 요청을 처리하기"}) for i in range(number)]
    result = _run(_file(tmp_path, *korean, _trace(9)), embedder="minilm")
    assert f"novelty says less about {said}, and the embedder minilm knows English only" in result.output


@pytest.mark.long
def test_the_real_model_over_processes(tmp_path: Path) -> None:
    """With the model, the same trace again has novelty 0 and names the first; two processes give what one gives."""
    from fairtrial.valuation.embed import installed_embedder

    if installed_embedder() is None:
        pytest.skip("the model is not installed")
    file = _file(tmp_path, *[_trace(n, task={"objective": f"Find leak number {n % 40}"}) for n in range(70)])
    one, two = (_lines(_run(file, "--json", "--jobs", jobs, embedder="minilm")) for jobs in ("1", "2"))
    assert one[50]["novelty"] == 0.0
    assert one[50]["nearest"]["id"] == "kp:trace:10"
    assert [a["score"] for a in one] == pytest.approx([b["score"] for b in two], abs=1e-6)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_what_fails_halfway_leaves_no_half_parquet(tmp_path: Path) -> None:
    """A full disk ends with 2, and neither the Parquet file nor its part is left."""
    pytest.importorskip("pyarrow")
    result = _run(_file(tmp_path, GOOD), "--parquet", tmp_path / "out.parquet", "--output", "/dev/full")
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["traces.jsonl"]


def _stored(folder: Path, replies: list[str]) -> str:
    """A store with one run of three cases, whose reference is `yes`."""
    store = f"sqlite:///{folder}/runs.db"
    traces = [
        Trace((Invocation(Message("q"), (), Message(text)),), session_id=str(n)) for n, text in enumerate(replies)
    ]
    expected = EvalSet(
        "s", tuple(EvalCase(str(n), (Invocation(Message("q"), None, Message("yes")),)) for n in range(3))
    )
    criteria = [Criterion("response_match_score", ResponseMatch(), threshold=1.0)]
    fairtrial.score(traces, expected, criteria, match="session", store=store)
    return store


def test_a_stored_runs_verdicts_are_the_success_of_its_traces(tmp_path: Path) -> None:
    """A passed case counts its confidence whole, a failed one 0.3 times."""
    found = _lines(
        _run("--from-run", "2", "--store", _stored(tmp_path, ["yes", "no", "yes"]), "--json", "--confidence", "0.5")
    )
    assert [one["id"] for one in found] == ["kp:trace:0", "kp:trace:1", "kp:trace:2"]
    assert [one["outcome_confidence"] for one in found] == [0.5, 0.15, 0.5]


def test_confidence_is_asked_for_even_of_a_stored_run(tmp_path: Path) -> None:
    """Verdicts say success, never confidence; without it every trace is refused."""
    result = _run("--from-run", "2", "--store", _stored(tmp_path, ["yes"] * 3), "--json")
    assert result.exit_code == 2
    assert "does not state its confidence;" in result.stderr


def test_reasoning_traces_are_scored_like_any_recording(tmp_path: Path) -> None:
    """`fairtrial score` reads them, and trace_value_v1 is what `fairtrial value` says without embedder."""
    (tmp_path / "config.json").write_text('{"criteria": {"trace_value_v1": 0.5}}')
    store = f"sqlite:///{tmp_path}/runs.db"
    run = fairtrial.score(_file(tmp_path, GOOD, WEAK), criteria=tmp_path / "config.json", store=store)
    values = {
        case.case_id: outcome.score.value
        for case in run.cases
        for outcome in case.outcomes
        if outcome.criterion == "trace_value_v1"
    }
    assert values == {"0": pytest.approx(GOOD_SCORE), "1": pytest.approx(WEAK_SCORE)}


def test_a_pipe_is_not_called_missing(tmp_path: Path) -> None:
    """What a shell gives for <(...) is there, but cannot be read twice."""
    os.mkfifo(tmp_path / "pipe")
    result = _run(str(tmp_path / "pipe"))
    assert result.exit_code == 2
    assert "it cannot be a pipe; give it as -" in result.stderr


COPY = _trace(3) | {"task": {"objective": "Another objective"}}


def test_personal_data_is_removed_from_kept_traces_on_request(tmp_path: Path) -> None:
    """With `--redact people` a telephone number goes, and without it stays."""
    file = _file(tmp_path, _trace(0, task={"objective": "call +82 2-2133-7979"}))
    kept = tmp_path / "kept.jsonl"
    _run(file, "--threshold", "0", "--keep", kept)
    assert "2133" in kept.read_text()
    _run(file, "--threshold", "0", "--keep", kept, "--redact", "people")
    assert json.loads(kept.read_text())["task"] == {"objective": "call [REDACTED:phone]"}


def test_private_traces_are_kept_only_if_the_user_says_so(tmp_path: Path) -> None:
    """By their visibility or their level of privacy; the report names them and the option."""
    private = [
        _trace(3, metadata=GOOD["metadata"] | {"visibility": "private"}),
        _trace(4, metadata=GOOD["metadata"] | {"privacy_level": "private"}),
    ]
    kept = tmp_path / "kept.jsonl"
    file = _file(tmp_path, GOOD, *private)
    result = _run(file, "--threshold", "0.5", "--keep", kept)
    assert len(kept.read_text().splitlines()) == 1
    assert "private, and not kept without --keep-private 2:\n  kp:trace:3\n  kp:trace:4" in result.stderr
    _run(file, "--threshold", "0.5", "--keep", kept, "--keep-private")
    assert len(kept.read_text().splitlines()) == 3


def test_one_crashed_conversation_is_refused_and_not_its_file(tmp_path: Path) -> None:
    """A conversation of tau-bench that crashed has no task. The conversations beside it have their values."""
    task = {"task": {"user_id": "u", "instruction": "i", "actions": [], "outputs": []}}
    messages = [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Cancel my flight."},
        {"role": "assistant", "content": "Done."},
    ]
    whole = {"task_id": 0, "reward": 1.0, "trial": 0, "info": task, "traj": messages}
    crashed = {"task_id": 1, "reward": 0.0, "trial": 0, "info": {"error": "RateLimitError"}, "traj": []}
    file = tmp_path / "tau.json"
    file.write_text(json.dumps([whole, crashed, whole | {"task_id": 2}]))
    for result in (
        _run(file, "--json", "--confidence", "0.5"),
        _run("-", "--json", "--confidence", "0.5", stdin=file.read_text()),
    ):
        assert [row["score"] is None for row in _lines(result)] == [False, True, False]
        assert "the conversation broke off: RateLimitError" in result.stderr


@pytest.mark.shared
@pytest.mark.parametrize("name", ["swe-agent/function_calling_simple.traj", "tau2-bench/mock_two_trials.json"])
def test_real_logs_and_spans_have_values(shared: Path, name: str) -> None:
    """SWE-agent's trajectories, tau2-bench's results and OTLP spans are read as they are."""
    spans = "otel/genai_chat_two_turns.traces.jsonl"
    for file in (shared / "data" / "traces" / name, shared / "data" / "traces" / spans):
        rows = _lines(_run(file, "--json", "--confidence", "0.5", "--success"))
        assert rows
        assert all(0 < row["score"] < 1 for row in rows)


def test_dedup_marks_repetitions_and_keeps_the_earlier_trace(tmp_path: Path) -> None:
    """Each row names the earlier trace and the reason, and the kept traces do not repeat each other."""
    kept = tmp_path / "kept.jsonl"
    run = _run(_file(tmp_path, GOOD, COPY, WEAK), "--dedup", "--json", "--threshold", "0", "--keep", kept)
    assert [row["duplicate"] for row in _lines(run)] == [
        None,
        {"of": "kp:trace:0", "by": "steps", "similarity": 1.0},
        None,
    ]
    assert [json.loads(line)["id"] for line in kept.read_text().splitlines()] == ["kp:trace:0", "kp:trace:1"]
    assert "kp:trace:3: 100% of the steps' text in common with kp:trace:0" in run.stderr
    assert "3 valued" in run.stderr
    assert "1 merged" in run.stderr


def test_dedup_works_with_novelty_of_the_whole_set(tmp_path: Path) -> None:
    """Vectors are compared in every mode: the same text with steps in common is a repetition."""
    if weights.find_installed() is None:
        pytest.skip("needs the weights of the model")
    for mode in ("sequence", "leave-one-out"):
        run = _run(_file(tmp_path, GOOD, COPY, BAD), "--dedup", "--json", "--novelty", mode, embedder="minilm")
        assert [row["duplicate"] and row["duplicate"]["of"] for row in _lines(run)[:2]] == [None, "kp:trace:0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dedup", "--resume", "--output", "out.jsonl"], "--resume cannot continue --dedup"),
        (["--dedup-cosine", "0.9"], "--dedup-cosine needs --dedup"),
        (["--dedup", "--dedup-similarity", "2"], "--dedup-similarity: must be a number above 0, at most 1, got 2.0"),
    ],
)
def test_dedup_options_that_do_not_fit_are_refused(options: list[str], message: str, tmp_path: Path) -> None:
    """The message names the option and its allowed use."""
    run = _run(_file(tmp_path, GOOD), *options)
    assert run.exit_code == 2
    assert message in run.stderr


def test_parquet_has_a_column_for_duplicates(tmp_path: Path) -> None:
    """The column holds null for a trace that repeats nothing."""
    parquet = pytest.importorskip("pyarrow.parquet")
    assert _run(_file(tmp_path, GOOD, COPY), "--dedup", "--parquet", tmp_path / "rows.parquet").exit_code == 0
    rows = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [row["duplicate"] for row in rows] == [None, {"of": "kp:trace:0", "by": "steps", "similarity": 1.0}]

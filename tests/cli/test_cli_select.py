"""The command `fairtrial select`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commands import fairtrial
from fairtrial.valuation import weights
from reasonings import reasoning

SECRET = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA1cD3fG5hJ7kL9n"


def _file(folder: Path, traces: list[dict[str, Any]]) -> Path:
    path = folder / "traces.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(trace) + b"\n" for trace in traces))
    return path


def _rated(number: int, confidence: float, text: str = "look at it") -> dict[str, Any]:
    return reasoning(number, text=text, outcome={"result_summary": "Fixed", "confidence": confidence})


def test_the_best_traces_are_written_first_and_without_secrets(tmp_path: Path) -> None:
    """The output holds whole traces in the order of their selection."""
    traces = [_rated(0, 0.1), _rated(1, 0.9, f"the key is {SECRET}"), _rated(2, 0.5)]
    output = tmp_path / "best.jsonl"
    arguments = ("--budget", "2", "--by", "value", "--embedder", "none", "--output", output)
    run = fairtrial("select", _file(tmp_path, traces), *arguments)
    assert run.code == 0
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["kp:trace:1", "kp:trace:2"]
    assert SECRET not in output.read_text()
    assert "2 of 3 traces selected by value" in run.out
    assert "at least 100.0% of the best possible" in run.out


def test_selection_by_value_says_what_it_does_not_avoid(tmp_path: Path) -> None:
    """Each selected trace shows its verdict and its value, and the failed traces are counted."""
    traces = [_rated(0, 0.9), _rated(2, 0.1, "count the invoices of this month")]
    traces[0]["metadata"] |= {"success": False}
    arguments = ("--budget", "2", "--by", "value", "--embedder", "none")
    path = _file(tmp_path, traces)
    run = fairtrial("select", path, *arguments)
    document = fairtrial("select", path, *arguments, "--json").json
    assert [(trace["id"], trace["passed"]) for trace in document["traces"]] == [
        ("kp:trace:0", False),
        ("kp:trace:2", True),
    ]
    assert [line.split()[:3] for line in run.out.splitlines()[2:4]] == [
        ["0", "failed", f"{document['traces'][0]['score']:.3f}"],
        ["2", "passed", f"{document['traces'][1]['score']:.3f}"],
    ]
    assert "1 of the selected traces failed" in run.out
    assert "--by value does not avoid traces that failed or that resemble each other" in run.out


def test_json_holds_the_selection_with_its_reasons(tmp_path: Path) -> None:
    """Refused documents are named on standard error, and are not candidates."""
    path = _file(tmp_path, [_rated(0, 0.1), {"id": "kp:trace:broken"}, _rated(2, 0.5)])
    run = fairtrial("select", path, "--budget", "1", "--by", "value", "--embedder", "none", "--json")
    assert run.json["count"] == 2
    assert [trace["id"] for trace in run.json["traces"]] == ["kp:trace:2"]
    assert run.json["bound"] == pytest.approx(run.json["objective"])
    assert "traces.jsonl:2" in run.err


def test_coverage_with_the_model(tmp_path: Path) -> None:
    """The table says which traces a selected trace covers."""
    if weights.find_installed() is None:
        pytest.skip("needs the weights of the model")
    texts = ["the database is slow"] * 2 + ["the customer wants a refund"] * 2
    path = _file(tmp_path, [_rated(number, 0.5, text) for number, text in enumerate(texts)])
    run = fairtrial("select", path, "--budget", "2", "--by", "coverage", "--per", "tool", "--jobs", "1")
    assert run.code == 0, run.err
    assert "2 of 4 traces selected by coverage, with quotas per tool" in run.out
    assert "of random selections" in run.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "1", "--embedder", "none"], "by 'verdict' needs an embedder"),
        (["--budget", "1", "--by", "value", "--embedder", "none", "--output", "traces.jsonl"], "would be written over"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written, and the input stays as it was."""
    monkeypatch.chdir(tmp_path)
    data = _file(tmp_path, [_rated(0, 0.1)]).read_bytes()
    run = fairtrial("select", "traces.jsonl", *arguments)
    assert run.code == 2
    assert message in run.err
    assert (tmp_path / "traces.jsonl").read_bytes() == data


def test_files_without_a_trace_and_standard_input_are_refused(tmp_path: Path) -> None:
    """The message says why nothing can be selected."""
    run = fairtrial("select", _file(tmp_path, [{"id": 1}]), "--budget", "1", "--by", "value", "--embedder", "none")
    assert run.code == 2
    assert "nothing to select from" in run.err
    run = fairtrial("select", "-", "--budget", "1", "--by", "value", "--embedder", "none")
    assert run.code == 2
    assert "standard input" in run.err


def test_personal_data_is_removed_on_demand(tmp_path: Path) -> None:
    """With `--redact people`, the written traces hold no telephone number."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    path = _file(tmp_path, [_rated(0, 0.9, "call +82 10-2345-6789 today")])
    common = ("select", path, "--budget", "1", "--by", "value", "--embedder", "none", "--output")
    assert fairtrial(*common, tmp_path / "as-it-is.jsonl").code == 0
    assert "2345-6789" in (tmp_path / "as-it-is.jsonl").read_text()
    assert fairtrial(*common, tmp_path / "clean.jsonl", "--redact", "people").code == 0
    assert "[REDACTED:phone]" in (tmp_path / "clean.jsonl").read_text()


def test_redaction_needs_an_output(tmp_path: Path) -> None:
    """Nothing else of a selection holds the texts of traces."""
    run = fairtrial("select", _file(tmp_path, [_rated(0, 0.9)]), "--budget", "1", "--by", "value", "--redact", "people")
    assert "--redact needs --output" in run.err

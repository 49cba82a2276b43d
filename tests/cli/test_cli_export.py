"""The command `fairtrial export` writes files that `fairtrial score` reads again."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write


@pytest.mark.parametrize("form", ["otlp", "openinference", "messages"])
def test_an_exported_run_has_the_same_verdicts(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every form, matched by the ids of the cases."""
    enter(tmp_path, monkeypatch)
    write("trips.evalset.json", eval_set(case("a"), case("fail_b")))
    write("test_config.json", MATCH)
    assert fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient").code == 1
    run = fairtrial("runs", "--limit", "1", "--quiet").out.strip()
    assert fairtrial("export", run, "--as", form, "-o", "exported.jsonl").code == 0
    again = fairtrial("score", "exported.jsonl", "--against", "trips.evalset.json", "--json", "-")
    verdicts = {own["case_id"]: own["verdict"] for own in again.json["attempts"]}
    assert verdicts == {"a": "passed", "fail_b": "failed"}


@pytest.mark.parametrize("form", ["otlp", "openinference", "messages"])
def test_an_export_goes_without_personal_data_on_request(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets and e-mail addresses, or these and telephone numbers. Without the option, everything stays."""
    enter(tmp_path, monkeypatch)
    text = "password=x9Kq2Lm8Zt4v, jane@example.com, 010-2345-6789"
    write("trips.evalset.json", eval_set(case("a", query=text)))
    write("test_config.json", MATCH)
    assert fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient").code == 0
    run = fairtrial("runs", "--limit", "1", "--quiet").out.strip()
    export = ["export", run, "--as", form]
    assert text in fairtrial(*export).out
    assert "[REDACTED:pair], [REDACTED:email], 010-2345-6789" in fairtrial(*export, "--redact", "secrets").out
    assert "[REDACTED:pair], [REDACTED:email], [REDACTED:phone]" in fairtrial(*export, "--redact", "people").out


def test_an_export_as_messages_says_what_is_not_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error, so that the lines stay what they are. The other forms keep everything."""
    enter(tmp_path, monkeypatch)
    write("trips.evalset.json", eval_set(case("a")))
    write("test_config.json", MATCH)
    assert fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient").code == 0
    run = fairtrial("runs", "--limit", "1", "--quiet").out.strip()
    warning = "warning: chat messages have no place for times"
    assert fairtrial("export", run, "--as", "messages").err.startswith(warning)
    assert fairtrial("export", run, "--as", "otlp").err == ""

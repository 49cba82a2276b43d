"""Does `fairtrial export` write what `fairtrial score` reads again?"""

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
    verdicts = {own["id"]: own["verdict"] for own in again.json["cases"]}
    assert verdicts == {"a": "passed", "fail_b": "failed"}

"""Does `fairtrial receive` end on Ctrl-C with the report, and what does it refuse?"""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, finish, start, write
from span_files import call, otlp


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    write("shop.evalset.json", eval_set(case("greeting", "Hi.", query="Hello?")))
    write("config.json", MATCH)


def test_ctrl_c_scores_what_is_finished_and_keeps_the_rest() -> None:
    """The report is that of `score`, and the exit code too."""
    process = start(
        "receive", "--against", "shop.evalset.json", "--config", "config.json", "--listen", "127.0.0.1:0", "--json", "-"
    )
    assert process.stderr is not None
    url = ""
    while not url:
        found = re.search(r"receiving at (\S+),", process.stderr.readline())
        url = found[1] if found else ""
    spans = otlp(
        call(1, ["Hello?"], "Hi.", **{"session.id": "s-1"}), call(2, ["Hello?"], "Hi.", **{"session.id": "s-2"})
    )
    httpx2.post(f"{url}/v1/traces", json=spans).raise_for_status()
    httpx2.post(f"{url}/v1/conversations/s-1/end").raise_for_status()
    while "passed: greeting" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 0, done.err
    assert json.loads(done.out)["verdict"] == "passed"
    assert "stored 1 trace that the run has not scored yet" in done.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "--config, or an eval set with --against"),
        (("--config", "config.json", "--listen", "0.0.0.0:4318"), "set FAIRTRIAL_RECEIVE_TOKEN"),
        (("--config", "config.json", "--listen", "4318"), "must be HOST:PORT"),
        (("--config", "config.json", "--idle", "soon"), "must be a time such as 60s or 5m"),
        (("--config", "config.json", "--forward", "collector"), "--forward must be a URL"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], problem: str) -> None:
    """Before anything listens."""
    done = fairtrial("receive", *arguments)
    assert done.code == 2
    assert problem in " ".join(done.err.split())


def test_an_address_that_is_in_use_is_refused() -> None:
    """With the reason of the system."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        done = fairtrial("receive", "--config", "config.json", "--listen", place)
    assert done.code == 2
    assert f"cannot listen at {place}: Address already in use" in done.err

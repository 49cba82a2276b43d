"""Records that several threads of a new process decode first, all at once."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx2
import msgspec
import pytest

import fairtrial
from commands import finish
from fairtrial.records.attempt import Recording
from first_decodes import WORK
from span_files import call, otlp
from viewers import FIRST, Site, two_runs

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parents[1] / "support" / "first_decodes.py"
AT_ONCE = 12


@contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Start a new Python that decodes, which is gone after the block."""
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def url_in(stream: IO[str] | None) -> str:
    """Return the first URL that a command prints."""
    assert stream is not None
    return next(found[0] for line in stream if (found := re.search(r"http://[^\s,]+", line)))


def argument_for(work: str, folder: Path) -> str:
    """Return the file or the store that the work needs."""
    if work == "open_run":
        return two_runs(folder)
    if work != "load":
        return ""
    recording = Recording("case", trace=fairtrial.Trace((fairtrial.Invocation(fairtrial.Message("q")),)))
    file = folder / "recordings.jsonl"
    file.write_bytes(msgspec.json.encode(recording))
    return str(file)


@pytest.mark.parametrize("work", WORK)
def test_two_threads_do_the_same_work_first_thing_in_a_process(work: str, tmp_path: Path) -> None:
    """The second one decodes a record while the first is in the middle of its fields."""
    with started(work, argument_for(work, tmp_path)) as process:
        done = finish(process)
    assert (done.code, done.err) == (0, "")


def test_a_viewer_answers_twelve_first_requests_at_once(tmp_path: Path) -> None:
    """A page and a second tab ask for a run, its cases, its rows and three attempts."""
    run = f"/api/runs/{FIRST}"
    paths = [run, f"{run}/cases", f"{run}/rows", *(f"{run}/cases/{place}/1" for place in range(3))]
    with started("view", "--store", two_runs(tmp_path), "--no-open", "--port", "0") as process:
        site = Site(url_in(process.stdout))
        site.sign_in()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            statuses = list(threads.map(lambda path: site.request("GET", path).status, paths * 2))
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 130  # as for every command that Ctrl-C ends
    assert statuses == [200] * AT_ONCE


def test_a_receiver_reads_twelve_first_batches_at_once(tmp_path: Path) -> None:
    """Each batch holds a conversation of its own, and each conversation is scored."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": {"threshold": 5}}}))
    options = ("--config", config, "--listen", "127.0.0.1:0", "--store", f"sqlite:///{tmp_path}/store.db")
    with started("receive", *options, "--json", "-") as process, ThreadPoolExecutor(AT_ONCE) as threads:
        url = url_in(process.stderr)

        def send(number: int) -> int:
            batch = otlp(call(number, ["Hello?"], "Hi.", **{"session.id": f"s-{number}"}))
            httpx2.post(f"{url}/v1/traces", json=batch).raise_for_status()
            return httpx2.post(f"{url}/v1/conversations/s-{number}/end").status_code

        assert set(threads.map(send, range(1, AT_ONCE + 1))) == {202}
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["attempts"]) == AT_ONCE


def test_every_record_is_decoded_behind_the_lock() -> None:
    """No other module makes a decoder for a type, or converts a value to a type."""
    package = Path(fairtrial.__file__).parent
    found = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in package.rglob("*.py")
        if path != package / "records" / "decoding.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and decodes_a_type(node)
    ]
    assert found == []


def decodes_a_type(node: ast.Call) -> bool:
    """Return whether a call asks msgspec for values of a type."""
    name = ast.unparse(node.func)
    if not name.startswith("msgspec."):
        return False
    has_type = len(node.args) > 1 or any(keyword.arg == "type" for keyword in node.keywords)
    made = name.endswith(".Decoder") and bool(node.args or node.keywords)
    return made or name == "msgspec.convert" or (name.endswith(".decode") and has_type)

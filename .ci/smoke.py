"""Does this environment run an evaluation?

With the argument `judged`, it also has a judge that a local server plays. With `pytest`, a user's tests also run, and
pytest has no other plugin.
"""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fairtrial
from fairtrial import *  # noqa: F403  (this is a part of the test)

PYTHON = [sys.executable, "-W", "error::ResourceWarning"]
FAIRTRIAL = [*PYTHON, "-m", "fairtrial"]
PYTEST = [*PYTHON, "-m", "pytest", "--strict-markers", "-W", "error"]
TEST = """
import pytest

@pytest.mark.fairtrial("evals", agent="evals/agent.py:reply")
def test_opening_hours(fairtrial_case):
    fairtrial_case.check()
"""


class JudgeServer(http.server.BaseHTTPRequestHandler):
    """Answers every question of a judge with the first allowed answer, in OpenAI's protocol."""

    def do_POST(self) -> None:
        """Reply to a request for a chat completion."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fields = request["response_format"]["json_schema"]["schema"]["properties"]["answers"]["items"]["properties"]
        entry = {"rationale": "because", "quote": "", "answer": fields["answer"]["enum"][0]}
        text = json.dumps({"answers": [{"id": name, **entry} for name in fields["id"]["enum"]]})
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        self._send(200, {"model": request["model"], "choices": [choice], "usage": usage})

    def do_GET(self) -> None:
        """Say that there is no list of models."""
        self._send(404, {"error": {"message": "no list"}})

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _send(self, code: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def run(folder: Path, *arguments: str, program: Sequence[str] = FAIRTRIAL, **variables: str) -> None:
    """Run a command in a folder. It must succeed."""
    done = subprocess.run(
        [*program, *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"


def main() -> None:
    """Run the demo, a start, and what the arguments name."""
    assert evaluate is fairtrial.evaluate  # noqa: F405
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "demo")
        run(folder, "init")
        agent = ["--agent", "evals/agent.py:reply"]
        run(folder, "run", "evals", *agent)
        if "pytest" in sys.argv:
            assert importlib.util.find_spec("xdist") is None, "many users of pytest have no pytest-xdist"
            (folder / "test_evals.py").write_text(TEST, encoding="utf-8")
            run(folder, program=PYTEST)
        if "judged" in sys.argv:
            (folder / "judged.json").write_text('{"criteria": {"final_response_match_v2": 0.5}}', encoding="utf-8")
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), JudgeServer)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            judged = ["--config", "judged.json", "--judge-model", "openai/gpt-4o-mini"]
            run(folder, "run", "evals", *agent, *judged, OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1")
            server.shutdown()


if __name__ == "__main__":
    main()

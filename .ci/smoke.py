"""Does this environment run an evaluation? With the argument `judged`, also with a judge that a local server plays."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import fairtrial
from fairtrial import *  # noqa: F403  (this is a part of the test)

PROGRAM = [sys.executable, "-W", "error::ResourceWarning", "-m", "fairtrial"]


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


def run(folder: Path, *arguments: str, **variables: str) -> None:
    """Run a command in a folder. It must succeed."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"


def main() -> None:
    """Run the demo and a start, and a judged evaluation if the environment has a judge."""
    assert evaluate is fairtrial.evaluate  # noqa: F405
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "demo")
        run(folder, "init")
        agent = ["--agent", "evals/agent.py:reply"]
        run(folder, "run", "evals", *agent)
        if "judged" in sys.argv:
            (folder / "judged.json").write_text('{"criteria": {"final_response_match_v2": 0.5}}', encoding="utf-8")
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), JudgeServer)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            judged = ["--config", "judged.json", "--judge-model", "openai/gpt-4o-mini"]
            run(folder, "run", "evals", *agent, *judged, OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1")
            server.shutdown()


if __name__ == "__main__":
    main()

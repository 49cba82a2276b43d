"""Thirty attempts of a command-line agent, eight at once, whose model takes 300 ms. The peer has no such runs."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from fairtrial.cli import main as command
from loopback import Loopback, Request, Say

ATTEMPTS, AT_ONCE, SECONDS = 30, 8, 0.3  # half of them with the skill
COMMAND = [
    *("run", "skill", "--agent", "harness:agent.json", "--attempts", "1"),
    *("--concurrency", str(AT_ONCE), "--sandbox", "none", "--quiet"),
]
AGENT = """
import json, sys, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": sys.stdin.read()}]}).encode()
reply = json.load(urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/v1/chat/completions", body)))
print(reply["choices"][0]["message"]["content"])
"""


def main(peer: str) -> None:  # noqa: ARG001
    measuring.heading(f"{ATTEMPTS} attempts of a command-line agent, {AT_ONCE} at once, {SECONDS * 1000:g} ms a reply")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), Loopback(_reply) as server:
        _write_skill(server.url)
        Path("agent.py").write_text(AGENT)
        rounds = [(_run_bare(server.url), _time(COMMAND)) for _ in range(5)]
    bare, ours = (min(times) for times in zip(*rounds, strict=True))
    measuring.line("without a start of the program, the ideal", f"{-(-ATTEMPTS // AT_ONCE) * SECONDS:.2f} s")
    measuring.line("the programs alone", f"{bare:.2f} s")
    measuring.line("fairtrial run, with planning, storing and reporting", f"{ours:.2f} s")
    measuring.target("times the programs alone", ours / bare, "", at_most=1.3)


def _run_bare(url: str) -> float:
    """Return the seconds that the programs take without workspaces, logs and scores."""

    def run(number: int) -> None:
        words = [sys.executable, "-I", "agent.py", url]
        subprocess.run(words, input=f"Say ok {number}".encode(), check=True, capture_output=True)

    begin = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, range(ATTEMPTS)))
    return time.perf_counter() - begin


def _reply(request: Request) -> Say:
    del request
    return Say("ok", delay=SECONDS)


def _write_skill(url: str) -> None:
    Path("skill/evals").mkdir(parents=True)
    Path("skill/SKILL.md").write_text("---\nname: skill\ndescription: Says ok.\n---\nSay ok.\n")
    agent = {"command": [sys.executable, "-I", "{folder}/agent.py", url], "skills": ".claude/skills", "log": "text"}
    checks = [{"type": "contains", "text": "ok"}]
    evals = [{"id": f"c{i}", "prompt": f"Say ok {i}", "checks": checks} for i in range(ATTEMPTS // 2)]
    Path("skill/evals/evals.json").write_text(json.dumps({"skill_name": "skill", "evals": evals}))
    Path("agent.json").write_text(json.dumps(agent))


def _time(words: list[str]) -> float:
    begin = time.perf_counter()
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], contextlib.suppress(SystemExit):
        command(words)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main("")

"""Thirty attempts of a command-line agent, eight at once, whose model takes 300 ms. The peer has no such runs."""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

import measuring

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

from loopback import Loopback, Request, Say

ATTEMPTS, AT_ONCE, SECONDS, ROUNDS = 30, 8, 0.3, 9  # half of the attempts with the skill
OPTIONS = [
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
        rounds = [(_take(partial(_run_bare, server.url)), _take(_run_ours)) for _ in range(ROUNDS)]
    bare, ours = ([side[place] for side in rounds] for place in (0, 1))
    measuring.line("the replies alone", f"{-(-ATTEMPTS // AT_ONCE) * SECONDS:.2f} s")
    for name, own in (("the programs alone", bare), ("fairtrial run, a whole process", ours)):
        wall, cpu = (median(values) for values in zip(*own, strict=True))
        measuring.line(name, f"{wall:.2f} s, {cpu:.2f} CPU s")
    ratios = sorted(side[1][0] / side[0][0] for side in rounds)
    measuring.line("times the programs alone, round by round", ", ".join(f"{ratio:.2f}" for ratio in ratios))
    measuring.target("times the programs alone, the median round", median(ratios), "", at_most=1.3)


def _take(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time of some work, and the CPU time of the processes that it starts."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run_ours() -> None:
    subprocess.run([sys.executable, "-m", "fairtrial", *OPTIONS], check=True, capture_output=True)


def _run_bare(url: str) -> None:
    """Run the programs without workspaces, logs and scores."""

    def run(number: int) -> None:
        words = [sys.executable, "-I", "agent.py", url]
        subprocess.run(words, input=f"Say ok {number}".encode(), check=True, capture_output=True)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, range(ATTEMPTS)))


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


if __name__ == "__main__":
    main("")

"""How long do 200 conversations at 32 at once take beside `adk eval` and Inspect, with the same mock model?

    python benchmarks/many_conversations.py --adk PYTHON --inspect PYTHON

Each conversation is a model call, a tool call, and another model call. A model call takes a tenth of a second. Each
side compares the reply and the calls with a reference, and writes what it usually writes. The sides run in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measuring

CASES, AT_ONCE, LATENCY = 200, 32, 0.1
_SOURCE = Path(__file__).parents[1] / "src"


def main() -> None:
    """Measure the sides in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adk", required=True, help="the Python of an environment with google-adk and fairtrial")
    parser.add_argument("--inspect", required=True, help="the Python of an environment with inspect-ai")
    parser.add_argument("--times", type=int, default=5, help="turns of each side")
    arguments = parser.parse_args()
    ideal = -(-CASES // AT_ONCE) * 2 * LATENCY
    measuring.heading(f"{CASES} conversations, {AT_ONCE} at once; the model alone takes {ideal:.1f} s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_work(folder)
        sides = make_sides(folder, arguments.adk, arguments.inspect)
        taken: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
        for _ in range(arguments.times):
            for side, run in sides.items():
                shutil.rmtree(folder / ".fairtrial", ignore_errors=True)
                start = time.perf_counter()
                usage = run()
                taken[side].append((time.perf_counter() - start, usage.cpu))
        for side, pairs in taken.items():
            walls, cpus = zip(*pairs, strict=True)
            print(
                f"  {side:<44} wall {statistics.median(walls):6.2f} s ({min(walls):.2f} to {max(walls):.2f}), "
                f"CPU {statistics.median(cpus):6.2f} s ({min(cpus):.2f} to {max(cpus):.2f})",
                flush=True,
            )
    print(f"  load {os.getloadavg()[0]:.1f}")


def write_work(folder: Path) -> None:
    """Write the eval set, its criteria and the agents."""
    (folder / "many.evalset.json").write_text(
        json.dumps({"eval_set_id": "many", "eval_cases": [_case(number) for number in range(CASES)]}), encoding="utf-8"
    )
    criteria = {"response_match_score": 0.99, "tool_trajectory_avg_score": 1.0}
    (folder / "test_config.json").write_text(json.dumps({"criteria": criteria}), encoding="utf-8")
    shutil.copytree(measuring.SIDES / "many_shop", folder / "many_shop")
    shutil.copy(measuring.SIDES / "many_function.py", folder)


def _case(number: int) -> dict[str, Any]:
    order = f"A-{number}"
    return {
        "eval_id": f"c{number}",
        "conversation": [
            {
                "invocation_id": "i1",
                "user_content": {"role": "user", "parts": [{"text": f"Where is my order {order}"}]},
                "final_response": {"role": "model", "parts": [{"text": f"The order is shipped {order}."}]},
                "intermediate_data": {"tool_uses": [{"name": "get_order", "args": {"order_id": order}}]},
            }
        ],
        "session_input": {"app_name": "many_shop", "user_id": "u"},
    }


def make_sides(folder: Path, adk: str, inspect: str) -> dict[str, Callable[[], measuring.Taken]]:
    """Return the functions that run a side, by its name. Each ends the bench if not all conversations pass."""
    environment = {"PYTHONPATH": str(_SOURCE)}
    own = ["-m", "fairtrial", "run", "many.evalset.json", "--concurrency", str(AT_ONCE), "--quiet", "--agent"]

    def fairtrial(python: str, agent: str) -> measuring.Taken:
        taken = measuring.run([python, *own, agent], cwd=folder, environment=environment)
        return _checked(taken, re.search(r"(\d+) passed", taken.output))

    def adk_eval() -> measuring.Taken:
        shutil.rmtree(folder / "many_shop" / ".adk", ignore_errors=True)
        command = [Path(adk).with_name("adk"), "eval", "many_shop", "many.evalset.json"]
        taken = measuring.run([*command, "--config_file_path", "test_config.json"], cwd=folder)
        return _checked(taken, re.search(r"Tests passed: (\d+)", taken.output))

    def script(python: str, name: str, *words: str) -> measuring.Taken:
        taken = measuring.run([python, measuring.SIDES / name, *words], cwd=folder)
        return _checked(taken, re.search(r'"passed": (\d+)', taken.output))

    return {
        "fairtrial run, agent of google-adk": lambda: fairtrial(adk, "adk:many_shop"),
        "adk eval (4 at once, no option)": adk_eval,
        "google-adk's service, 32 at once": lambda: script(adk, "many_adk.py", "many.evalset.json", str(AT_ONCE)),
        "fairtrial run, a function": lambda: fairtrial(measuring.OURS, "many_function:reply"),
        "Inspect, 32 at once": lambda: script(inspect, "many_inspect.py", str(CASES), str(AT_ONCE)),
    }


def _checked(taken: measuring.Taken, found: re.Match[str] | None) -> measuring.Taken:
    """Return the usage of a side in which all conversations passed."""
    assert found is not None and int(found[1]) == CASES, taken.output[-2000:]  # noqa: PT018
    return taken


if __name__ == "__main__":
    main()

"""How much CPU does a small evaluation take, from the shell's prompt to the verdict?"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import measuring

_TIMES = 3
_EXAMPLES = Path(__file__).parents[1] / "examples"
_NOT_PASSED = (0, 1)  # one case of the example fails, on both sides


def main(peer: str) -> None:
    measuring.heading("a whole evaluation: examples/shop.evalset.json (3 cases, 4 invocations), instant agent")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("shop.evalset.json", "test_config.json", "agent.py"):
            shutil.copy(_EXAMPLES / file, folder / file.replace("agent", "shop_agent"))
        shutil.copytree(measuring.SIDES / "adk_shop", folder / "shop")
        adk = Path(peer).with_name("adk")
        options = ["--config_file_path", "test_config.json"]
        theirs = [adk, "eval", "shop", "shop.evalset.json", *options]
        measuring.run(theirs, cwd=folder, codes=_NOT_PASSED)
        recorded = next(folder.glob("shop/.adk/eval_history/*.evalset_result.json")).rename(folder / "recorded.json")
        _compare("fairtrial score", ["score", recorded], theirs, folder)
        _compare("fairtrial run", ["run", "shop.evalset.json", "--agent", "shop_agent:reply"], theirs, folder)


def _compare(what: str, arguments: list[str | Path], theirs: list[str | Path], folder: Path) -> None:
    ours = [Path(measuring.OURS).with_name("fairtrial"), *arguments, "--config", "test_config.json"]

    def fresh() -> float:
        shutil.rmtree(folder / ".fairtrial", ignore_errors=True)
        return measuring.run(ours, cwd=folder, codes=_NOT_PASSED).cpu

    def evaluated() -> float:
        return measuring.run(theirs, cwd=folder, codes=_NOT_PASSED).cpu

    fairtrial, adk = measuring.in_turn(fresh, evaluated, times=_TIMES)
    measuring.line(f"CPU of {what}, adk eval", f"{fairtrial:.2f} s", f"{adk:.2f} s")
    measuring.target(f"CPU, adk eval / {what} (default store)", adk / fairtrial, "times", at_least=8)

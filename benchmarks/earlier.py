"""Is this tree at least as fast as an earlier commit? Prints the CPU of both for the same work.

    git worktree add ../earlier COMMIT
    .venv/bin/python benchmarks/earlier.py ../earlier [--times 7] [load score ...]

The earlier tree runs with its own `src` and its own scripts of `benchmarks/sides`, but for ROUGE and for reading.
Both sides use this environment; a library that only the earlier tree needs is added by PYTHONPATH.
Both run in turn, and the printed ratio is the median of the ratios of the turns. CPU is user and system time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import string
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import measuring

_HERE = Path(__file__).parents[1]
_NOT_PASSED = (0, 1)  # a case of the example fails
_SAMPLES = _HERE / "src/fairtrial/formats/samples"
_DIALECTS = ("openai", "responses", "anthropic", "bedrock", "gemini", "langchain", "pydantic-ai", "vercel-ui")
_WORDS = re.compile(r"\b(?:please|left|depot|morning|thank|quick|help|welcome|nice|day)\b", re.IGNORECASE)
"""The words of the dialogue of the samples that no name and no format needs."""
_MOST_OF_READING = 1.1
"""Reading accounts for every value, which may take so many times the CPU of a version that did not."""


@dataclass(frozen=True)
class Tree:
    """A checkout of the project. Its package may have had another name."""

    folder: Path

    @property
    def command(self) -> list[str]:
        """The command of the tree, as its entry point runs it."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))["project"]
        module, function = next(iter(project["scripts"].values())).split(":")
        return [measuring.OURS, "-c", f"from {module} import {function}; {function}()"]

    def cli(self, *arguments: str | Path) -> Callable[[Path], float]:
        """Return the CPU of a whole process that runs the command in an empty folder."""
        return lambda folder: self._run([*self.command, *arguments], folder).cpu

    def side(self, name: str, *arguments: str | Path) -> Callable[[Path], float]:
        """Return the CPU that a script of `benchmarks/sides` measured for itself, without imports."""
        (script,) = {*self.folder.glob(f"benchmarks/sides/{name}_*.py")} - {
            *self.folder.glob("benchmarks/sides/*_adk.py")
        }

        return self._script(script, *arguments)

    def ours(self, name: str, *arguments: str | Path) -> Callable[[Path], float]:
        """Return the CPU that a script of this tree measures with the package of the tree."""
        return self._script(measuring.SIDES / name, *arguments)

    def _script(self, script: Path, *arguments: str | Path) -> Callable[[Path], float]:
        def cpu(folder: Path) -> float:
            measured = self._run([measuring.OURS, script, *arguments], folder).said
            return float(measured["cpu"] if "cpu" in measured else min(measured["passes"]))

        return cpu

    def _run(self, command: Sequence[str | Path], folder: Path) -> measuring.Taken:
        environment = {"PYTHONPATH": os.pathsep.join([str(self.folder / "src"), os.environ.get("PYTHONPATH", "")])}
        return measuring.run(command, cwd=folder, environment=environment, codes=_NOT_PASSED)


def _works(material: Path) -> dict[str, Callable[[Tree], Callable[[Path], float]]]:
    """Return the work of each bench: a tree's measurement in an empty folder."""
    cases, example = material / "cases.evalset.json", material / "shop.evalset.json"
    config = ("--config", material / "test_config.json")
    agent = ("--agent", "shop_agent:reply")
    return {
        "startup": lambda tree: tree.cli("--help"),
        "example_score": lambda tree: tree.cli("score", example, "--against", example, *config),
        "example_run": lambda tree: tree.cli("run", example, *agent, *config),
        "rouge": lambda tree: tree.ours("rouge_fairtrial.py", "1000", "300", "new"),
        "trajectory": lambda tree: tree.side("trajectory", "100", "EXACT", "0", "flat"),
        "trajectory_any_order": lambda tree: tree.side("trajectory", "100", "ANY_ORDER", "0", "flat"),
        "trajectory_differing": lambda tree: tree.side("trajectory", "100", "EXACT", "10", "flat"),
        "trajectory_large": lambda tree: tree.side("trajectory", "2000", "EXACT", "0", "flat"),
        "load": lambda tree: tree.side("load", cases),
        "score": lambda tree: tree.cli("score", cases, "--against", cases),
        "score_unstored": lambda tree: tree.cli("score", cases, "--against", cases, "--store", "none"),
        **{f"read_{name}": _reading(material / f"{name}.jsonl") for name in _DIALECTS},
    }


def _reading(file: Path) -> Callable[[Tree], Callable[[Path], float]]:
    return lambda tree: tree.ours("conversations_read.py", file)


def write_conversations(folder: Path, count: int) -> None:
    """Write a file for each dialect: the dialogue of its sample as so many conversations, each in words of its own."""
    choice = random.Random(0)

    def make_word(_: re.Match[str]) -> str:
        return "".join(choice.choices(string.ascii_lowercase, k=choice.randint(3, 9)))

    for name in _DIALECTS:
        sample = json.loads((_SAMPLES / f"{name}.json").read_text("utf-8"))
        request = sample if isinstance(sample, dict) else {"messages": sample}
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for number in range(count):
                print(_WORDS.sub(make_word, json.dumps({**request, "id": str(number)})), file=file)


def main() -> None:
    """Measure the named benches, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("earlier", type=Path, help="the folder of a checkout of an earlier commit")
    parser.add_argument("bench", nargs="*", help="only these")
    parser.add_argument("--times", type=int, default=7, help="turns of each bench")
    parser.add_argument("--cases", type=int, default=10_000, help="cases that are loaded and scored")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every process of both sides compiles its imports
    with tempfile.TemporaryDirectory() as name:
        material = Path(name)
        for file in ("shop.evalset.json", "test_config.json", "agent.py"):
            shutil.copy(_HERE / "examples" / file, material / file.replace("agent", "shop_agent"))
        writing = [measuring.OURS, measuring.SIDES / "write_cases.py", material / "cases.evalset.json"]
        measuring.run([*writing, str(arguments.cases)])
        measuring.heading(f"CPU of this tree / CPU of {arguments.earlier}, {arguments.times} turns")
        write_conversations(material, arguments.cases)
        trees = Tree(_HERE), Tree(arguments.earlier.absolute())
        for bench, work in _works(material).items():
            if bench in arguments.bench or not arguments.bench:
                _compare(bench, work(trees[0]), work(trees[1]), material, arguments.times)


def _compare(
    bench: str, now: Callable[[Path], float], earlier: Callable[[Path], float], material: Path, times: int
) -> None:
    pairs = []
    for turn in range(times):
        # Whoever runs second may find warm caches, so that the sides take turns in being first.
        first, second = (now, earlier) if turn % 2 else (earlier, now)
        one, other = _in_new_folder(first, material), _in_new_folder(second, material)
        pairs.append((one, other) if turn % 2 else (other, one))
    ratios = sorted(cpu / before for cpu, before in pairs)
    cpu, before = (statistics.median(side) for side in zip(*pairs, strict=True))
    measuring.line(bench, f"{cpu:.3f} s, earlier {before:.3f} s, {ratios[0]:.2f} to {ratios[-1]:.2f}")
    measuring.target(bench, statistics.median(ratios), "", at_most=_MOST_OF_READING if bench.startswith("read_") else 1)


def _in_new_folder(side: Callable[[Path], float], material: Path) -> float:
    with tempfile.TemporaryDirectory(dir=material) as folder:
        shutil.copy(material / "shop_agent.py", folder)  # earlier commits import agents from this folder only
        return side(Path(folder))


if __name__ == "__main__":
    main()

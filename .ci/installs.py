"""Can every extra be installed beside every other, and beside the frameworks that users have? `make test-installs`.

1. Every pair of extras, and each extra beside each framework in its newest version, must have a solution. A solution of
   many packages at once is a solution of each pair among them, so that pairs are tried only if the whole has none.
2. Each framework is installed with the extras that need no large library, and one smoke test runs there. So it does
   without extras beside pytest alone, on every Python of this machine, and with the lowest versions that
   pyproject.toml allows.

An environment is kept under .venv-installs, and named by the hash of its packages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name != "all"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
FRAMEWORKS = {
    "google-adk": ["google-adk[eval]"],
    "langchain": ["langchain", "langgraph"],
    "crewai": ["crewai"],
    "openai-agents": ["openai-agents"],
}
EXCLUDED = {"crewai": {"adk", "agents-adk"}, "openai-agents": {"adk", "agents-crewai"}}
"""Frameworks that exclude each other.

google-adk needs an older OpenTelemetry than crewai. Both need openai below 3, and openai-agents needs openai 3.
"""
INSTALLED_EXTRAS = ["judge", "anthropic", "bedrock", "openai", "parquet", "words", "http"]
ENVIRONMENTS = ROOT / ".venv-installs"
UV = str(Path(sys.executable).parent / "uv")


class NoSolutionError(Exception):
    """Some packages exclude each other. The message is the resolver's."""


def requirements(extras: Iterable[str]) -> list[str]:
    """Return the requirements of the base and of some extras."""
    groups = PROJECT["optional-dependencies"]
    return [*PROJECT["dependencies"], *(line for extra in extras for line in _expanded(groups[extra]))]


def _expanded(lines: Sequence[str]) -> Iterable[str]:
    """Replace an extra that consists of other extras of this project by their requirements."""
    for line in lines:
        if line.startswith("fairtrial["):
            yield from requirements(line.removeprefix("fairtrial[").removesuffix("]").split(","))
        else:
            yield line


def resolve(lines: Iterable[str], python: str = PYTHONS[0], *options: str) -> str:
    """Return pinned packages. Raises NoSolutionError."""
    command = [UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", python]
    done = subprocess.run(
        [*command, *options, "-"], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoSolutionError(done.stderr.strip())
    return done.stdout


def check_solutions() -> list[str]:
    """Return the combinations without a solution."""
    problems = list(_conflicting_pairs())
    for framework, packages in FRAMEWORKS.items():
        extras = [extra for extra in EXTRAS if extra not in EXCLUDED.get(framework, ())]
        names = {package.partition("[")[0] for package in packages}
        newest = [line for line in resolve(packages).splitlines() if line.partition("==")[0] in names]
        problems += _conflicts(" ".join(newest), extras, [*packages, *newest])
    for python in PYTHONS[1:]:
        problems += _conflicts(f"Python {python}", EXTRAS, python=python)
    return problems


def _conflicting_pairs() -> Iterable[str]:
    """Yield the pairs of extras without a solution."""
    together: list[str] = []
    apart: list[str] = []
    if _has_solution(EXTRAS):
        print(f"{len(EXTRAS)} extras together have a solution", flush=True)
        return
    for extra in EXTRAS:
        (together if _has_solution([*together, extra]) else apart).append(extra)
    for extra in apart:
        others = [other for other in EXTRAS if other not in apart or other > extra]
        yield from (f"{extra} and {other}: no solution" for other in others if not _has_solution([extra, other]))


def _conflicts(name: str, extras: Sequence[str], beside: Sequence[str] = (), python: str = PYTHONS[0]) -> Iterable[str]:
    """Yield the extras that have no solution beside some packages, or on a Python."""
    if _has_solution(extras, beside, python):
        print(f"{name}: {len(extras)} extras together have a solution", flush=True)
        return
    print(f"{name}: {len(extras)} extras together have no solution, each is tried", flush=True)
    for extra in extras:
        try:
            resolve([*requirements([extra]), *beside], python)
        except NoSolutionError as error:
            yield f"{name} and {extra}: no solution\n{error}"


def _has_solution(extras: Iterable[str], beside: Sequence[str] = (), python: str = PYTHONS[0]) -> bool:
    try:
        resolve([*requirements(extras), *beside], python)
    except NoSolutionError:
        return False
    return True


def check_environment(name: str, pinned: str, wheel: Path, interpreter: str, test: Sequence[str]) -> list[str]:
    """Install pinned packages and the wheel, unless an earlier run did, and run a test there."""
    key = hashlib.sha256(f"{interpreter}\n{pinned}".encode()).hexdigest()[:16]
    folder = ENVIRONMENTS / f"{name}-{key}"
    python = str(folder / "bin" / "python")
    if not (folder / ".ready").exists():
        for old in ENVIRONMENTS.glob(f"{name}-*"):
            shutil.rmtree(old)
        _run(UV, "venv", "--quiet", "--python", interpreter, str(folder))
        lock = folder / "packages.txt"
        lock.write_text(pinned, encoding="utf-8")
        _run(UV, "pip", "install", "--quiet", "--no-deps", "--python", python, "-r", str(lock))
        (folder / ".ready").touch()
    _run(UV, "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", python, str(wheel))
    done = subprocess.run([python, *test], cwd=folder, capture_output=True, text=True, check=False)
    print(f"{'ok' if done.returncode == 0 else 'FAILED'}  {name}", flush=True)
    return [] if done.returncode == 0 else [f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"]


def check_environments() -> list[str]:
    """Run the smoke test beside each framework, on each Python, and with the lowest versions."""
    wheel_folder = ENVIRONMENTS / "wheel"
    shutil.rmtree(wheel_folder, ignore_errors=True)
    _run(UV, "build", "--quiet", "--wheel", "--out-dir", str(wheel_folder), str(ROOT))
    (wheel,) = wheel_folder.glob("*.whl")
    smoke = [str(ROOT / ".ci" / "smoke.py")]
    problems = []
    for name, packages in FRAMEWORKS.items():
        pinned = resolve([*requirements(INSTALLED_EXTRAS), *packages])
        problems += check_environment(name, pinned, wheel, sys.executable, [*smoke, "judged"])
    for python in PYTHONS:
        interpreter = _interpreter(python)
        if interpreter is None:
            print(f"no Python {python} on this machine: its packages have a solution, and no test runs", flush=True)
            continue
        pinned = resolve([*requirements([]), "pytest"], python)
        problems += check_environment(f"base-{python}", pinned, wheel, interpreter, [*smoke, "pytest"])
    lowest = resolve(requirements(INSTALLED_EXTRAS), PYTHONS[0], "--resolution", "lowest-direct")
    problems += check_environment("lowest", lowest, wheel, sys.executable, [*smoke, "judged"])
    return problems


def _interpreter(version: str) -> str | None:
    """Return an interpreter that runs, or None. Those of pyenv are found too if they are not active."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for installed in sorted((root / "versions").glob(f"{version}.*/bin/python")):
        return str(installed)
    command = [UV, "python", "find", "--no-python-downloads", version]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


def main() -> int:
    """Check everything, and print what failed."""
    if "PIP_INDEX_URL" in os.environ:  # a mirror that pip was told of
        os.environ.setdefault("UV_DEFAULT_INDEX", os.environ["PIP_INDEX_URL"])
    ENVIRONMENTS.mkdir(exist_ok=True)
    problems = [*check_solutions(), *check_environments()]
    print("\n\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

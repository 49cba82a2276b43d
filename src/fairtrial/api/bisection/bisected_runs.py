"""Runs the command of the user at a commit, and reads which cases passed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fairtrial.analysis.measured_run import CASES, MeasuredRun
from fairtrial.api.bisection.commits import git_environment
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.errors import UsageError
from fairtrial.stats.change_point import Outcomes
from fairtrial.text.display import shorten, visible_line
from fairtrial.text.redaction.redact import without_secrets

COMMAND = "command"
"""The only case of a command that is not `fairtrial run`: its exit code."""
_PASSED, _SKIP, _ABORT = 0, 125, 128
"""The exit codes of `git bisect run`. From 128 on, the command did not end by itself."""
_UNTESTABLE = (2, 4)
"""The exit codes of `fairtrial run` that say nothing about the agent."""
_OWN_OPTIONS = ("--only", "--attempts", "--store", "--resume", "--failed-from", "--split", "--until-decided")
_TAIL = 4000
_LONGEST = 200


@dataclass(frozen=True)
class Evaluated:
    """The outcomes of cases at a commit. If it cannot be tested, there are none, and `problem` says why.

    `failure` is how a command that failed ended, with the last line that it wrote.
    """

    outcomes: dict[str, Outcomes]
    problem: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Evaluation:
    """The command that evaluates the agent at a commit, and the command that prepares the work tree before it."""

    words: tuple[str, ...]
    setup: tuple[str, ...]
    store: str

    @property
    def knows_cases(self) -> bool:
        """Whether the command is `fairtrial run`, so that chosen cases can be run."""
        if Path(self.words[0]).name == "fairtrial":
            return self.words[1:2] == ("run",)
        module = next((place for place, word in enumerate(self.words) if place and not word.startswith("-P")), 0)
        return self.words[module : module + 3] == ("-m", "fairtrial", "run")

    def prepare(self, folder: Path) -> str:
        """Prepare the work tree, and return the problem, or an empty text."""
        if not self.setup:
            return ""
        code, message = _execute(self.setup, folder)
        return "" if code == 0 else f"the setup ended with exit code {code}: {message}"

    def run(self, folder: Path, cases: Sequence[str], attempts: int) -> Evaluated:
        """Run the command once. Without `cases`, all cases run. Raises UsageError if the command cannot start.

        `fairtrial run` makes all attempts at once, and another command one.
        """
        if not self.knows_cases:
            return self._run_command(folder)
        earlier_ids = self._run_ids()
        only = [word for case in cases for word in ("--only", read_case_id(case))]
        code, message = _execute((*self.words, "--store", self.store, "--attempts", str(attempts), *only), folder)
        new_ids = [run_id for run_id in self._run_ids() if run_id not in earlier_ids]
        if code in _UNTESTABLE or not new_ids:
            return Evaluated({}, f"the command ended with exit code {code}: {message}")
        with closing(open_store(self.store, create=False)) as store:
            outcomes = read_outcomes(measure_stored(store, store.run(new_ids[0])))
        wanted_cases = set(cases)
        outcomes = {case: counts for case, counts in outcomes.items() if not wanted_cases or case in wanted_cases}
        return Evaluated(outcomes, "" if outcomes else "no case has a verdict")

    def _run_command(self, folder: Path) -> Evaluated:
        code, message = _execute(self.words, folder)
        if code >= _ABORT or code < 0:
            raise UsageError(f"the command ended with exit code {code}: {message}")
        if code == _SKIP:
            return Evaluated({}, "the command ended with exit code 125")
        if code == _PASSED:
            return Evaluated({COMMAND: Outcomes(1, 0)})
        return Evaluated({COMMAND: Outcomes(0, 1)}, failure=f"the command ended with exit code {code}: {message}")

    def _run_ids(self) -> list[str]:
        with closing(open_store(self.store)) as store:
            return [info.id for info in store.runs()]


def read_command(text: str, setup: str, store: str) -> Evaluation:
    """Return the commands of two texts, divided into words as a shell does. Raises UsageError.

    If no folder of PATH has `fairtrial`, for example in an environment that is not active, it is the running one. A
    module of the same name in the work tree is not taken for it.
    """
    try:
        words, setup_words = shlex.split(text), shlex.split(setup)
    except ValueError as error:
        raise UsageError(f"the command cannot be divided into words: {error}") from None
    if not words:
        raise UsageError("the command is empty", code="missing-option")
    if words[0] == "fairtrial" and shutil.which("fairtrial") is None:
        words[:1] = [sys.executable, "-P", "-m", "fairtrial"]
    evaluation = Evaluation(tuple(words), tuple(setup_words), store)
    if evaluation.knows_cases:
        for word in words:
            if word.split("=")[0] in _OWN_OPTIONS:
                raise UsageError(f"the command has {word.split('=')[0]}, which the search for a commit sets itself")
    return evaluation


def read_outcomes(run: MeasuredRun) -> dict[str, Outcomes]:
    """Return how many attempts at each case of a run passed and failed."""
    column, outcomes = run.columns[CASES], dict[str, Outcomes]()
    for place, key in enumerate(run.keys):
        if (sample := column.sample(place)) is not None:
            failed = sample.attempts - sample.passed
            outcomes[f"{key.eval_set}\t{key.case}\t{key.digest}"] = Outcomes(sample.passed, failed)
    return outcomes


def read_case_id(case: str) -> str:
    """Return the id of a case for people and for options."""
    return case.split("\t")[1] if "\t" in case else case


def _execute(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a command, and return its exit code and the last line that it wrote, without secrets."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.run(  # noqa: S603  (the command of the user)
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=git_environment(),
                check=False,
            )
        except OSError as error:
            raise UsageError(f"{words[0]} does not start: {error.strerror}", code="no-such-file") from None
        return process.returncode, _read_last_line(output)


def _read_last_line(output: IO[bytes]) -> str:
    output.seek(0, os.SEEK_END)
    output.seek(max(0, output.tell() - _TAIL))
    lines = output.read().decode(errors="replace").strip().splitlines()
    return shorten(visible_line(without_secrets(lines[-1])), _LONGEST) if lines else "no output"

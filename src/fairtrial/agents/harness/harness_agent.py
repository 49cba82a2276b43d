"""Sessions with a command-line agent. Each session has a workspace, a home and processes of its own."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from fairtrial.agents.harness.git_folders import read_git_state, start_repository
from fairtrial.agents.harness.harness_logs import HarnessLog, read_log
from fairtrial.agents.harness.harness_table import COST, MODEL, PROMPT, Harness, find_harness
from fairtrial.agents.harness.sandbox import (
    choose_sandbox,
    make_environment,
    removal_of_container,
    why_not_started,
    wrap,
)
from fairtrial.agents.harness.workspace_checks import decide_checks, end_group
from fairtrial.agents.harness.workspaces import (
    Snapshot,
    compare,
    find_pictures,
    place_files,
    remove_folder,
    take_snapshot,
)
from fairtrial.agents.tracing.span_collection import child_variables
from fairtrial.errors import AgentError, UsageError
from fairtrial.formats.skills.skill_md import FILE, with_description
from fairtrial.llm.model import UnsentError
from fairtrial.records.reply import Reply
from fairtrial.records.state_delta import FileChange, StateDelta
from fairtrial.records.trace import About, AgentDetails, Message
from fairtrial.records.workspace import Workspace
from fairtrial.system.child_processes import exit_code
from fairtrial.text.display import shorten
from fairtrial.text.redaction.redact import without_secrets

if TYPE_CHECKING:
    from fairtrial.llm.budget import Budget
    from fairtrial.protocols import Environment, Item
    from fairtrial.records.case import EvalCase

_LARGEST_OUTPUT = 64 * 2**20
_LARGEST_REPLY = 4 * 2**20
"""The largest output of a program whose output is its reply."""
_KEPT_OUTPUT = 2**20
_KEPT_ERRORS = 2000
_LONGEST_CAUSE = 300
_NO_REPLY = "no reply within"
_REMOVAL_SECONDS = 60.0
DEFAULT_SECONDS = 600.0


class HarnessOutageError(ConnectionError):
    """The program, or the provider that it needs, did not do its work. The agent is not to blame."""


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A version of a skill to install: its folder without its eval files, prepared for copying, and its digest.

    `description` replaces the description in its header. Without a folder, nothing is installed. `root` is the folder
    that the paths of its own cases begin at, if it stands beside another skill.
    """

    folder: str = field(default="", repr=False)
    sha256: str = ""
    name: str = ""
    description: str = ""
    root: str = field(default="", repr=False)


def agent_at(target: str, *, on_path: bool = True) -> HarnessAgent:
    """Return the agent of `harness:NAME`, `harness:NAME#MODEL` or `harness:FILE`. Raises UsageError.

    With `on_path`, its program has to be on PATH, and not in an image.
    """
    name, _, model = target.partition(":")[2].partition("#")
    return HarnessAgent(find_harness(name, on_path=on_path), model)


@dataclass(frozen=True, slots=True)
class HarnessAgent:
    """A command-line agent. A case gets a fresh folder with its files and with the version of the skill it asks for.

    `root` is the folder that the paths of the cases begin at. `skills` are the versions by the variant of a case, and
    `beside` the skills that compete with them, which every attempt gets.
    """

    harness: Harness
    model: str = ""
    root: str = field(default="", repr=False)
    skills: tuple[tuple[str, SkillSource], ...] = ()
    beside: tuple[SkillSource, ...] = ()
    credentials: tuple[str, ...] = field(default=(), repr=False)
    sandbox: str = field(default_factory=lambda: choose_sandbox(None))
    seconds: float = DEFAULT_SECONDS
    program: str = ""
    budget: Budget | None = field(default=None, repr=False, compare=False)
    refuses_environment: ClassVar[str] = "a command-line agent runs its tools itself"

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[HarnessSession]:  # noqa: ARG002
        """Make the workspace. It is removed at the end, with everything that the agent left outside of it."""
        folder = Path(tempfile.mkdtemp(prefix="fairtrial-"))
        session = HarnessSession(self, case, folder)
        try:
            session.prepare()
            yield session
        finally:
            await session.end()
            remove_folder(folder)


class HarnessSession:
    """One attempt: one message, and what the agent did."""

    def __init__(self, agent: HarnessAgent, case: EvalCase, folder: Path) -> None:
        self.about: About | None = None
        self.hides_calls = agent.harness.log == "text"
        self._agent = agent
        self._case = case
        self._workspace, self._home = folder / "workspace", folder / "home"
        self._environment: dict[str, str] = {}
        self._before: Snapshot = {}
        self._repository, self._commit = self._workspace, ""
        self._process: Process | None = None

    def prepare(self) -> None:
        """Copy the files of the case and the skill. Raises UsageError if that is not possible."""
        own = self._case.workspace or Workspace()
        self._workspace.mkdir(mode=0o700)
        self._home.mkdir(mode=0o700)
        beside = self._agent.beside
        root = next((source.root for source in beside if source.name == own.skill), self._agent.root)
        place_files(own.files, Path(root), self._workspace)
        for source in (dict(self._agent.skills).get(own.variant, SkillSource()), *beside):
            self._install(source)
        harness = self._agent.harness
        own_words = (*harness.environment, *(harness.in_sandbox if self._agent.sandbox != "none" else ()))
        variables = dict(word.split("=", 1) for word in own_words)
        self._environment = variables | make_environment(self._home, self._agent.credentials) | child_variables()
        for file in own.files:
            if file.revision:
                self._repository = self._workspace / file.target
                self._commit = start_repository(self._repository, self._environment)
        self._before = take_snapshot(self._workspace)

    def _install(self, source: SkillSource) -> None:
        """Copy a skill to the place in which the program looks for skills."""
        if source.folder:
            target = self._workspace / self._agent.harness.skills / source.name
            shutil.copytree(source.folder, target)
            if source.description:
                header = target / FILE
                header.write_bytes(with_description(header.read_bytes(), source.description))

    async def send(self, message: str) -> AsyncIterator[Item]:
        """Run the program with a message, and yield the items of its log, also those before a failure."""
        if self._process is not None:
            raise AgentError("a command-line agent takes one message an attempt")
        budget = self._agent.budget
        if budget is not None:
            await self._reserve(budget)
        log: HarnessLog | None = None
        try:
            output, errors, problem = await self._run(message)
            log = read_log(output, self._agent.harness.log)
        finally:
            if budget is not None:
                # An attempt that is cut off has a cost that nobody knows.
                budget.settle(Reply("", cost=log.end.cost if log is not None else None))
        files, omitted = compare(self._before, take_snapshot(self._workspace))
        for item in self._with_pictures(log.items, files):
            yield item
        self._raise_failure(log, errors, problem)
        git, place = None, self._repository / ".git"
        if place.is_dir() and not place.is_symlink():
            git = await read_git_state(self._repository, self._commit, self._environment, self._wrap)
        checks = await decide_checks(
            self._case.workspace.checks if self._case.workspace is not None else (),
            self._workspace,
            files,
            self._environment,
            self._wrap,
        )
        delta = StateDelta(files, omitted, checks, log.end.cost, self._agent.program, self._agent.sandbox, git)
        details = AgentDetails(self._agent.harness.name, tool_declarations=tuple({"name": name} for name in log.tools))
        self.about = About((details,), delta.state)

    def _with_pictures(self, items: Sequence[Item], files: Sequence[FileChange]) -> Sequence[Item]:
        """Return the items of a log. The reply gets the pictures that the agent left as its parts."""
        reply = items[-1] if items else None
        pictures = find_pictures(files, self._workspace) if isinstance(reply, Message) else ()
        if not pictures or not isinstance(reply, Message):
            return items
        return [*items[:-1], replace(reply, parts=(*reply.parts, *pictures))]

    async def _reserve(self, budget: Budget) -> None:
        try:
            await budget.reserve()
        except UnsentError as error:
            raise HarnessOutageError(f"{self._agent.harness.name} is not started: {error}") from None

    async def _run(self, message: str) -> tuple[bytes, str, str]:
        """Return the output of the program, the end of its errors, and the reason if it had to be stopped."""
        words = self._wrap(self._command(message))
        self._process = process = await asyncio.create_subprocess_exec(
            *words,
            cwd=self._workspace,
            env=self._environment,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
        output, errors, problem = bytearray(), bytearray(), ""
        limit = _LARGEST_REPLY if self._agent.harness.log == "text" else _LARGEST_OUTPUT
        by_input = b"" if PROMPT in " ".join(self._agent.harness.command) else message.encode()
        try:
            async with asyncio.timeout(self._agent.seconds):
                await asyncio.gather(
                    _write(process, by_input), _read_output(process, output, limit), _read_tail(process, errors)
                )
                await process.wait()
        except TimeoutError:
            problem = f"{_NO_REPLY} {self._agent.seconds:g} seconds"
        except _TooMuchOutputError:
            problem = f"the program wrote more than {limit:,} bytes"
            del output[_KEPT_OUTPUT:]
        await self._stop(process)
        text = without_secrets(errors.decode(errors="replace"))
        if not output and (cause := why_not_started(words, process.returncode, text)):
            raise HarnessOutageError(f"{self._agent.harness.name} does not start: {shorten(cause, _LONGEST_CAUSE)}")
        lines = [line.strip() for line in text.splitlines() if any(map(str.isalpha, line))]  # not a row of marks
        return bytes(output), shorten(lines[-1], _LONGEST_CAUSE) if lines else "", problem

    def _wrap(self, command: Sequence[str]) -> list[str]:
        return wrap(command, self._agent.sandbox, self._workspace, self._home, self._environment)

    def _command(self, message: str) -> list[str]:
        harness, model = self._agent.harness, self._agent.model
        words = [word.replace(PROMPT, message) for word in harness.command]
        options = [word.replace(MODEL, model) for word in harness.model_options] if model else []
        budget = self._agent.budget
        if budget is not None and budget.max_cost is not None:
            rest = f"{max(0.0, budget.max_cost - budget.cost):.4f}"
            options += [word.replace(COST, rest) for word in harness.cost_options]
        if not options:
            return words
        at = 1 if len(words) < 2 or words[1].startswith("-") else 2  # behind a subcommand, such as `codex exec`
        return [*words[:at], *options, *words[at:]]

    def _raise_failure(self, log: HarnessLog, errors: str, problem: str) -> None:
        """Raise the failure of the program. A log that ends early, or that names the provider, is an outage.

        So is a time-out while the program waits for the provider, or before the model has answered at all.
        """
        if problem and (log.end.waiting or (problem.startswith(_NO_REPLY) and log.is_silent)):
            cause = shorten(without_secrets(log.end.waiting or errors), _LONGEST_CAUSE)
            raise HarnessOutageError(f"{self._agent.harness.name}: {problem}{f': {cause}' if cause else ''}")
        if problem:
            raise AgentError(problem)
        code = self._process.returncode if self._process is not None else 0
        name = self._agent.harness.name
        if log.end.failure:
            cause = shorten(without_secrets(log.end.failure), _LONGEST_CAUSE)
            raise HarnessOutageError(f"{name}: {cause}") if log.end.is_outage else AgentError(f"{name}: {cause}")
        if not log.end.is_whole or (code and not log.items):
            what = f"ended with the code {code}" if code else "ended"
            raise HarnessOutageError(f"{name} {what}, and its log breaks off{f': {errors}' if errors else ''}")
        if code and self._agent.harness.log == "text":
            raise AgentError(f"{name} ended with the code {code}{f': {errors}' if errors else ''}")
        if log.problems:
            raise UsageError(f"{name}: its log is not read in full: {log.problems[0]}", code="unusable-agent")

    async def end(self) -> None:
        """Kill the program if it still runs."""
        if self._process is not None and self._process.returncode is None:
            await self._stop(self._process)

    async def _stop(self, process: Process) -> None:
        """End a program with everything that it started."""
        await end_group(process, self._home)
        if words := removal_of_container(self._agent.sandbox, self._home):
            removal = await asyncio.create_subprocess_exec(*words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
            await exit_code(removal, _REMOVAL_SECONDS)


class _TooMuchOutputError(Exception):
    """The program writes more than anybody reads."""


async def _write(process: Process, data: bytes) -> None:
    assert process.stdin is not None  # noqa: S101  (it is a pipe)
    with contextlib.suppress(ConnectionError):  # a program that reads no input is not wrong
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read_output(process: Process, output: bytearray, limit: int) -> None:
    assert process.stdout is not None  # noqa: S101  (it is a pipe)
    while chunk := await process.stdout.read(65536):
        output += chunk
        if len(output) > limit:
            raise _TooMuchOutputError


async def _read_tail(process: Process, errors: bytearray) -> None:
    assert process.stderr is not None  # noqa: S101  (it is a pipe)
    while chunk := await process.stderr.read(65536):
        errors += chunk
        del errors[:-_KEPT_ERRORS]

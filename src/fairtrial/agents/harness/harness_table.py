"""The command-line agents that are known, and agents that a file describes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from fairtrial.agents.harness.sandbox import why_not_started
from fairtrial.errors import UsageError, nearest
from fairtrial.formats.option_files import read_options
from fairtrial.records.record import Record
from fairtrial.text.display import shorten

Log = Literal["claude", "codex", "gemini", "opencode", "text"]
LOGS: tuple[Log, ...] = ("claude", "codex", "gemini", "opencode", "text")
PROMPT, FOLDER, MODEL, COST = "{prompt}", "{folder}", "{model}", "{cost}"
_KEYS = ("command", "skills", "log", "version", "model_options", "credentials", "environment")
_VERSION_SECONDS = 90
_LONGEST_CAUSE = 300
_KEPT_VARIABLES = ("PATH", "DOCKER_HOST")


class Harness(Record, frozen=True):
    """A command-line agent: its command, its folder of skills, and the kind of its log.

    The prompt goes to standard input unless the command holds `{prompt}`. `skills` is a folder in the workspace.
    `model_options` are added to the command if a model is named, in the place of `{model}`. `version` is the command
    that prints the version. `credentials` are the variables and files that a user is likely to need. `environment` are
    variables as `NAME=VALUE`, and `in_sandbox` those that only a sandbox makes true. `cost_options` limit the cost of
    an attempt to `{cost}`. `tested` is the oldest version that the tests have run, and an older one is refused.
    """

    name: str
    command: tuple[str, ...]
    skills: str
    log: Log
    version: tuple[str, ...] = ()
    model_options: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    in_sandbox: tuple[str, ...] = ()
    cost_options: tuple[str, ...] = ()
    tested: str = ""


HARNESSES: dict[str, Harness] = {
    harness.name: harness
    for harness in (
        Harness(
            "claude",
            (
                "claude",
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--permission-mode",
                "bypassPermissions",
                "--setting-sources",
                "project",
            ),
            ".claude/skills",
            "claude",
            ("claude", "--version"),
            ("--model", MODEL),
            ("ANTHROPIC_API_KEY", "~/.claude/.credentials.json"),
            # Without the first, each attempt pays for a title, and the program may replace itself.
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"),
            ("IS_SANDBOX=1",),  # root may skip permissions in a sandbox only
            ("--max-budget-usd", COST),
            "2.1.50",
        ),
        Harness(
            "codex",
            ("codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"),
            ".agents/skills",
            "codex",
            ("codex", "--version"),
            ("--model", MODEL),
            ("CODEX_API_KEY", "OPENAI_API_KEY", "~/.codex/auth.json"),
            tested="0.98.0",
        ),
        Harness(
            "gemini",
            ("gemini", "--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
            ".gemini/skills",
            "gemini",
            ("gemini", "--version"),
            ("--model", MODEL),
            ("GEMINI_API_KEY", "~/.gemini/oauth_creds.json", "~/.gemini/settings.json"),
            tested="0.40.0",
        ),
        Harness(
            "opencode",
            # Without a title, each attempt pays for one.
            ("opencode", "run", "--format", "json", "--auto", "--title", "fairtrial"),
            ".agents/skills",  # it writes files of its own beside skills in .opencode
            "opencode",
            ("opencode", "--version"),
            ("--model", MODEL),
            ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "~/.local/share/opencode/auth.json"),
            ("OPENCODE_DISABLE_AUTOUPDATE=1",),
            tested="1.18.33",
        ),
    )
}


def find_harness(text: str, *, on_path: bool = True) -> Harness:
    """Return the known agent of a name, or the agent that a file describes. Raises UsageError.

    With `on_path`, the program has to be on PATH.
    """
    if text in HARNESSES:
        harness = HARNESSES[text]
        if on_path and shutil.which(harness.command[0]) is None:
            raise UsageError(
                f"no program {harness.command[0]!r} is on PATH; nothing is installed for you", code="unusable-agent"
            )
        return harness
    path = Path(text)
    if not path.is_file():
        raise UsageError(
            f"is neither {', '.join(HARNESSES)} nor a file{nearest(text, HARNESSES)}", code="unusable-agent"
        )
    return _read_harness(path, on_path=on_path)


def _read_harness(path: Path, *, on_path: bool) -> Harness:
    options = read_options(path.read_bytes(), str(path))
    if not isinstance(options, dict):
        raise UsageError(f"{path}: must be an object with the keys {', '.join(_KEYS)}", code="unusable-agent")
    problems = [f"/{key}: is not a known key{nearest(key, _KEYS)}" for key in options if key not in _KEYS]
    command = _words(options, "command", problems)
    if not command:
        problems.append("/command: must be an array of words, such as ['my-agent', '--json']")
    skills, log = options.get("skills"), options.get("log", "text")
    if not isinstance(skills, str) or skills.startswith(("/", "~")) or ".." in Path(skills).parts:
        problems.append("/skills: must be a folder in the workspace, such as .claude/skills")
    if log not in LOGS:
        problems.append(f"/log: must be one of {', '.join(LOGS)}, got {log!r:.40}")
    version, model = _words(options, "version", problems), _words(options, "model_options", problems)
    credentials, environment = (_words(options, key, problems) for key in ("credentials", "environment"))
    problems += [f"/environment: {word!r:.40} must be NAME=VALUE" for word in environment if word.find("=") < 1]
    if problems:
        raise UsageError("\n".join(f"{path}: {problem}" for problem in problems), code="unusable-agent")
    folder = str(path.resolve().parent)
    words = tuple(word.replace(FOLDER, folder) for word in command)
    if on_path and shutil.which(words[0]) is None:
        raise UsageError(f"{path}: /command/0: no program {words[0]!r} is on PATH", code="unusable-agent")
    version = tuple(word.replace(FOLDER, folder) for word in version)
    return Harness(path.stem, words, str(skills), log, version, model, credentials, environment)


def _words(options: dict[str, Any], key: str, problems: list[str]) -> tuple[str, ...]:
    raw = options.get(key, [])
    if not isinstance(raw, list) or not all(isinstance(word, str) for word in raw):
        problems.append(f"/{key}: must be an array of texts")
        return ()
    return tuple(raw)


def program_version(harness: Harness, before: Sequence[str] = ()) -> str:
    """Return the version that a program prints, or an empty text if it has no command for that.

    `before` are words before its command, such as `docker run`. The program has an empty home, because some programs
    write into their home at every start. Raises UsageError if the program does not start.
    """
    if not harness.version:
        return ""
    with tempfile.TemporaryDirectory(prefix="fairtrial-version-", ignore_cleanup_errors=True) as home:
        try:
            process = subprocess.run(  # noqa: S603  (the command is of the table, or of a file that the user gave)
                [*before, *harness.version],
                capture_output=True,
                timeout=_VERSION_SECONDS,
                check=False,
                stdin=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
                | {"HOME": home, "TMPDIR": home},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"{harness.version[0]} does not start: {error}", code="unusable-agent") from None
    if before and (cause := why_not_started(before, process.returncode, process.stderr.decode(errors="replace"))):
        raise UsageError(
            f"{harness.version[0]} does not start in the image: {shorten(cause, _LONGEST_CAUSE)}", code="unusable-agent"
        )
    lines = process.stdout.decode(errors="replace").strip().splitlines()
    return lines[0][:80] if lines else ""


def check_version(harness: Harness, version: str) -> None:
    """Raise UsageError if a version is older than the oldest that the tests have run.

    An old program that looks for no skills runs without an error, so that a skill would seem to be worth nothing. A
    version without a number is not checked.
    """
    numbers = _numbers(version)
    if harness.tested and numbers and numbers < _numbers(harness.tested):
        raise UsageError(
            f"{harness.name}: {version} is older than {harness.tested}, and may find no skills; update the program",
            code="missing-package",
        )


def _numbers(version: str) -> tuple[int, ...]:
    match = re.search(r"\d{1,9}(?:\.\d{1,9}){1,3}", version)
    return tuple(map(int, match[0].split("."))) if match else ()

"""Keep a program in its workspace: its environment, its home, and the sandbox that it runs in."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from fairtrial.errors import UsageError, nearest

DOCKER = "docker:"
SANDBOXES = ("bwrap", "docker:IMAGE", "none")
_PASSED_ON = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "NO_PROXY",
    "no_proxy",
    "NVM_DIR",
    "DOCKER_HOST",
    "PYTHONPATH",
    "VIRTUAL_ENV",
)
_BASE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
_NAMESPACES = ("--unshare-pid", "--unshare-ipc")
_SECONDS = 20
_NOT_STARTED = re.compile(
    r"^(docker: [^\n]+|\[FATAL tini \(\d{1,9}\)\] exec [^\n]+|bwrap: execvp [^\n]+)$", re.MULTILINE
)
"""What docker, the init program in its containers, and bwrap say if they cannot start a program."""
_CODES_NOT_STARTED = {"docker": (125, 126, 127), "bwrap": (1,)}
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@-]{0,250}")
_OF_THE_MACHINE = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "NVM_DIR", "DOCKER_HOST", "SHELL", "USER", "LOGNAME")
"""Variables that mean nothing in a container."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  (a folder that may hold the program)
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
"""Passed on unless they hold a password."""


def choose_sandbox(choice: str | None) -> str:
    """Return the sandbox of a run: the one that is asked for, else bwrap if it is there, else none.

    Raises UsageError if the sandbox that is asked for is not there, or does not start.
    """
    if choice in (None, "bwrap"):
        problem = _find_problem_of_bwrap()
        if problem and choice is not None:
            raise UsageError(f"sandbox: {problem}", code="unusable-agent")
        return "none" if problem else "bwrap"
    if choice == "none":
        return "none"
    if choice is not None and choice.startswith(DOCKER) and _IMAGE.fullmatch(choice.removeprefix(DOCKER)):
        if problem := _find_problem_of_docker(choice.removeprefix(DOCKER)):
            raise UsageError(f"sandbox: {problem}", code="unusable-agent")
        return choice
    raise UsageError(
        f"sandbox: must be one of {', '.join(SANDBOXES)}, got {choice!r:.40}{nearest(str(choice), SANDBOXES)}",
        code="unusable-agent",
    )


def _find_problem_of_bwrap() -> str:
    """Return why bwrap does not work here, or an empty text. Containers often forbid what it needs."""
    program = shutil.which("bwrap")
    return "no program bwrap is on PATH; it is in the package bubblewrap" if program is None else _try_bwrap(program)


@functools.cache
def _try_bwrap(program: str) -> str:
    return _try("bwrap", [program, *_BASE, *_NAMESPACES, "--", "true"])


def _try(name: str, words: Sequence[str]) -> str:
    """Run a command of a sandbox, and return why it does not work here, or an empty text."""
    try:
        process = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} does not start: {error}"
    lines = process.stderr.decode(errors="replace").strip().splitlines()
    return f"{name} does not work here: {lines[-1] if lines else process.returncode}" if process.returncode else ""


def check_credentials(names: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
    """Raise UsageError for a credential that is not there.

    A credential is a variable of the environment, a variable with a value (`NAME=VALUE`), or a file below the home of
    the user (`~/.codex/auth.json`).
    """
    for name in names:
        if name.startswith("~/"):
            path = Path(name).expanduser()
            if ".." in Path(name).parts or not path.is_file():
                raise UsageError(f"credentials: {name!r}: no such file in your home", code="unusable-agent")
        elif "=" not in name and name not in environment:
            raise UsageError(f"credentials: {name!r}: the variable is not set", code="missing-key")


def make_environment(
    home: Path, credentials: Sequence[str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment of a program: a list of harmless variables, a home of its own, and the credentials.

    A file among the credentials is copied to the same place in the home.
    """
    passed = {name: environment[name] for name in _PASSED_ON if name in environment}
    passed |= {name: value for name, value in environment.items() if name.startswith("LC_")}
    passed |= {name: environment[name] for name in _PROXIES if name in environment and "@" not in environment[name]}
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    passed |= {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
    }
    for name in credentials:
        if name.startswith("~/"):
            target = home / name.removeprefix("~/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(Path(name).expanduser(), target)
            target.chmod(0o600)
        elif "=" in name:
            key, _, value = name.partition("=")
            passed[key] = value
        else:
            passed[name] = environment[name]
    return passed


def wrap(
    command: Sequence[str], sandbox: str, workspace: Path, home: Path, variables: Collection[str] = ()
) -> list[str]:
    """Return a command that runs inside of a sandbox.

    With bwrap, the program sees the machine, writes only to its workspace and its home, and has processes of its own.
    The home of the user is empty there, unless the program itself stands in it. With docker, it sees the image and
    these two folders. The names of `variables` are passed on, and their values never stand in the command.
    """
    if sandbox == "none":
        return list(command)
    if sandbox.startswith(DOCKER):
        return _docker_command(command, sandbox.removeprefix(DOCKER), workspace, home, variables)
    program = shutil.which(command[0]) or command[0]
    options = [*_BASE]
    if any(word.startswith(_SHARED_MEMORY) for word in command):  # the sandbox has a /dev of its own
        options += ["--ro-bind", _SHARED_MEMORY, _SHARED_MEMORY]
    options += [word for folder in _hidden(Path(program)) for word in ("--tmpfs", folder)]
    for folder in (workspace, home):
        options += ["--bind", str(folder), str(folder)]
    options += [*_NAMESPACES, "--die-with-parent", "--new-session", "--chdir", str(workspace)]
    return ["bwrap", *options, "--", program, *command[1:]]


def _docker_command(
    command: Sequence[str], image: str, workspace: Path, home: Path, variables: Collection[str]
) -> list[str]:
    options = ["--interactive", "--init", "--name", home.parent.name]
    if sys.platform != "win32":  # Docker Desktop maps the owner of files by itself there
        options += ["--user", f"{os.getuid()}:{os.getgid()}"]
    options += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "1024"]
    for folder in (workspace, home):
        options += ["--volume", f"{folder}:{folder}"]
    options += [word for name in sorted(variables) if name not in _OF_THE_MACHINE for word in ("--env", name)]
    return [*_docker_run(image, *options, "--workdir", str(workspace)), *command]


def _docker_run(image: str, *options: str) -> list[str]:
    """Return the words before a command that runs in an image, without the command that the image has of its own."""
    return [*_docker(), "run", "--rm", "--pull=never", "--entrypoint", "", *options, image]


def _docker() -> list[str]:
    """Return docker with the settings of the user, because programs in a sandbox have a home of their own."""
    return ["docker", "--config", os.environ.get("DOCKER_CONFIG") or str(Path.home() / ".docker")]


def start_of_image(sandbox: str) -> list[str]:
    """Return the words before a command that runs in the image of a sandbox, or nothing if the sandbox has none."""
    return _docker_run(sandbox.removeprefix(DOCKER)) if sandbox.startswith(DOCKER) else []


def why_not_started(words: Sequence[str], code: int | None, output: str) -> str:
    """Return why a command that `wrap` made did not start, in the words of its sandbox, or an empty text.

    `output` is what the command wrote. Only its beginning counts, because an agent may repeat these words later.
    """
    if code not in _CODES_NOT_STARTED.get(words[0], ()):
        return ""
    match = _NOT_STARTED.match(output.lstrip())
    return match[0] if match else ""


def removal_of_container(sandbox: str, home: Path) -> list[str]:
    """Return the command that ends what `wrap` started if killing the command does not, or nothing."""
    return [*_docker(), "rm", "--force", home.parent.name] if sandbox.startswith(DOCKER) else []


def _find_problem_of_docker(image: str) -> str:
    """Return why docker cannot start an image here, or an empty text. Nothing is downloaded."""
    if shutil.which("docker") is None:
        return "no program docker is on PATH"
    problem = _try("docker", [*_docker(), "version", "--format", "{{.Server.Version}}"])
    if not problem and _try("docker", [*_docker(), "image", "inspect", image]):
        return f"docker has no image {image!r}; build it, or run 'docker pull {image}'"
    return problem


def _hidden(program: Path) -> list[str]:
    """Return the folders of the user's home that hold skills and credentials of command-line agents."""
    home = Path.home()
    names = (".claude", ".codex", ".gemini", ".agents", ".config", ".ssh", ".aws", ".gnupg", ".local/share/opencode")
    resolved = program.resolve()
    folders = [home / name for name in names if (home / name).is_dir()]
    return [str(folder) for folder in folders if not resolved.is_relative_to(folder.resolve())]

"""The sandbox of docker runs a program in an image, and removes its container.

Without a daemon, a stand-in takes the place of docker: it notes its words, and runs the command after the image here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from commands import Done, fairtrial, write
from fairtrial.agents.harness.sandbox import choose_sandbox, why_not_started, wrap
from fairtrial.errors import UsageError

STAND_IN = """#!/usr/bin/env python3
import os, sys
words = sys.argv[3:]  # behind --config FOLDER
with open("WORDS", "a") as file:
    print(*words, file=file)
if words[0] == "version":
    print("28.0")
elif words[0] == "run":
    words = words[words.index("fake/image:1") + 1:]
    try:
        os.execvp(words[0], words)
    except FileNotFoundError:
        cause = 'OCI runtime create failed: exec: "' + words[0] + '": executable file not found in $PATH: unknown'
        print("docker: Error response from daemon:", cause, file=sys.stderr)
        print("\\nRun 'docker run --help' for more information", file=sys.stderr)
        sys.exit(127)
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill, and a stand-in for docker that notes its words."""
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "docker").write_text(STAND_IN.replace("WORDS", str(programs / "words")))
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "tides").mkdir()
    (tmp_path / "tides" / "SKILL.md").write_text("---\nname: tides\ndescription: Tells the tides.\n---\n")
    case: dict[str, Any] = {"id": "a", "prompt": "Go", "checks": [{"type": "exists", "path": "out.txt"}]}
    case["checks"].append({"type": "command", "command": ["grep", "-q", "Go", "out.txt"]})
    write("tides/evals/evals.json", {"skill_name": "tides", "evals": [case]})
    return programs / "words"


def run(script: str, *more: str, **keys: Any) -> Done:
    """Run the case with a program in the image. `keys` are keys of the agent's file."""
    write("agent.json", {"command": ["sh", "-c", script], "skills": ".claude/skills", "log": "text", **keys})
    words = ("--agent", "harness:agent.json", "--attempts", "1", "--sandbox", "docker:fake/image:1")
    return fairtrial("run", "tides", *words, "--credentials", "MY_KEY=secret-value", *more)


@pytest.mark.long
def test_program_and_checks_run_in_the_image(docker: Path) -> None:
    """The two folders are mounted, secrets stand in no command line, and each container is removed."""
    done = run("cat > out.txt; echo $MY_KEY")
    assert done.code == 0, done.err
    lines = docker.read_text().splitlines()
    runs = [line for line in lines if line.startswith("run ")]
    assert len(runs) == 4  # the program and a check, with the skill and without it
    assert all("--cap-drop ALL" in line and "--env MY_KEY" in line for line in runs)
    assert "secret-value" not in docker.read_text()
    assert not any("--env PATH" in line for line in runs)
    names = {line.split("--name ")[1].split()[0] for line in runs}
    assert {f"rm --force {name}" for name in names} <= {*lines}


@pytest.mark.long
def test_a_container_ends_at_the_time_limit(docker: Path) -> None:
    """Killing the client ends no container, so that it is removed by its name."""
    done = run("sleep 60", "--reply-timeout", "1")
    assert done.code != 0
    assert sum(line.startswith("rm --force fairtrial-") for line in docker.read_text().splitlines()) == 2


NOT_FOUND = 'OCI runtime create failed: exec: "no-agent": executable file not found in $PATH'


@pytest.mark.usefixtures("docker")
def test_a_program_that_is_not_in_the_image_is_not_the_fault_of_the_agent() -> None:
    """The failure holds the message of docker, and not its last line, which is advice."""
    run("", "--json", "run.json", command=["no-agent"])
    report = json.loads(Path("run.json").read_text())
    failures = [own["failure"] for own in report["attempts"]]
    assert len(failures) == 2
    assert all(own["side"] == "infrastructure" and NOT_FOUND in own["cause"] for own in failures), failures


def test_a_program_whose_version_is_asked_stops_before_anything_runs(docker: Path) -> None:
    """No attempt is made."""
    done = run("", version=["no-agent", "--version"])
    assert (done.code, "no-agent does not start in the image: docker: Error" in done.err) == (2, True), done.err
    assert not any("/workspace" in line for line in docker.read_text().splitlines())


@pytest.mark.usefixtures("docker")
def test_an_agent_that_runs_a_missing_program_is_to_blame() -> None:
    """The shell has started, and its code is the same as that of docker."""
    run("no-agent", "--json", "run.json")
    report = json.loads(Path("run.json").read_text())
    assert {own["failure"]["side"] for own in report["attempts"]} == {"agent"}


@pytest.mark.usefixtures("docker")
def test_a_check_whose_program_is_not_in_the_image_gives_no_verdict() -> None:
    """The agent is not to blame for the image."""
    check = {"type": "command", "command": ["no-checker"]}
    write("tides/evals/evals.json", {"skill_name": "tides", "evals": [{"id": "a", "prompt": "Go", "checks": [check]}]})
    run("cat > out.txt", "--json", "run.json")
    report = json.loads(Path("run.json").read_text())
    assert {own["verdict"] for own in report["attempts"]} == {"unscored"}
    assert "the command does not start: docker: Error response from daemon" in Path("run.json").read_text()


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("[FATAL tini (7)] exec no-agent failed: No such file or directory\n", "[FATAL tini (7)] exec no-agent failed"),
        ("docker: Error response from daemon: unknown.\n\nRun 'docker run --help'\n", "docker: Error response"),
        ("sh: 1: no-agent: not found\n", ""),
        ("Working.\ndocker: Error response from daemon: unknown.\n", ""),
    ],
)
def test_what_says_that_a_program_did_not_start(output: str, cause: str) -> None:
    """The init program of a container, and docker itself. Other words are those of the program."""
    text = why_not_started(["docker", "run"], 127, output)
    assert text.startswith(cause)
    assert bool(text) == bool(cause)


@pytest.mark.parametrize(("words", "code"), [(["docker", "run"], 1), (["sh"], 127), (["bwrap"], 127)])
def test_other_codes_are_those_of_the_program(words: list[str], code: int) -> None:
    """Also without a sandbox."""
    assert why_not_started(words, code, "docker: Error response from daemon: unknown.") == ""


def test_a_daemon_that_is_not_there_stops_before_anything_runs(docker: Path) -> None:
    """The message is that of docker."""
    program = docker.parent / "docker"
    program.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    with pytest.raises(UsageError, match="docker does not work here: Cannot connect to the Docker daemon"):
        choose_sandbox("docker:fake/image:1")


@pytest.mark.parametrize("choice", ["docker", "docker:", "docker:--privileged", "docker:a b", "podman"])
def test_an_image_that_is_none_is_refused(choice: str) -> None:
    """An image cannot smuggle options in."""
    with pytest.raises(UsageError, match="must be one of bwrap, docker:IMAGE, none"):
        choose_sandbox(choice)


def test_words_of_the_command_stand_behind_the_image(tmp_path: Path) -> None:
    """Nothing of the command is an option of docker."""
    words = wrap(["agent", "--privileged"], "docker:image", tmp_path / "w", tmp_path / "h", ["HOME", "PATH"])
    assert words[-3:] == ["image", "agent", "--privileged"]
    assert words[words.index("--env") + 1] == "HOME"

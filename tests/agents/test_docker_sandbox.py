"""The sandbox of docker runs a program in an image, and removes its container.

Without a daemon, a stand-in takes the place of docker: it notes its words, and runs the command after the image here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from commands import Done, fairtrial, write
from fairtrial.agents.harness.sandbox import choose_sandbox, wrap
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
    os.execvp(words[0], words)
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


def run(script: str, *more: str) -> Done:
    """Run the case with a program in the image."""
    write("agent.json", {"command": ["sh", "-c", script], "skills": ".claude/skills", "log": "text"})
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

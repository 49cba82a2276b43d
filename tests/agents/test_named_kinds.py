"""Every kind of target is named in the places in which a user looks for it."""

from __future__ import annotations

import re
from pathlib import Path

from commands import fairtrial as command
from fairtrial.agents import KINDS

ROOT = Path(__file__).parents[2]


def test_the_help_of_run_names_every_kind() -> None:
    """The two schemes of a URL count as one."""
    text = command("run", "--help-all").out
    assert [kind for kind in KINDS if kind != "https" and not re.search(rf"\b{kind}\b", text)] == []


def test_the_page_about_agents_names_every_kind() -> None:
    """A table lists the targets."""
    page = (ROOT / "docs" / "how-to" / "connect-an-agent.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"`{kind}:" not in page] == []


def test_every_framework_has_an_extra_an_environment_and_pins() -> None:
    """`make test-agents` runs the tests of each. ADK and the Google Gen AI SDK share the environment of google-adk."""
    extras = re.findall(r"^agents-([\w-]+) = ", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = re.findall(r"^AGENTS := (.*)$", makefile, re.MULTILINE)
    assert sorted(line.split()) == sorted(set(extras) - {"adk", "google-genai"})
    for name in line.split():
        assert (ROOT / f"constraints-agents-{name}.txt").is_file()

"""Write starter files: the example of the package, and the beginning of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path

from fairtrial.api.project_files import find_project
from fairtrial.errors import UsageError

_PACKAGE = Path(__file__).parent.parent
EXAMPLES = _PACKAGE / "examples"
"""The folder of the example: an agent, its eval set, its config, and reasoning traces."""
_STARTER = _PACKAGE / "starter"
_PROJECT = """\
# The options of `fairtrial run`, which needs no arguments now.
eval_sets = [{folder}]
agent = {agent}

# fairtrial run --profile ci
[profile.ci]
attempts = 4
reports.junit = "fairtrial.xml"
"""


def write_project(folder: Path) -> Path | None:
    """Write a project file for the starter in a folder, and return it, or None if there is a project file already."""
    if find_project(Path.cwd()) is not None:
        return None
    file = Path("fairtrial.toml")
    names = {"folder": str(folder), "agent": f"{folder / 'agent.py'}:reply"}
    file.write_text(_PROJECT.format(**{name: json.dumps(text) for name, text in names.items()}), encoding="utf-8")
    return file


def write_starter(folder: Path) -> list[Path]:
    """Write an eval set, a config and an agent into a folder, which is made if necessary, and return the files.

    Raises UsageError, and writes nothing, if one of the files exists.
    """
    sources = sorted(file for file in _STARTER.iterdir() if file.is_file())
    targets = [folder / source.name for source in sources]
    for target in targets:
        if target.exists():
            raise UsageError(f"{target} exists, and would be overwritten; name another folder: fairtrial init FOLDER")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in zip(sources, targets, strict=True):
            target.write_bytes(source.read_bytes())
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror or problem}") from None
    return targets

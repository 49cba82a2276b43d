"""Write starter files: the example of the package, and the beginning of an evaluation."""

from __future__ import annotations

from pathlib import Path

from fairtrial.errors import UsageError

_PACKAGE = Path(__file__).parent.parent
EXAMPLES = _PACKAGE / "examples"
"""The folder of the example: an agent, its eval set, its config, and reasoning traces."""
_STARTER = _PACKAGE / "starter"


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

"""Find the files beside a coding agent's session. Claude Code writes a file for each sub-agent."""

from __future__ import annotations

from pathlib import Path

from fairtrial.errors import FormatError

_FOLDER = "subagents"


def agent_files(path: Path) -> list[Path]:
    """Return the files of agents in the folder that has the name of a session, for example `ID/subagents/*.jsonl`."""
    folder = path.with_suffix("") / _FOLDER
    return sorted(folder.glob("*.jsonl")) if path.suffix == ".jsonl" and folder.is_dir() else []


def belongs_to_session(path: Path) -> bool:
    """Whether a file is of an agent whose session is beside its folder. The session is read with it."""
    return path.parent.name == _FOLDER and path.parent.parent.with_suffix(".jsonl").is_file()


def with_agents(path: Path, data: bytes) -> bytes:
    """Return the bytes of a session with the lines of its agents behind them. Raises FormatError."""
    try:
        return b"\n".join([data, *(file.read_bytes() for file in agent_files(path))])
    except OSError as error:
        raise FormatError(str(error.filename), [error.strerror or str(error)]) from None

"""Case sources of a `fairtrial` mark or file, and the way in which their cases run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairtrial.errors import UsageError, nearest
from fairtrial.pytest_plugin.plugin_options import option_value

MARK = "fairtrial"
FIXTURE = "fairtrial_case"
_ARGUMENTS = ("agent", "recorded", "config", "attempts", "only", "pass_rate", "reply_timeout")


@dataclass(frozen=True)
class CaseSource:
    """The cases of a mark or of a file. `agent` is a target, a function, an object or the name of a fixture.

    `attempts` is a number, or options such as `{"count": 10, "pass": "mean"}`. None leaves them to the configuration.
    """

    paths: tuple[str, ...]
    agent: Any = None
    recorded: tuple[str, ...] = ()
    config: Any = None
    attempts: Any = None
    only: tuple[str, ...] = ()
    pass_rate: float | None = None
    reply_timeout: float | None = None

    @property
    def agent_fixture(self) -> str:
        """The name of the fixture that gives the agent, or an empty text."""
        return self.agent if isinstance(self.agent, str) and self.agent.isidentifier() else ""


@dataclass(frozen=True)
class TestedCase:
    """One case of a source. Its tests have `group` in common with the tests of all cases that run together."""

    __test__ = False

    source: CaseSource
    position: int
    name: str
    group: str = ""


CASE_KEY = pytest.StashKey[TestedCase]()


@dataclass
class ListedCases:
    """The cases of sources, read once for each source."""

    _names: dict[Any, dict[int, str]] = field(default_factory=dict)

    def list_cases(self, source: CaseSource) -> list[TestedCase]:
        """Return the cases of a source. Raises UsageError if a file cannot be read."""
        from fairtrial import api

        key = (source.paths, source.recorded, source.only)
        if key not in self._names:
            self._names[key] = api.list_cases(source.paths, source.recorded, only=source.only)
        return [TestedCase(source, position, name) for position, name in self._names[key].items()]


def source_of_mark(mark: pytest.Mark, config: pytest.Config, test_file: Path) -> CaseSource:
    """Return the cases that a mark means. Raises UsageError for a mark that does not say what to run."""
    for name in mark.kwargs:
        if name not in _ARGUMENTS:
            raise UsageError(
                f"@pytest.mark.fairtrial: no argument {name!r}{nearest(name, _ARGUMENTS)}; "
                f"allowed: {', '.join(_ARGUMENTS)}",
                code="unknown-name",
            )
    recorded = _paths(mark.kwargs.get("recorded", ()), config, test_file)
    paths = _paths(mark.args, config, test_file)
    agent = mark.kwargs.get("agent", option_value(config, "agent"))
    if not paths and not recorded:
        raise UsageError("@pytest.mark.fairtrial: needs the path of an eval set, or recorded=")
    if (agent is None) == (not recorded):
        raise UsageError("@pytest.mark.fairtrial: needs either agent= or recorded=", code="options-conflict")
    criteria = mark.kwargs.get("config")
    if isinstance(criteria, str):
        (criteria,) = _paths([criteria], config, test_file)
    return _with_options(
        config,
        CaseSource(
            paths,
            agent,
            recorded,
            criteria,
            mark.kwargs.get("attempts"),
            tuple(_several(mark.kwargs.get("only", ()))),
            mark.kwargs.get("pass_rate"),
            mark.kwargs.get("reply_timeout"),
        ),
    )


def source_of_file(path: Path, config: pytest.Config) -> CaseSource:
    """Return the cases of an eval set that pytest collects itself."""
    return _with_options(config, CaseSource((str(path),), option_value(config, "agent")))


def _with_options(config: pytest.Config, source: CaseSource) -> CaseSource:
    """Return a source with the options of pytest in place of everything that it does not say."""
    return CaseSource(
        source.paths,
        source.agent,
        source.recorded,
        source.config if source.config is not None else option_value(config, "config"),
        source.attempts if source.attempts is not None else option_value(config, "attempts"),
        (*source.only, *(option_value(config, "only") or ())),
        source.pass_rate,
        source.reply_timeout,
    )


def _paths(paths: Any, config: pytest.Config, test_file: Path) -> tuple[str, ...]:
    """Return paths as they are beside the file of the test, or otherwise in pytest's root folder."""
    return tuple(_path(str(path), config.rootpath, test_file.parent) for path in _several(paths))


def _path(path: str, root: Path, folder: Path) -> str:
    # `FILE:case1,case2` chooses cases of a file.
    file = path if Path(path).is_absolute() or not path.count(":") else path.rpartition(":")[0]
    for home in (folder, root):
        if (home / file).exists() or (home / path).exists():
            return str(home / path)
    raise UsageError(
        f"@pytest.mark.fairtrial: {path}: no such file in {folder}{f' or {root}' if root != folder else ''}",
        code="no-such-file",
    )


def _several(value: Any) -> Sequence[Any]:
    return [value] if isinstance(value, str | Path) else list(value)

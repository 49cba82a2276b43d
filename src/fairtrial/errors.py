"""The errors of this package, as a tree that follows who can do something about an error.

FairtrialError
    UsageError          before anything runs: the user's input cannot be used
        FormatError     a file that cannot be read: path, place, problem
        ConfigError     a configuration that cannot be used: place, problem
    RunNotPassedError   a run did not pass, which `Run.check` was asked for
    StoreError          a store cannot be read or written: the run stops, and can be resumed
    CaseError           within one case: becomes a Failure or an unscored Score, and the run goes on
        AgentError          the agent raised, hung or returned something that is not a reply
        UnfitCaseError      a message or the state of the case does not fit the input that the agent declares
        SimulatorError      the simulated user could not say its next message
        SimulatedToolError  the simulated environment could not answer a tool call
        MetricError         a metric raised or returned something that is not a score
        JudgeError          a judge could not be asked, or could not be read
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

_SPELLINGS: list[Callable[[str], str]] = [str]
"""How the caller of this process writes the name of an argument. The last one counts."""


class FairtrialError(Exception):
    """The base of every error that this package raises on purpose.

    `code` names its kind, for example `missing-package`. The page "Errors" of the documentation explains each code. A
    class has a code of its own, and a raise may give a narrower one.
    """

    code = "error"

    def __init__(self, *args: object, code: str = "") -> None:
        super().__init__(*args)
        if code:
            self.code = code


class UsageError(FairtrialError):
    """The input of the user cannot be used. Nothing has run when this is raised.

    An adapter also raises it within a conversation, if the agent needs something that the adapter does not give.
    """

    code = "unusable-input"


class RunNotPassedError(FairtrialError, AssertionError):
    """A run did not pass. The message is its report. Test runners show it as a failed assertion."""

    code = "not-passed"


class FormatError(UsageError):
    """A file cannot be read.

    `problems` holds every problem, one line each, with its place: a JSON pointer, or line and column. For example,
    `/eval_cases/0: must have 'eval_id'`.
    """

    code = "unreadable-file"

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        self.path = path
        line_path = path.replace("\n", r"\n")  # the name of a file cannot print a line of its own
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{line_path}: {problem}" for problem in problems))


class OtherContentError(FormatError):
    """A file holds something else than was asked for, for example a configuration among recordings."""

    code = "other-content"


class ConfigError(UsageError):
    """A configuration cannot be used. `problems` holds each problem, after its JSON pointer if it has one."""

    code = "unusable-config"

    @property
    def problems(self) -> tuple[str, ...]:
        """Every problem in the configuration."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        return "\n".join(self.problems)


@contextmanager
def collecting(problems: list[str]) -> Iterator[None]:
    """Append the problems of a ConfigError to a list, so that the checks after it still run."""
    try:
        yield
    except ConfigError as error:
        problems += error.problems


class StoreError(FairtrialError):
    """A store cannot be read or written. For example, the disk is full, or the server is gone."""

    code = "store-failed"


class CaseError(FairtrialError):
    """One case went wrong. The run goes on."""

    code = "case-error"


class AgentError(CaseError):
    """The agent raised, hung or returned something that is not a reply."""

    code = "agent-error"


class UnfitCaseError(CaseError):
    """A message or the state of the case does not fit the input that the agent declares. The agent is not to blame."""

    code = "unfit-case"


class SimulatorError(CaseError):
    """The simulated user could not say its next message."""

    code = "simulator-error"


class SimulatedToolError(CaseError):
    """The simulated environment could not answer a tool call."""

    code = "simulated-tool-error"


class MetricError(CaseError):
    """A metric raised or returned something that is not a score."""

    code = "metric-error"


class JudgeError(CaseError):
    """A judge could not be asked, or its answer could not be read."""

    code = "judge-error"


def spell(argument: str) -> str:
    """Return an argument as the caller writes it: `max_cost` in Python, `--max-cost` on the command line."""
    return _SPELLINGS[-1](argument)


def spell_columns(*columns: tuple[str, str]) -> str:
    """Return the advice to name one of some columns, each by its role, as the caller can write it.

    For example, `write --map input=q`, in Python `write columns={'input': 'q'}`, and for `fairtrial init`, which has no
    such option, `rename 'q' to 'input'`.
    """
    option = spell("columns")
    if not option:
        return " or ".join(f"rename {column!r} to {role!r}" for role, column in columns)
    if option.startswith("-"):
        return "write " + " or ".join(f"{option} {role}={column}" for role, column in columns)
    return "write " + " or ".join(f"{option}={{{role!r}: {column!r}}}" for role, column in columns)


@contextmanager
def spelling(function: Callable[[str], str]) -> Iterator[None]:
    """Let messages spell the names of arguments with a function. The command line does it for its options."""
    _SPELLINGS.append(function)
    try:
        yield
    finally:
        _SPELLINGS.remove(function)


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return `; did you mean 'X'?` for the allowed name closest to a misspelt name, or an empty string."""
    from difflib import get_close_matches  # only a misspelt name needs it, and every command imports this module

    names = list(allowed)
    # Two letters in the wrong order are a third of a name of three, for example of `rnu`.
    close = get_close_matches(name, names, n=1, cutoff=0.7) or [near for near in names if sorted(near) == sorted(name)]
    return f"; did you mean {close[0]!r}?" if close else ""


def lacks_extra(feature: str, extra: str) -> str:
    """Return a message that a feature needs an extra, and how to install the packages of the extra.

    The packages are named, because pip finds `fairtrial[extra]` only if fairtrial itself is on an index.
    """
    packages = " ".join(f"'{package}'" for package in list_packages(extra)) or f"'fairtrial[{extra}]'"
    return f"{feature} needs the extra {extra!r}: pip install {packages}"


def list_packages(extra: str) -> list[str]:
    """Return the packages of an extra, or nothing if this installation does not know them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = [line.partition(";") for line in requires("fairtrial") or ()]
    except PackageNotFoundError:
        return []
    # For example: pyarrow>=17; extra == 'parquet'
    return [package.strip() for package, _, marker in requirements if f"extra == '{extra}'" in marker.replace('"', "'")]

"""Project files: the options of `fairtrial run` in `fairtrial.toml`, or in `pyproject.toml`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from fairtrial.config.claim_options import ClaimOptions
from fairtrial.config.option import Option
from fairtrial.config.reader import OptionReader
from fairtrial.config.reference import option_table
from fairtrial.config.wording import format_value
from fairtrial.errors import ConfigError, FormatError, nearest
from fairtrial.formats.adk import config_file
from fairtrial.formats.toml_text import decode, encode_texts, project_table
from fairtrial.store import DEFAULT_URL
from fairtrial.system.paths import is_repository

if TYPE_CHECKING:
    from fairtrial.api.checking import Checked
    from fairtrial.records.gate import Claim
    from fairtrial.records.record import Json

_NAMES = ("fairtrial.toml", "pyproject.toml")
_CLAIMS = Option(
    "claims",
    Annotated[tuple[ClaimOptions, ...], Meta(description="The claims that decide the exit code of `run` and `gate`.")],
    (),
)


@dataclass(frozen=True)
class ProjectKey:
    """An option that a project file may hold: its table ("" for the top), and the parameter of the command line.

    A value of a `path` is relative to the folder of the file.
    """

    table: str
    option: Option
    parameter: str
    is_path: bool = False

    @property
    def name(self) -> str:
        """The dotted name, for example `judge.model`."""
        return f"{self.table}.{self.option.name}" if self.table else self.option.name


@dataclass(frozen=True)
class Project:
    """A project file under a profile: the values by the parameters of the command line, and the claims of its gate."""

    path: Path
    values: Mapping[str, Any]
    claims: tuple[Claim, ...] = ()
    profiles: tuple[str, ...] = ()


def find_project(folder: Path) -> Path | None:
    """Return the project file of a folder, or of its nearest parent with one, up to the folder of the repository.

    Raises ConfigError if a folder holds two project files.
    """
    for place in (folder, *folder.parents):
        files = [file for file in (place / name for name in _NAMES) if _table_in(file) is not None]
        if len(files) > 1:
            raise ConfigError(f"{place}: holds two project files, {' and '.join(_NAMES)}; keep one")
        if files:
            return Path(os.path.relpath(files[0]))
        if is_repository(place):
            return None
    return None


def read_project(path: Path, keys: Sequence[ProjectKey], profile: str | None = None) -> Project:
    """Return the options of a project file under a profile. Raises ConfigError with every problem and its key."""
    raw = _table_in(path)
    if raw is None:
        raise ConfigError(f"{path}: holds no options of fairtrial")
    problems, reader = list(_secret_problems(raw)), OptionReader()
    profiles = raw.get("profile", {})
    if not isinstance(profiles, Mapping):
        reader.note("/profile", f"must be a table of profiles, got {format_value(profiles)}")
        profiles = {}
    top = {key: value for key, value in raw.items() if key not in ("profile", *config_file.TABLES)}
    values = _values(top, keys, reader, "")
    by_profile = {name: _values(table, keys, reader, f"/profile/{name}") for name, table in profiles.items()}
    if "config" in values and "criteria" in raw:
        reader.note("/config", "names a file, but the table criteria stands here, too; keep one")
    problems += [(place.removeprefix("/").replace("/", "."), problem) for place, problem in reader.misfits]
    if problems:
        raise ConfigError(*(": ".join(filter(None, (str(path), *problem))) for problem in problems))
    if profile is not None and profile not in by_profile:
        profile_list = f"; profiles: {', '.join(by_profile) or 'none'}"
        raise ConfigError(f"{path}: has no profile {profile!r}{nearest(profile, by_profile) or profile_list}")
    if "criteria" in raw:
        values["config"] = path.name
    values |= by_profile.get(profile or "", {})
    claims = tuple(options.claim for options in values.pop("gate.claims", ()))
    folder = os.path.relpath(path.parent)
    if folder != ".":
        values.setdefault("store", DEFAULT_URL)
    if isinstance(values.get("map"), str):
        values["map"] = (values["map"],)
    arguments = {key.parameter: _place_value(values[key.name], key, folder) for key in keys if key.name in values}
    return Project(path, arguments, claims, tuple(by_profile))


def check_project(path: Path, keys: Sequence[ProjectKey]) -> list[Checked]:
    """Return what a project file says, and the check of the criteria in it, with every problem."""
    from fairtrial.api.checking import Checked, check  # it reads every format

    try:
        project = read_project(path, keys)
    except (ConfigError, FormatError) as error:
        return [Checked(str(path), "cannot be read", tuple(text.removeprefix(f"{path}: ") for text in error.problems))]
    profiles = f", profiles: {', '.join(project.profiles)}" if project.profiles else ""
    checks = [Checked(str(path), f"project file, {len(project.values)} options{profiles}")]
    has_criteria = "criteria" in (_table_in(path) or {})
    return [*checks, *check([str(path)])] if has_criteria else checks


def read_map(path: Path) -> dict[str, str]:
    """Return the columns or paths in a file of `save_map`, by their parts. Raises FormatError."""
    try:
        raw = decode(path.read_bytes(), str(path))
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None
    if wrong := [name for name, value in raw.items() if not isinstance(value, str)]:
        raise FormatError(str(path), [f"{name}: must be a text, a column or a path" for name in wrong])
    return dict(raw)


def save_map(path: Path, columns: Mapping[str, str]) -> None:
    """Write columns or paths by their parts as TOML, which is also a table `map` of a project file."""
    try:
        path.write_text(encode_texts(columns), "utf-8")
    except (OSError, UnicodeEncodeError) as error:
        raise FormatError(str(path), [f"cannot be written: {error}"]) from None


def project_reference(keys: Sequence[ProjectKey]) -> str:
    """Return the tables of the reference page of project files, in Markdown."""
    sections = []
    for table in dict.fromkeys(key.table for key in keys):
        options = _read_options(table, keys)
        title = f"[{table}]" if table else "Top of the file"
        sections += [f"## {title}", option_table(options, {ClaimOptions: "claims.md"})]
    return "\n\n".join(sections)


def is_project_name(path: str) -> bool:
    """Whether a file has the name of a project file."""
    return Path(path).name in _NAMES


def _table_in(path: Path) -> dict[str, Any] | None:
    """Return the options in a file, or None if there is no such file, or if it is of other tools."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None
    return project_table(data, str(path))


def _read_options(table: str, keys: Sequence[ProjectKey]) -> list[Option]:
    return [key.option for key in keys if key.table == table] + ([_CLAIMS] if table == "gate" else [])


def _values(raw: Json, keys: Sequence[ProjectKey], reader: OptionReader, pointer: str) -> dict[str, Any]:
    """Return the checked values of the top of a file or of a profile, by dotted names."""
    tables = [table for table in dict.fromkeys(key.table for key in keys) if table]
    if not isinstance(raw, Mapping):
        reader.note(pointer, f"must be a table, got {format_value(raw)}")
        return {}
    table_options = [Option(table, Annotated[Any, Meta(description="A table of options.")], None) for table in tables]
    values = reader.values(raw, [*_read_options("", keys), *table_options], pointer)
    for table in tables:
        if table in values:
            own = reader.values(values.pop(table), _read_options(table, keys), f"{pointer}/{table}")
            values |= {f"{table}.{name}": value for name, value in own.items()}
    return values


def _place_value(value: Any, key: ProjectKey, folder: str) -> Any:
    """Return a value as the command line takes it: pairs as NAME=VALUE, and paths seen from the current folder."""
    if isinstance(value, Mapping):
        return tuple(f"{name}={item}" for name, item in value.items())
    if isinstance(value, tuple):
        return tuple(_place_value(item, key, folder) for item in value)
    if folder == "." or not isinstance(value, str):
        return value
    if key.name == "store":
        return value.replace("sqlite:///", f"sqlite:///{folder}/", 1) if _is_relative_sqlite(value) else value
    if key.name == "agent":
        return _place_agent(value, folder)
    return value if not key.is_path or value == "-" or "://" in value else os.path.join(folder, value)  # noqa: PTH118


def _is_relative_sqlite(url: str) -> bool:
    return url.startswith("sqlite:///") and not url.startswith("sqlite:////")


def _place_agent(target: str, folder: str) -> str:
    """Return a target whose file is seen from the current folder. A module is found by its path, too."""
    kind, _, rest = target.partition(":")
    if kind in ("adk", "endpoint"):
        return f"{kind}:{os.path.join(folder, rest)}"  # noqa: PTH118
    if kind.endswith(".py"):
        return f"{os.path.join(folder, kind)}:{rest}"  # noqa: PTH118
    file = Path(folder, *kind.split(".")).with_suffix(".py")
    return f"{file}:{rest}" if "//" not in target and file.is_file() else target


def _secret_problems(raw: Json) -> Iterator[tuple[str, str]]:
    """Yield a problem for each value that looks like a secret."""
    from fairtrial.text.redaction.redact_json import redact_json  # only a project file needs it

    for place in _changed_keys(raw, redact_json(raw, emails=False)[0]):
        yield place, "looks like a secret; keep it out of the file, and set an environment variable"


def _changed_keys(raw: Any, redacted: Any, place: str = "") -> Iterator[str]:
    if isinstance(raw, Mapping) and isinstance(redacted, Mapping) and raw.keys() == redacted.keys():
        for key, value in raw.items():
            yield from _changed_keys(value, redacted[key], f"{place}.{key}" if place else str(key))
    elif raw != redacted:
        yield place

"""Load the criteria of a file or of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.config.attempt_options import AttemptOptions, attempt_options
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.config.spelling import file_pointer
from fairtrial.errors import ConfigError, FormatError, OtherContentError, collecting, spell
from fairtrial.loading.cases import TOOL_MODEL, USER_MODEL, ModelPointers
from fairtrial.loading.found_files import CONFIG_NAMES, no_such_path
from fairtrial.loading.sources import Source, read_file, read_part
from fairtrial.metrics.catalog import build
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.record import Record
from fairtrial.records.result import Criterion
from fairtrial.simulate.environment_options import EnvironmentOptions, environment_options
from fairtrial.simulate.user_options import UserOptions, user_options
from fairtrial.system.paths import exists

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges

DEFAULTS = "defaults"
"""The origin of the criteria that count if no configuration names any."""
DEFAULT_CONFIG = EvalConfig(
    (
        ConfigPart("tool_trajectory_avg_score", 1.0, "/criteria/tool_trajectory_avg_score"),
        ConfigPart("response_match_score", 0.8, "/criteria/response_match_score"),
    )
)


class Criteria(Record, frozen=True):
    """The criteria for a file, their origin, and the warnings of their configuration.

    `informs` is true if the configuration is of a kind that cannot state thresholds.
    """

    criteria: tuple[Criterion, ...]
    origin: str
    sha256: str | None = None
    warnings: tuple[str, ...] = ()
    user_simulator: UserOptions | None = None
    environment: EnvironmentOptions | None = None
    model_pointers: ModelPointers = ModelPointers()
    informs: bool = False
    attempts: AttemptOptions = AttemptOptions()


def join_criteria(
    config: EvalConfig,
    *,
    origin: str,
    own: tuple[Criterion, ...] = (),
    lenient: bool = False,
    allow_code: bool = False,
    digest: str | None = None,
    judges: Judges | None = None,
) -> Criteria:
    """Return `own` criteria and the criteria of a configuration. Raises ConfigError that lists every problem."""
    if not config.criteria and not own:
        raise ConfigError(
            f"{origin}: /criteria: must name at least one criterion, such as {{'tool_trajectory_avg_score': 1.0}}"
        )
    problems: list[str] = []
    warnings: list[str] = []
    users: UserOptions | None = None
    environment: EnvironmentOptions | None = None
    with collecting(problems):
        criteria, notices = build(config, lenient=lenient, allow_code=allow_code, judges=judges)
        warnings += notices
    with collecting(problems):
        if config.user_simulator is not None:
            part = config.user_simulator
            users, unknown = user_options(part.value, pointer=part.pointer, lenient=lenient)
            warnings += unknown
    with collecting(problems):
        if config.environment is not None:
            part = config.environment
            environment, unknown = environment_options(part.value, pointer=part.pointer, lenient=lenient)
            warnings += unknown
    attempts = AttemptOptions()
    with collecting(problems):
        if config.attempts is not None:
            part = config.attempts
            attempts, unknown = attempt_options(part.value, pointer=part.pointer, lenient=lenient)
            warnings += unknown
    if problems:
        raise ConfigError(*(f"{origin}: {problem}" for problem in problems))
    placed = tuple(f"{origin}: {warning}" for warning in warnings)
    pointers = ModelPointers(
        _model_pointer(config.user_simulator, "model") or USER_MODEL,
        _model_pointer(config.environment, "simulation_model") or TOOL_MODEL,
    )
    return Criteria((*own, *criteria), origin, digest, placed, users, environment, pointers, config.informs, attempts)


def _model_pointer(part: ConfigPart | None, option: str) -> str:
    """Return the JSON pointer of the option that names a model, as the file spells it."""
    return "" if part is None else part.pointer + file_pointer(part.value, option)


def criteria_in(
    path: Path, *, lenient: bool = False, allow_code: bool = False, judges: Judges | None = None
) -> Criteria:
    """Return the criteria that a configuration file asks for."""
    with no_such_path(path):
        is_file = exists(path) and path.is_file()
    if not is_file:
        raise ConfigError(f"{path}: no such configuration file", code="no-such-file")
    try:
        loaded, digest = read_part(path, lenient=lenient)
    except FormatError as error:
        raise FormatError(str(path), find_problems(error, path, allow_code=allow_code, judges=judges)) from None
    if loaded.config is None:
        raise FormatError(str(path), [f"must hold an EvalConfig ({{'criteria': ...}}), got {loaded.kind}"])
    criteria = join_criteria(
        loaded.config, origin=str(path), lenient=lenient, allow_code=allow_code, digest=digest, judges=judges
    )
    return replace(criteria, warnings=(*loaded.warnings, *criteria.warnings))


def find_problems(
    error: FormatError, path: Path, *, allow_code: bool = False, judges: Judges | None = None
) -> tuple[str, ...]:
    """Return the problems that keep a file from being read, and those of its criteria if it is a configuration."""
    more: list[str] = []
    with suppress(FormatError), collecting(more):
        config = None if isinstance(error, OtherContentError) else read_file(path, lenient=True).config
        if config is not None and config.criteria:
            join_criteria(config, origin=str(path), allow_code=allow_code, judges=judges)
    return (*error.problems, *(problem.removeprefix(f"{path}: ") for problem in more))


class _UnusedConfig(NamedTuple):
    """A configuration beside an eval set that has another name than the names looked for."""

    path: Path
    config: EvalConfig

    @property
    def is_ours(self) -> bool:
        """Whether it holds a criterion that is known here. Other programs have criteria of their own."""
        return bool(self.config.custom_metrics) or any(part.name in CATALOG for part in self.config.criteria)

    @property
    def plays(self) -> bool:
        """Whether it says how conversations go, and not only how they are scored."""
        return any((self.config.user_simulator, self.config.environment, self.config.attempts))

    def __str__(self) -> str:
        advice = f"give it with {spell('criteria')}, call it {CONFIG_NAMES[0]}"
        if not self.is_ours:
            return f"{self.path}: holds no criterion that is known here, and is not used; if it is meant, {advice}"
        problem = "is a configuration, but would not be used"
        return f"{self.path}: {problem}; {advice}, or let the defaults decide with {spell('lenient')}"


def _unused_configs(folder: Path) -> Iterator[_UnusedConfig]:
    """Yield the configurations beside an eval set that are not looked for.

    For example, the author of `shop.config.json` does not expect that the defaults decide.
    """
    for path in sorted(folder.glob("*config*")):
        if path.suffix in (".json", ".yaml", ".yml") and path.is_file():
            with suppress(FormatError):
                config = read_file(path, lenient=True).config
                if config is not None:
                    yield _UnusedConfig(path, config)


def criteria_for(
    source: Source,
    *,
    lenient: bool = False,
    allow_code: bool = False,
    judges: Judges | None = None,
    is_scored: bool = True,
) -> Criteria:
    """Return the criteria of the nearest configuration, from beside the file up to the folder that was given.

    A configuration is a `test_config.json` or an `eval_config`. A dataset of agents-cli stands in a folder below its
    configuration, so that the parent folder is searched, too. Without a configuration: ADK's defaults. A configuration
    that nobody uses is an error, or a warning if nothing `is_scored` and it says nothing about conversations.
    """
    folder = Path(source.loaded.path).parent
    last = Path(source.root)
    if source.loaded.kind == "agents-cli dataset" and folder == last:
        last = last.resolve().parent
        folder = folder.resolve()
    while True:
        configs = [folder / name for name in CONFIG_NAMES if (folder / name).is_file()]
        if len(configs) > 1:
            names = " and ".join(path.name for path in configs)
            raise ConfigError(f"{folder}: holds {names}; keep one, or name one with {spell('criteria')}")
        if configs:
            return criteria_in(configs[0], lenient=lenient, allow_code=allow_code, judges=judges)
        if folder in (last, folder.parent):
            if source.loaded.eval_set is not None:
                _refuse_config_above(last, is_scored=is_scored)
            unused = tuple(_unused_configs(Path(source.loaded.path).parent))
            problems = [str(own) for own in unused if own.is_ours and (is_scored or own.plays)]
            if problems and not lenient:
                raise ConfigError(*problems)
            return replace(join_criteria(DEFAULT_CONFIG, origin=DEFAULTS), warnings=tuple(map(str, unused)))
        folder = folder.parent


def _refuse_config_above(folder: Path, *, is_scored: bool) -> None:
    """Raise ConfigError for a configuration in the folder above the one that is searched."""
    above = folder.resolve().parent
    paths = [above / name for name in CONFIG_NAMES]
    if not is_scored:
        paths = [own.path for own in _unused_configs(above) if own.plays and own.path in paths]
    for path in paths:
        if path.is_file():
            raise ConfigError(
                f"{folder}: holds no {CONFIG_NAMES[0]}, but the folder above holds {path}, which is not read; "
                f"name the criteria with {spell('criteria')}"
            )

"""A criterion of a configuration file with other options of its judge."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial import loading
from fairtrial.config.spelling import snake
from fairtrial.errors import ConfigError, nearest
from fairtrial.formats import yaml_text

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.records.record import Json
    from fairtrial.records.result import Criterion

_JUDGE = "judge_model_options"
_MODELS = frozenset({"judge_model", "judge_models"})


@dataclass(frozen=True)
class CriterionConfig:
    """A configuration, and the name of one of its criteria."""

    content: dict[str, Json]
    name: str
    origin: str = field(compare=False, default="")

    @classmethod
    def read(cls, path: Path, name: str) -> CriterionConfig:
        """Read a configuration. Raises ConfigError if it is no JSON object, or does not have the criterion."""
        try:
            data = path.read_bytes()
            is_yaml = path.suffix in yaml_text.SUFFIXES
            content = yaml_text.decode(data, str(path)) if is_yaml else msgspec.json.decode(data)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from None
        except msgspec.DecodeError as error:
            raise ConfigError(f"{path}: {error}") from None
        criteria = content.get("criteria") if isinstance(content, dict) else None
        if not isinstance(criteria, dict):
            raise ConfigError(f"{path}: must hold an EvalConfig ({{'criteria': ...}})")
        if name not in criteria:
            hint = nearest(name, list(criteria)) or f"; it has {', '.join(criteria)}"
            raise ConfigError(f"{path}: has no criterion {name!r}{hint}")
        return cls(content, name, str(path))

    @property
    def options(self) -> dict[str, Json]:
        """The options of the criterion. A threshold alone may stand in their place."""
        own = self.content["criteria"][self.name]
        return dict(own) if isinstance(own, dict) else {"threshold": own}

    @property
    def provenance(self) -> dict[str, Json]:
        """The runs and the labels that made the options of the criterion, if it was aligned before."""
        sources = self.content.get("provenance")
        own = sources.get(self.name) if isinstance(sources, dict) else None
        return own if isinstance(own, dict) else {}

    def with_changes(self, changes: Mapping[str, Json]) -> CriterionConfig:
        """Return the configuration with other options of the criterion. `judge_model_options` are merged.

        The file may spell an option in camelCase.
        """
        options = self.options
        if _JUDGE in changes:
            judge = next((own for key, own in options.items() if snake(key) == _JUDGE and isinstance(own, dict)), {})
            same = {key: own for key, own in judge.items() if snake(key) not in _MODELS}
            changes = {**changes, _JUDGE: _with_options(same, changes[_JUDGE])}
        options = _with_options(options, changes)
        content = copy.deepcopy(self.content)
        content["criteria"][self.name] = options
        return CriterionConfig(content, self.name, self.origin)

    def criterion(self, judges: Judges) -> Criterion:
        """Return the criterion. Raises ConfigError for options that it does not take."""
        alone = {**self.content, "criteria": {self.name: self.content["criteria"][self.name]}}
        with TemporaryDirectory(prefix="fairtrial-judge-") as folder:
            path = Path(folder) / "test_config.json"
            path.write_bytes(msgspec.json.encode(alone))
            try:
                criteria = loading.criteria_in(path, judges=judges)
            except ConfigError as error:
                problems = (problem.replace(str(path), self.origin) for problem in error.problems)
                raise ConfigError(*problems) from None
        return next(criterion for criterion in criteria.criteria if criterion.name == self.name)

    def encode(self, **more: Any) -> bytes:
        """Return the configuration with further fields, as YAML if its file is one, and as JSON otherwise."""
        content = {**self.content, **more}
        if Path(self.origin).suffix in yaml_text.SUFFIXES:
            import yaml

            return bytes(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, encoding="utf-8"))
        return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def _with_options(options: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json]:
    """Return options with changes, in whichever spelling the options are written."""
    return {**{key: own for key, own in options.items() if snake(key) not in changes}, **changes}

"""A criterion of a configuration file with other options of its judge."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from fairtrial import loading
from fairtrial.errors import ConfigError, nearest
from fairtrial.judge.judges import Judges
from fairtrial.records.record import Json
from fairtrial.records.result import Criterion

_JUDGE_OPTIONS = ("judge_model_options", "judgeModelOptions")


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
            content = msgspec.json.decode(path.read_bytes())
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
    def judge_options(self) -> dict[str, Json]:
        """The options of its judge."""
        own = self.options
        return next((dict(own[key]) for key in _JUDGE_OPTIONS if isinstance(own.get(key), dict)), {})

    def with_changes(self, changes: Mapping[str, Json]) -> CriterionConfig:
        """Return the configuration with other options of the criterion. `judge_model_options` are merged."""
        options = self.options
        for name, value in changes.items():
            if name == "judge_model_options":
                judge = {key: own for key, own in self.judge_options.items() if not _is_model(key)}
                for key in _JUDGE_OPTIONS:
                    options.pop(key, None)
                options[name] = {**judge, **value}
            else:
                options[name] = value
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
        """Return the configuration as JSON, with further fields."""
        return msgspec.json.format(msgspec.json.encode({**self.content, **more}), indent=2) + b"\n"


def _is_model(key: str) -> bool:
    return key in {"judge_model", "judgeModel", "judge_models", "judgeModels"}

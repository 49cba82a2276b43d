"""The options of an entry in `criteria`: a threshold in the criterion's range, and the metric's own options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from fairtrial.config.option import Option, Prepared
from fairtrial.config.reader import OptionReader
from fairtrial.errors import ConfigError

if TYPE_CHECKING:
    from fairtrial.config.eval_config import ConfigPart
    from fairtrial.records.score import Range


def _number(raw: Any) -> Any:
    """ADK reads `true` and `"0.5"` as thresholds."""
    if isinstance(raw, bool):
        return float(raw)
    try:
        return float(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


def threshold_option(scale: Range) -> Option:
    """Return the option `threshold` of a criterion with these values."""
    meta = Meta(description="the value that passes. Without a threshold the criterion only informs", **_limits(scale))
    return Option("threshold", Annotated[float, Prepared(_number), meta], None)


def read_criterion(
    part: ConfigPart, options: Sequence[Option], scale: Range, *, lenient: bool, open_ended: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the options that an entry of `criteria` gives, `threshold` among them, and warnings.

    The entry is an object, or its threshold alone. Raises ConfigError that lists every problem.
    """
    reader = OptionReader(lenient=lenient)
    if isinstance(part.value, Mapping):
        values = reader.values(part.value, (threshold_option(scale), *options), part.pointer, open_ended=open_ended)
        if "threshold" not in part.value and not lenient and not reader.misfits:
            reader.note(
                part.pointer,
                "must have 'threshold'; {'threshold': null} computes the criterion without deciding anything",
            )
    else:
        alone = Annotated[float, Prepared(_number, besides="an object with options"), Meta(**_limits(scale))]
        values = reader.values(part.options, options, part.pointer)
        values["threshold"] = reader.check(part.value, Option("threshold", alone), part.pointer)
    if reader.misfits:
        raise ConfigError(*reader.problems)
    return values, reader.warnings


def parse_threshold(raw: Any, scale: Range, place: str) -> float:
    """Return a threshold from Python. Raises ConfigError as for a file."""
    reader = OptionReader()
    value = reader.check(raw, Option("threshold", threshold_option(scale).annotation), place)
    if reader.misfits:
        raise ConfigError(*reader.problems)
    return float(value)


def _limits(scale: Range) -> dict[str, Any]:
    """The range as msgspec writes limits."""
    limits: dict[str, Any] = {}
    if scale.low is not None:
        limits["gt" if scale.open_low else "ge"] = scale.low
    if scale.high is not None:
        limits["lt" if scale.open_high else "le"] = scale.high
    return limits

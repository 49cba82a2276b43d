"""The parts of a configuration file. The reader of options checks them later."""

from __future__ import annotations

from fairtrial.records.record import Extra, Json, Record


class ConfigPart(Record, frozen=True):
    """One part of a configuration: its name, its value as the file spells it, and its JSON pointer.

    For example, `"response_match_score": 0.8` in `criteria` has the pointer "/criteria/response_match_score".
    `options` are options that the file states elsewhere than in the value, if the value is a threshold alone.
    """

    name: str
    value: Json = None
    pointer: str = ""
    options: dict[str, Json] = {}


class EvalConfig(Record, frozen=True):
    """The criteria of a run, the users' own metrics, and the options of attempts, simulated users and tools.

    `informs` is true for a kind of file that cannot state thresholds, such as an `eval_config` of agents-cli.
    """

    criteria: tuple[ConfigPart, ...]
    custom_metrics: tuple[ConfigPart, ...] = ()
    user_simulator: ConfigPart | None = None
    environment: ConfigPart | None = None
    extra: Extra = None
    informs: bool = False
    attempts: ConfigPart | None = None

"""The options of the pytest plugin. Each is an option of the command line and a setting of the ini file."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import pytest

Kind = Literal["text", "count", "number", "list", "flag"]


class PluginOption(NamedTuple):
    """One option: `--fairtrial-NAME` of the command line, `fairtrial_NAME` of the ini file."""

    name: str
    kind: Kind
    metavar: str
    help: str

    @property
    def ini_name(self) -> str:
        """The name of the setting."""
        return f"fairtrial_{self.name.replace('-', '_')}"


OPTIONS = (
    PluginOption("agent", "text", "TARGET", "collect eval sets themselves, and run this agent on their cases"),
    PluginOption("config", "text", "FILE", "the criteria; default: the nearest test_config.json, else ADK's defaults"),
    PluginOption("store", "text", "URL", "the store of the run, or none; default: .fairtrial/fairtrial.db"),
    PluginOption("judge-model", "text", "NAME", "the model that judges, instead of the config's"),
    PluginOption("cassette", "text", "FILE", "the file that records the calls of models, or replays them"),
    PluginOption("cassette-mode", "text", "MODE", "record, replay or auto"),
    PluginOption("max-cost", "number", "USD", "the largest total cost of models"),
    PluginOption("max-calls", "count", "N", "the largest number of calls of models"),
    PluginOption("attempts", "count", "N", "the number of conversations per case; default: the config's, else 1"),
    PluginOption("concurrency", "count", "N", "the largest number of cases at once; default: 8"),
    PluginOption("isolation", "text", "UNIT", "a fresh process: process, case, folder or case,folder"),
    PluginOption("requests-per-second", "number", "N", "the most messages a second to the agent"),
    PluginOption("conversation-timeout", "number", "SECONDS", "the longest time for all replies of a conversation"),
    PluginOption("only", "list", "ID", "run only cases with this id; * and ? are wildcards; repeatable"),
    PluginOption("html", "text", "FILE", "write one HTML page that opens anywhere"),
    PluginOption("json", "text", "FILE", "write the results as JSON"),
    PluginOption("markdown", "text", "FILE", "write Markdown for a pull request"),
    PluginOption("allow-unscored", "flag", "", "skip a case that could not be scored, instead of failing it"),
)
_BY_NAME = {option.name: option for option in OPTIONS}
_NUMBERS = {"count": int, "number": float}


def add_options(parser: pytest.Parser) -> None:
    """Add every option to the command line and to the ini file."""
    group = parser.getgroup("fairtrial", "evaluation of agents")
    for option in OPTIONS:
        destination: dict[str, Any] = {"dest": option.ini_name, "default": None, "help": option.help}
        if option.kind == "flag":
            group.addoption(f"--fairtrial-{option.name}", action="store_true", **destination)
        elif option.kind == "list":
            group.addoption(f"--fairtrial-{option.name}", action="append", metavar=option.metavar, **destination)
        else:
            kind = _NUMBERS.get(option.kind, str)
            group.addoption(f"--fairtrial-{option.name}", type=kind, metavar=option.metavar, **destination)
        ini_type: Any = {"flag": "bool", "list": "args"}.get(option.kind, "string")
        parser.addini(option.ini_name, option.help, type=ini_type, default=None)


def option_value(config: pytest.Config, name: str) -> Any:
    """Return the value of an option: from the command line, else from the ini file, else None."""
    option = _BY_NAME[name]
    value = config.getoption(option.ini_name)
    if value is not None and value is not False:
        return value
    setting = config.getini(option.ini_name)
    if setting in (None, "", []):
        return None
    try:
        return _NUMBERS[option.kind](setting) if option.kind in _NUMBERS else setting
    except ValueError:
        raise pytest.UsageError(f"{option.ini_name}: must be a number, got {setting!r}") from None

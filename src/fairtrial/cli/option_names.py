"""The options of the command line by the names of their arguments in Python."""

from __future__ import annotations

OPTION_NAMES = {
    "answers": "--answer",
    "columns": "--map",
    "criteria": "--config",
    "data_columns": "--columns",
    "eval_set": "--against",
    "filter_text": "--filter",
    "from_url": "--from",
    "labeler": "--as",
    "languages": "--language",
    "operators": "--operator",
    "thresholds": "--threshold",
}
"""Arguments whose option has another name. The option of every other argument has the argument's name."""


def name_option(argument: str) -> str:
    """Return the option of an argument, for example `--max-cost` of `max_cost`."""
    return OPTION_NAMES.get(argument) or f"--{argument.replace('_', '-')}"

"""The options about the way in which conversations are held."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from fairtrial import api
from fairtrial.cli.headed_command import under
from fairtrial.cli.options import flags

_ISOLATION = click.option(
    "--isolation",
    metavar="UNIT[,folder]",
    help="A fresh process for each conversation (process) or each case (case). folder: also an empty working directory "
    "and HOME.",
)
_RATE = click.option(
    "--requests-per-second",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="The most messages a second to the agent. After a refusal, all conversations wait.",
)
_TIMEOUT = click.option(
    "--conversation-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="The longest time for all replies of a conversation together.",
)
_SHUFFLE = under(
    "Agent",
    click.option(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="An order of the cases for each attempt. The run names the cases whose result depends on it.",
    ),
    rare=True,
)


def holding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options. The command receives them as `holding`."""
    return flags.with_options(unordered_holding_options(command), _SHUFFLE)


def unordered_holding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options, but for that of the order. The command receives them as `holding`."""

    @functools.wraps(command)
    def call_with_holding(
        *args: Any,
        isolation: str | None,
        requests_per_second: float | None,
        conversation_timeout: float | None,
        shuffle: int | None = None,
        **more_options: Any,
    ) -> Any:
        holding = api.Holding(isolation or "", shuffle, requests_per_second, conversation_timeout)
        return command(*args, holding=holding, **more_options)

    return flags.with_options(call_with_holding, under("Agent", _ISOLATION, _RATE, _TIMEOUT, rare=True))

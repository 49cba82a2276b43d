"""Shell completion for runs and cases of the store."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from fairtrial.errors import FairtrialError

_MOST = 100
"""The largest number of words that a shell shows without asking."""


def runs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the newest runs whose ids begin with the word, each with its verdict."""
    from fairtrial import api

    try:
        stored = api.runs(_store(ctx))
    except FairtrialError:  # a shell has no place for a message
        return []
    fitting = [run for run in stored if run.id.startswith(incomplete)]
    return [CompletionItem(run.id, help=f"{run.kind}, {run.verdict or 'not finished'}") for run in fitting[:_MOST]]


def cases(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the cases of the run on the command line whose ids begin with the word."""
    from fairtrial import api

    try:
        ids: Sequence[str] = api.case_ids(_store(ctx), str(ctx.params.get("run") or ""))
    except FairtrialError:
        return []
    return [name for name in ids if name.startswith(incomplete)][:_MOST]


def _store(ctx: click.Context) -> str:
    from fairtrial.api import DEFAULT_URL

    return str(ctx.params.get("store") or DEFAULT_URL)

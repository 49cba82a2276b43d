"""Which options do the commands share that say how sure you can be?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import click

from fairtrial.records.run_comparison import About

about = click.option(
    "--about",
    type=click.Choice(["cases-like-these", "these-cases"]),
    default="cases-like-these",
    show_default=True,
    help="Whether the cases are a sample, or fixed. Fixed cases need 2 or more attempts each.",
)
json_file = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the result as JSON; - is stdout.",
)
base_store = click.option("--base-store", metavar="URL", help="The store of the base run.  [default: the same store]")


def about_of(text: str) -> About:
    """Return the value of --about, which click has checked."""
    return cast("About", text)


def is_stdout(path: Path | None) -> bool:
    """Whether the JSON goes to stdout, so that nothing else may."""
    return path == Path("-")


def write(document: Any, path: Path | None) -> None:
    """Write a document as JSON, if a file is asked for."""
    from fairtrial import api

    if path is None:
        return
    encoded = api.encode_document(document)
    if is_stdout(path):
        sys.stdout.buffer.write(encoded)
        sys.stdout.buffer.flush()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded)

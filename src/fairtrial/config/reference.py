"""The option tables of the reference pages, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.config.option import Option


def option_table(options: Sequence[Option], pages: Mapping[type, str]) -> str:
    """Return the table of options. `pages` says where the options inside an option are documented."""
    rows = [
        f"| `{option.name}` | {_cell(option.allowed)} | {_default(option)} | {_cell(_text(option, pages))} |"
        for option in options
    ]
    return "\n".join(["| option | allowed | default | |", "|---|---|---|---|", *rows])


def _default(option: Option) -> str:
    return "required" if option.required else f"`{option.default_json}`"


def _text(option: Option, pages: Mapping[type, str]) -> str:
    links = [f"([options]({pages[kind]}))" for kind in option.kinds if kind in pages]
    return " ".join([option.description, *links])


def _cell(text: str) -> str:
    """Text in a cell: a bar outside of code would end the cell."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([|*<])", r"\\\1", part) for part in parts)

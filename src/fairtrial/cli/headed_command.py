"""Commands whose help lists options under headings. `--help-all` adds the rare options and all sentences."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import click

from fairtrial.text.languages import LANGUAGES, speaking

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
HEADINGS = (
    "Input",
    "Agent",
    "Attacks",
    "Criteria",
    "Claims",
    "Judge",
    "Limits",
    "Calls of models",
    "Traces",
    "Data sets",
    "Reports",
    "Store",
)
"""The headings of options, in the order of the help."""
_WITHOUT_HEADING = "Options"
_WIDEST_NAME = 28
_SENTENCE_END = re.compile(r"(?<=[\w)]\.) (?=[A-Z])")
_HEADING_OF: WeakKeyDictionary[click.Parameter, str] = WeakKeyDictionary()
_RARE: WeakKeyDictionary[click.Parameter, bool] = WeakKeyDictionary()


def under(heading: str, *options: Decorator, rare: bool = False) -> Decorator:
    """Return a decorator that adds options to a command, in this order and under a heading of its help.

    Only `--help-all` lists rare options. Options that have a heading already keep it.
    """
    if heading not in HEADINGS:
        raise ValueError(f"heading: must be one of {', '.join(HEADINGS)}, got {heading!r}")

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        before = set(getattr(command, "__click_params__", ()))
        for option in reversed(options):
            command = option(command)
        for parameter in set(getattr(command, "__click_params__", ())) - before:
            if parameter not in _HEADING_OF:
                _HEADING_OF[parameter] = heading
                _RARE[parameter] = rare
        return command

    return add


def find_heading(option: click.Parameter) -> str:
    """Return the heading of an option."""
    return _HEADING_OF.get(option, _WITHOUT_HEADING)


def heading_rank(heading: str) -> int:
    """Return the place of a heading in a help."""
    return HEADINGS.index(heading) if heading in HEADINGS else len(HEADINGS)


def is_rare(option: click.Parameter) -> bool:
    """Whether only `--help-all` lists the option."""
    return _RARE.get(option, False)


def language_option(help_text: str, name: str = "language") -> Decorator:
    """Return a decorator that adds `--lang` to a command that does more with the language than print in it."""
    return click.option("--lang", name, type=click.Choice(LANGUAGES), help=help_text)


_LANGUAGE = click.Option(
    ["--lang"],
    type=click.Choice(LANGUAGES),
    expose_value=False,
    help="The language of the terminal. Default: FAIRTRIAL_LANG, or the locale.",
)


class HeadedCommand(click.Command):
    """A command with a help of headings. A form feed in its docstring begins the details of `--help-all`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command, which prints in the language of a project file if `--lang` names none."""
        language = ctx.params.get("language")
        with speaking(language) if language else nullcontext():
            return super().invoke(ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with `--help-all` if the help leaves something out."""
        params = _with_language(super().get_params(ctx))
        if self._details or any(map(is_rare, params)):
            count = sum(isinstance(param, click.Option) for param in params)
            params.insert(len(params) - 1, _help_all(count))
        return params

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the docstring, with its details for `--help-all`."""
        super().format_help_text(ctx, formatter)
        if _lists_all(ctx) and self._details:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(self._details)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        params = self.get_params(ctx)
        lists_all = _lists_all(ctx) or not any(map(is_rare, params))
        for param in params:
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None and (lists_all or not is_rare(param)):
                name, text = record
                sections.setdefault(find_heading(param), []).append((name, text if lists_all else _shorten_help(text)))
        names = [name for rows in sections.values() for name, _ in rows if len(name) <= _WIDEST_NAME]
        width = max(map(len, names))
        for heading in (*HEADINGS, _WITHOUT_HEADING):
            if rows := sections.get(heading):
                # The first row has the width of all sections, so that their columns are in line.
                (name, text), *rest = rows
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), text), *rest], col_max=width)

    @property
    def _details(self) -> str:
        return inspect.cleandoc(self.help or "").partition("\f")[2].strip("\n")


class HeadedGroup(click.Group):
    """A group of commands with headings."""

    command_class = HeadedCommand
    group_class = type  # a group in this group is of the same class

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with `--lang`."""
        return _with_language(super().get_params(ctx))


def command(name: str | None = None) -> Callable[[Callable[..., Any]], HeadedCommand]:
    """Return a decorator that makes a command with headings."""
    return click.command(name, cls=HeadedCommand)


def _with_language(params: list[click.Parameter]) -> list[click.Parameter]:
    """Return parameters with `--lang` before `--help`. `find_language` reads its value."""
    if not any("--lang" in param.opts for param in params):
        params.insert(len(params) - 1, _LANGUAGE)
    return params


def _lists_all(ctx: click.Context) -> bool:
    return bool(ctx.meta.get(__name__))


def _shorten_help(text: str) -> str:
    """Return the first sentence of a help text, and the default and range that click adds."""
    sentences, bracket, limits = text.partition("  [")
    return _SENTENCE_END.split(sentences, maxsplit=1)[0] + bracket + limits


def _help_all(count: int) -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            ctx.meta[__name__] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help=f"Show all {count} options, and their details.",
    )

"""Templates of prompts.

Each template is a file with a version in its first line and two blocks, `system` and `question`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.llm.fences import Fences
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt

if TYPE_CHECKING:
    from jinja2 import Template

VERSION = re.compile(r"\A\{#- version: (\S+) -#\}")


@cache
def source(name: str) -> str:
    """Return the text of a template."""
    return (resources.files("fairtrial.llm") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


@cache
def version(name: str) -> str:
    """Return the version that a template's first line states."""
    head = VERSION.match(source(name))
    if not head:
        raise ConfigError(f"template {name!r}: its first line must be {{#- version: ... -#}}")
    return head[1]


def render(name: str, texts: Mapping[str, str], *, schema: dict[str, Json] | None = None, **values: Json) -> Prompt:
    """Make the prompt of a template.

    `texts` holds text from outside, which templates can reach only through `fenced(NAME)`. `values` are words and
    numbers of this package. Equal arguments give equal prompts.
    """
    fenced = Fences(texts, [name, version(name), values])
    template = _compiled(name)
    context = template.new_context({**values, "fenced": fenced, "mark": fenced.mark})
    system, text = ("".join(template.blocks[block](context)).strip() for block in ("system", "question"))
    return Prompt(id=name, version=version(name), text=text, system=system, schema=schema)


@cache
def _compiled(name: str) -> Template:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as missing:
        raise ConfigError(lacks_extra("asking a model", "judge")) from missing
    environment = Environment(  # noqa: S701 - the output is a prompt, where HTML escapes would change the text
        loader=FunctionLoader(source),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)

"""Templates of prompts.

A template is a file in the folder `templates` of the package that asks. It has a version in its first line, and these
blocks: `system` with everything that all questions share, `question` with the texts of one question, and a worked
example in each of four languages. A block `standing` may follow the examples. The shared text stands first, so that
providers can keep it in a prefix cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Templates:
    """The templates in the folder `templates` of a package."""

    package: str

    def source(self, name: str) -> str:
        """Return the text of a template."""
        return _source(self.package, name)

    def version(self, name: str) -> str:
        """Return the version that a template's first line states."""
        head = VERSION.match(self.source(name))
        if not head:
            raise ConfigError(f"template {name!r}: its first line must be {{#- version: ... -#}}")
        return head[1]

    def render(
        self,
        name: str,
        texts: Mapping[str, str],
        *,
        language: str = "en",
        standing: Mapping[str, str] | None = None,
        schema: dict[str, Json] | None = None,
        **values: Json,
    ) -> Prompt:
        """Make the prompt of a template. Equal arguments give equal prompts.

        `texts` holds the texts of one question, which templates can reach only through their fences. `standing` holds
        texts that all questions share. Their fences have a mark of their own, so that the shared part of the prompt
        stays equal. The worked example is in English, and also in `language`. `values` are words and numbers of this
        package. The marks do not depend on them, because a question may be asked with its answers in another order.
        """
        shared = Fences(standing or {}, [name, self.version(name), "standing"])
        fences = Fences(texts, [name, self.version(name)], [shared.mark] if standing else [])
        template = _ensure_compiled(self.package, name)
        functions = {"standard": fences.standard, "context": fences.context, "judged": fences.judged}
        functions |= {"standing": shared.standard}
        context = template.new_context({**values, **functions})

        def block(part: str) -> str:
            return "".join(template.blocks[part](context)).strip()

        parts = ["system", *dict.fromkeys(("example_en", f"example_{language}"))]
        # A standing text that resembles the text of an example stands behind the examples, so that it is not mixed up.
        parts += [part for part in ("standing",) if part in template.blocks]
        system = "\n\n".join(map(block, parts))
        return Prompt(id=name, version=self.version(name), text=block("question"), system=system, schema=schema)


@cache
def _source(package: str, name: str) -> str:
    return (resources.files(package) / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


@cache
def _ensure_compiled(package: str, name: str) -> Template:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as missing:
        raise ConfigError(lacks_extra("asking a model", "judge")) from missing
    environment = Environment(  # noqa: S701 - the output is a prompt, where HTML escapes would change the text
        loader=FunctionLoader(lambda part: _source(package, part)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)

"""Templates of prompts.

A template is a file in the folder `templates` of the asking package. It has a version in its first line, and these
blocks: `system` with everything that all questions share, `question` with the texts of one question, and a worked
example in each of four languages. A block `standing` may follow the examples. The shared text stands first, so that
providers can keep it in a prefix cache. A further version extends the usual one, and has only the blocks that differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.llm.fences import Fences
from fairtrial.records.reply import Prompt

if TYPE_CHECKING:
    from jinja2 import Template

    from fairtrial.records.record import Json

VERSION = re.compile(r"\A\{#- version: (\S+) -#\}")
_REASONS_FIRST = re.compile(r"\A\{#- version: \S+ -#\}\s*\{#- rationale: first -#\}")
_EXTENDS = re.compile(r'\A\{#- version: \S+ -#\}\s*(?:\{#- rationale: first -#\}\s*)?\{% extends "(\w+)" %\}')


@dataclass(frozen=True)
class Templates:
    """The templates in the folder `templates` of a package."""

    package: str

    def source(self, name: str, version: str = "") -> str:
        """Return a template's text. An older or newer `version` than the usual one stands in a folder of its own."""
        own = _OWN.get().get(name)
        return own if own is not None else _source(self.package, f"{name}/{version}" if version else name)

    def versions(self, name: str) -> dict[str, str]:
        """Return the versions of a template, each with the name under which its text is read: none for the usual."""
        folder = resources.files(self.package) / "templates" / name
        files = (file.name for file in folder.iterdir()) if folder.is_dir() else iter(())
        names = ("", *sorted(file.removesuffix(".jinja") for file in files if file.endswith(".jinja")))
        return {self.version(name, own): own for own in names}

    def version(self, name: str, version: str = "") -> str:
        """Return the version that a template's first line states."""
        head = VERSION.match(self.source(name, version))
        if not head:
            raise ConfigError(f"template {name!r}: its first line must be {{#- version: ... -#}}")
        return head[1]

    def reasons_first(self, name: str, version: str = "") -> bool:
        """Return whether a model reasons before it quotes. The second line of such a template says so."""
        return _REASONS_FIRST.match(self.source(name, version)) is not None

    def render(
        self,
        name: str,
        texts: Mapping[str, str],
        *,
        language: str = "en",
        standing: Mapping[str, str] | None = None,
        schema: dict[str, Json] | None = None,
        version: str = "",
        **values: Json,
    ) -> Prompt:
        """Make a template's prompt, in the usual version or another. Equal arguments give equal prompts.

        `texts` holds the texts of one question, which templates can reach only through their fences. `standing` holds
        texts that all questions share. Their fences have their own mark, so that the shared prompt part
        stays equal. The worked example is in English, and also in `language`. `values` are words and numbers of this
        package. The marks do not depend on them, because a question may be asked with its answers in another order.
        """
        stated = self.version(name, version)
        shared = Fences(standing or {}, [name, stated, "standing"])
        fences = Fences(texts, [name, stated], [shared.mark] if standing else [])
        layers = _layers(self.package, self.source(name, version))
        functions = {"standard": fences.standard, "context": fences.context, "judged": fences.judged}
        functions |= {"standing": shared.standard}
        reasons_first = self.reasons_first(name, version)
        context = layers[0].new_context({"reasons_first": reasons_first, **values, **functions})
        for base in layers[1:]:
            for part, render in base.blocks.items():
                context.blocks.setdefault(part, []).append(render)

        def block(part: str) -> str:
            return "".join(context.blocks[part][0](context)).strip()

        # A standing text that resembles the text of an example stands behind the examples, so that it is not mixed up.
        order = dict.fromkeys(("system", "example_en", f"example_{language}", "standing"))
        parts = [part for part in order if part in context.blocks]
        system = "\n\n".join(map(block, parts))
        return Prompt(id=name, version=stated, text=block("question"), system=system, schema=schema)


_OWN: ContextVar[Mapping[str, str]] = ContextVar("own templates", default={})  # noqa: B039  (never changed)


@contextmanager
def own_templates(templates: Mapping[str, str]) -> Iterator[None]:
    """Use templates of the user in place of those of the package during the block, by their names.

    Raises ConfigError if one cannot be read, or lacks its version or a block.
    """
    for name, text in templates.items():
        if not VERSION.match(text):
            raise ConfigError(f"template {name!r}: its first line must be {{#- version: ... -#}}")
        missing = [block for block in ("system", "question", "example_en") if f"block {block} " not in text]
        if missing and not _EXTENDS.match(text):
            raise ConfigError(f"template {name!r}: lacks the blocks {', '.join(missing)}")
    token = _OWN.set({**_OWN.get(), **templates})
    try:
        yield
    finally:
        _OWN.reset(token)


@cache
def _source(package: str, name: str) -> str:
    return (resources.files(package) / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def _layers(package: str, source: str) -> list[Template]:
    """Return a template, and those that it extends. A block of a template may contain `super()`."""
    templates = [_ensure_compiled(package, source)]
    while base := _EXTENDS.match(source):
        source = _source(package, base[1])
        templates.append(_ensure_compiled(package, source))
    return templates


@cache
def _ensure_compiled(package: str, source: str) -> Template:
    try:
        from jinja2 import FunctionLoader, StrictUndefined, TemplateSyntaxError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError as missing:
        raise ConfigError(lacks_extra("asking a model", "judge")) from missing
    environment = ImmutableSandboxedEnvironment(  # a prompt without HTML escapes, which would change the text
        loader=FunctionLoader(lambda part: _source(package, part)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as problem:
        raise ConfigError(f"template, line {problem.lineno}: {problem.message}") from None

"""Can a user's own template be used for a simulated user? It may be a stranger's, so it may only fill in and choose."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from assay.data.case import Persona
from assay.errors import ConfigError, SimulatorError, nearest
from assay.llm.fences import Fences
from assay.llm.model import Prompt

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import SandboxedEnvironment

_AT = "/user_simulator_config/custom_instructions"
_REQUIRED = ("stop_signal", "conversation_plan", "conversation_history")
_NAMES = (*_REQUIRED, "persona")
_PLACEHOLDERS = ("Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "Filter")
_CHOICES = ("If", "For", "CondExpr", "Compare", "Operand", "Not", "And", "Or")
_FILTERS = frozenset({"trim", "upper", "lower", "length", "default", "join"})


def validated(template: str, *, persona: bool) -> str:
    """Return the template; it must use the plan, the history, the stop signal, and `persona` where there is one.

    It may hold placeholders, conditions, and loops over the persona's parts; nothing that calls, computes or includes.
    Raises ConfigError otherwise.
    """
    from jinja2 import TemplateSyntaxError, meta

    try:
        tree = _sandbox().parse(template)
    except TemplateSyntaxError as error:
        raise ConfigError(f"{_AT}: line {error.lineno}: is not a Jinja template: {error.message}") from None
    used = meta.find_undeclared_variables(tree)
    required = _NAMES if persona else _REQUIRED
    lacking = [name for name in required if name not in used]
    if lacking:
        raise ConfigError(f"{_AT}: must use {', '.join('{{ ' + name + ' }}' for name in lacking)}")
    for name in sorted(used - set(_NAMES)):
        raise ConfigError(f"{_AT}: uses {name!r}, which nothing fills{nearest(name, _NAMES)}")
    for node in tree.find_all(_node_type()):
        _check_node(node)
    return template


def _node_type() -> type[nodes.Node]:
    from jinja2 import nodes

    return nodes.Node


def _check_node(node: nodes.Node) -> None:
    kind = type(node).__name__
    place = f"{_AT}: line {node.lineno}"
    if kind not in _PLACEHOLDERS + _CHOICES:
        raise ConfigError(f"{place}: may hold placeholders, conditions and loops over the persona, got {kind}")
    if kind == "Filter" and getattr(node, "name", "") not in _FILTERS:
        raise ConfigError(
            f"{place}: may use the filters {', '.join(sorted(_FILTERS))}, got {getattr(node, 'name', '')}"
        )
    if kind == "For" and not isinstance(getattr(node, "iter", None), _attribute_type()):
        raise ConfigError(f"{place}: may loop over parts of the persona only, such as persona.behaviors")


def _attribute_type() -> type[nodes.Getattr]:
    from jinja2 import nodes

    return nodes.Getattr


class _Described(dict[str, object]):
    """A persona whose parts can be reached, and which prints as its description."""

    def __str__(self) -> str:
        return str(self.get("words", ""))


def custom_prompt(
    template: str, texts: Mapping[str, str], *, stop_signal: str, persona: Persona | None = None
) -> Prompt:
    """Return the prompt that a validated template makes; what others wrote reaches it fenced.

    Raises SimulatorError where the template fails.
    """
    fenced = Fences(texts, ["custom_instructions", template, stop_signal])
    parts = msgspec.to_builtins(persona) if persona is not None else {}
    values = {
        "stop_signal": stop_signal,
        "conversation_plan": fenced("plan"),
        "conversation_history": fenced("conversation"),
        "persona": _Described(parts, words=fenced("persona")) if "persona" in texts else "",
    }
    try:
        text = _sandbox().from_string(template).render(values)
    except Exception as error:
        raise SimulatorError(f"custom_instructions failed: {type(error).__name__}: {error}") from error
    return Prompt("custom_instructions", "custom", text)


@cache
def _sandbox() -> SandboxedEnvironment:
    try:
        from jinja2 import StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise ConfigError("simulated users need the extra 'judge': pip install 'agent-assay[judge]'") from None
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)

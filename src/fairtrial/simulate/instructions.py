"""Custom templates for simulated users. A template may come from a stranger, so it may only fill in and choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fairtrial.errors import ConfigError, SimulatorError, lacks_extra, nearest
from fairtrial.llm.fences import Fences
from fairtrial.records.reply import Prompt

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import SandboxedEnvironment

    from fairtrial.records.case import Behavior, Persona

_REQUIRED = ("stop_signal", "conversation_plan", "conversation_history")
_NAMES = (*_REQUIRED, "persona")
_PLACEHOLDERS = ("Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "Filter", "Call")
_CHOICES = ("If", "For", "CondExpr", "Compare", "Operand", "Not", "And", "Or")
_FILTERS = ("trim", "upper", "lower", "length", "default", "join", "render_string_filter")
_LISTS = ("behaviors", "behavior_instructions", "violation_rubrics")
_TEXTS_OF_ADK = ("get_behavior_instructions_str", "get_violation_rubrics_str")
_PARTS = ("id", "description", "name", *_LISTS, *_TEXTS_OF_ADK)
_OF_LOOPS = ("index", "index0", "first", "last", "length", "revindex", "revindex0")
_TIMES = 10
"""A prompt may be this many times as long as the template and its texts together."""


def validate(template: str, *, persona: bool) -> str:
    """Return the template, if it uses the plan, the history, the stop signal, and the persona if there is one.

    A template may hold placeholders, conditions, and loops over the lists of the persona. It may not call, compute or
    include anything, except the two methods and the filter of ADK's own templates. For example, `{{ 2 * 3 }}` is
    refused. Raises ConfigError for such a template.
    """
    from jinja2 import TemplateSyntaxError

    try:
        _check(_sandbox().parse(template), persona=persona)
    except TemplateSyntaxError as error:
        raise ConfigError(f"line {error.lineno}: is not a Jinja template: {error.message}") from None
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"is nested too deeply, or holds a number that is too large: {error}") from None
    return template


def _check(tree: nodes.Template, *, persona: bool) -> None:
    from jinja2 import meta, nodes

    variables = meta.find_undeclared_variables(tree)
    required = _NAMES if persona else _REQUIRED
    lacking = [name for name in required if name not in variables]
    if lacking:
        raise ConfigError(f"must use {', '.join('{{ ' + name + ' }}' for name in lacking)}")
    for name in sorted(variables - set(_NAMES)):
        raise ConfigError(f"uses {name!r}, which nothing fills{nearest(name, _NAMES)}")
    for node in tree.find_all(nodes.Node):
        problem = _problem(node)
        if problem:
            raise ConfigError(f"line {node.lineno}: {problem}")
    _check_loops(tree, "persona")


def _problem(node: Any) -> str:
    """Return the problem of a node of a template, or an empty string."""
    kind = type(node).__name__
    if kind not in _PLACEHOLDERS + _CHOICES:
        return f"may hold placeholders, conditions and loops over the persona, got {kind}"
    if kind in ("Getattr", "Getitem"):
        return _problem_of_part(node)
    if kind == "Call" and (getattr(node.node, "attr", "") not in _TEXTS_OF_ADK or _arguments(node)):
        return f"may call {' and '.join(_TEXTS_OF_ADK)} without arguments, and nothing else, got Call"
    return _problem_of_filter(node) if kind == "Filter" else ""


def _problem_of_filter(node: Any) -> str:
    if node.name not in _FILTERS:
        return f"may use the filters {', '.join(sorted(_FILTERS))}, got {node.name}"
    plain = all(type(argument).__name__ == "Const" for argument in _arguments(node))
    return "" if plain else f"the filter {node.name} takes plain values only"


def _problem_of_part(node: Any) -> str:
    name = node.attr if type(node).__name__ == "Getattr" else getattr(node.arg, "value", None)
    if name in _PARTS + _OF_LOOPS:
        return ""
    return f"a persona has no {name!r}{nearest(str(name), _PARTS)}; it has {', '.join(_PARTS)}"


def _arguments(node: Any) -> list[Any]:
    return [*node.args, *node.kwargs, *filter(None, (node.dyn_args, node.dyn_kwargs))]


def _check_loops(node: nodes.Node, source: str) -> None:
    """Raise ConfigError unless every loop is over a list of the persona, and every inner loop over a list of its item.

    The number of rounds is then at most the number of entries of the persona.
    """
    from jinja2 import nodes

    for child in node.iter_child_nodes():
        if not isinstance(child, nodes.For):
            _check_loops(child, source)
            continue
        over: Any = child.iter
        if getattr(over, "attr", "") not in _LISTS or getattr(over.node, "name", "") != source:
            lists = " or ".join(f"{source}.{name}" for name in (_LISTS[:1] if source == "persona" else _LISTS[1:]))
            raise ConfigError(f"line {child.lineno}: may loop over {lists} here")
        _check_loops(child, getattr(child.target, "name", ""))


@dataclass(frozen=True)
class _TemplateBehavior:
    """A behavior as a template sees it, with the methods of ADK's behaviors."""

    name: str
    description: str
    behavior_instructions: tuple[str, ...]
    violation_rubrics: tuple[str, ...]

    def get_behavior_instructions_str(self) -> str:
        """Return the instructions as a list."""
        return "\n".join(f"  * {instruction}" for instruction in self.behavior_instructions)

    def get_violation_rubrics_str(self) -> str:
        """Return the rubrics as a list."""
        return "\n".join(f"  * {rubric}" for rubric in self.violation_rubrics)


@dataclass(frozen=True)
class _TemplatePersona:
    """A persona as a template sees it, with its parts as attributes and its description as text."""

    id: str
    description: str
    behaviors: tuple[_TemplateBehavior, ...]
    words: str

    def __str__(self) -> str:
        return self.words


def _template_behavior(behavior: Behavior) -> _TemplateBehavior:
    return _TemplateBehavior(
        behavior.name, behavior.description, behavior.behavior_instructions, behavior.violation_rubrics
    )


def custom_prompt(
    template: str, texts: Mapping[str, str], *, stop_signal: str, persona: Persona | None = None
) -> Prompt:
    """Return the prompt of a validated template. Text from outside is fenced.

    Raises SimulatorError if the template fails, or if the prompt is far longer than the texts in it.
    """
    fences = Fences(texts, ["custom_instructions", template, stop_signal])
    values: dict[str, Any] = {
        "stop_signal": stop_signal,
        "conversation_plan": fences.standard("plan"),
        "conversation_history": fences.context("conversation"),
        "persona": "",
    }
    if persona is not None:
        behaviors = tuple(map(_template_behavior, persona.behaviors))
        values["persona"] = _TemplatePersona(persona.id, persona.description, behaviors, fences.standard("persona"))
    most = _TIMES * (len(template) + sum(len(fences.context(name)) for name in texts))
    try:
        text = "".join(_limit_pieces(_sandbox().from_string(template).generate(values), most))
    except Exception as error:
        raise SimulatorError(f"custom_instructions failed: {type(error).__name__}: {error}") from error
    return Prompt("custom_instructions", "custom", text)


def _limit_pieces(pieces: Iterable[str], most: int) -> Iterator[str]:
    """Yield the pieces. Raises ValueError if they have more than `most` characters together."""
    for piece in pieces:
        most -= len(piece)
        if most < 0:
            raise ValueError(f"the prompt would be more than {_TIMES} times as long as the template and its texts")
        yield piece


@cache
def _sandbox() -> SandboxedEnvironment:
    try:
        from jinja2 import StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise ConfigError(lacks_extra("a simulated user", "judge")) from None
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    # In ADK, this filter puts the stop signal into the texts of a persona. Here, the texts hold it already.
    environment.filters["render_string_filter"] = str
    return environment

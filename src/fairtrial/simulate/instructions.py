"""Can a user's own template be used for a simulated user? It may be a stranger's, so it may only fill in and choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fairtrial.errors import ConfigError, SimulatorError, lacks_extra, nearest
from fairtrial.llm.fences import Fences
from fairtrial.records.case import Behavior, Persona
from fairtrial.records.reply import Prompt

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import SandboxedEnvironment

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
"""A prompt may be so many times as long as all that goes into it."""


def validated(template: str, *, persona: bool) -> str:
    """Return the template; it must use the plan, the history, the stop signal, and `persona` where there is one.

    It may hold placeholders, conditions, and loops over the persona's lists; nothing that calls, computes or includes,
    but for the two methods and the filter that ADK's own templates use. Raises ConfigError otherwise.
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

    used = meta.find_undeclared_variables(tree)
    required = _NAMES if persona else _REQUIRED
    lacking = [name for name in required if name not in used]
    if lacking:
        raise ConfigError(f"must use {', '.join('{{ ' + name + ' }}' for name in lacking)}")
    for name in sorted(used - set(_NAMES)):
        raise ConfigError(f"uses {name!r}, which nothing fills{nearest(name, _NAMES)}")
    for node in tree.find_all(nodes.Node):
        problem = _problem(node)
        if problem:
            raise ConfigError(f"line {node.lineno}: {problem}")
    _check_loops(tree, "persona")


def _problem(node: Any) -> str:
    """What is wrong with one node of a template by itself; empty where nothing is."""
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
    plain = all(type(one).__name__ == "Const" for one in _arguments(node))
    return "" if plain else f"the filter {node.name} may be given plain values only"


def _problem_of_part(node: Any) -> str:
    name = node.attr if type(node).__name__ == "Getattr" else getattr(node.arg, "value", None)
    if name in _PARTS + _OF_LOOPS:
        return ""
    return f"a persona has no {name!r}{nearest(str(name), _PARTS)}; it has {', '.join(_PARTS)}"


def _arguments(node: Any) -> list[Any]:
    return [*node.args, *node.kwargs, *filter(None, (node.dyn_args, node.dyn_kwargs))]


def _check_loops(node: nodes.Node, source: str) -> None:
    """Raise ConfigError unless every loop goes over a list of the persona, one inside another over a list of its item.

    Then the rounds of all loops are as many as the persona has entries.
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
class _Habit:
    """A behavior as a template sees it, with the methods of ADK's."""

    name: str
    description: str
    behavior_instructions: tuple[str, ...]
    violation_rubrics: tuple[str, ...]

    def get_behavior_instructions_str(self) -> str:
        """Return the instructions as a list."""
        return "\n".join(f"  * {one}" for one in self.behavior_instructions)

    def get_violation_rubrics_str(self) -> str:
        """Return the rubrics as a list."""
        return "\n".join(f"  * {one}" for one in self.violation_rubrics)


@dataclass(frozen=True)
class _Shown:
    """A persona as a template sees it: its parts can be reached, and it prints as its description in words."""

    id: str
    description: str
    behaviors: tuple[_Habit, ...]
    words: str

    def __str__(self) -> str:
        return self.words


def _habit(one: Behavior) -> _Habit:
    return _Habit(one.name, one.description, one.behavior_instructions, one.violation_rubrics)


def custom_prompt(
    template: str, texts: Mapping[str, str], *, stop_signal: str, persona: Persona | None = None
) -> Prompt:
    """Return the prompt that a validated template makes; what others wrote reaches it fenced.

    Raises SimulatorError where the template fails, or makes more of its texts than any instruction needs.
    """
    fenced = Fences(texts, ["custom_instructions", template, stop_signal])
    values: dict[str, Any] = {
        "stop_signal": stop_signal,
        "conversation_plan": fenced("plan"),
        "conversation_history": fenced("conversation"),
        "persona": "",
    }
    if persona is not None:
        habits = tuple(map(_habit, persona.behaviors))
        values["persona"] = _Shown(persona.id, persona.description, habits, fenced("persona"))
    most = _TIMES * (len(template) + sum(len(fenced(name)) for name in texts))
    try:
        text = "".join(_bounded(_sandbox().from_string(template).generate(values), most))
    except Exception as error:
        raise SimulatorError(f"custom_instructions failed: {type(error).__name__}: {error}") from error
    return Prompt("custom_instructions", "custom", text)


def _bounded(pieces: Iterable[str], most: int) -> Iterator[str]:
    """Yield the pieces; raises ValueError where they are more than `most` characters together."""
    for piece in pieces:
        most -= len(piece)
        if most < 0:
            raise ValueError(f"the prompt would be more than {_TIMES} times as long as all that goes into it")
        yield piece


@cache
def _sandbox() -> SandboxedEnvironment:
    try:
        from jinja2 import StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise ConfigError(lacks_extra("a simulated user", "judge")) from None
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    # In ADK it fills the stop signal into a persona's texts, which is done here before a template sees them.
    environment.filters["render_string_filter"] = str
    return environment

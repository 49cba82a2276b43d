"""Declare the messages that the reader of a dialect uses as a whole. Their leaves need not be compared one by one.

Most messages of a dialect have one of a few shapes. A shape names the keys whose values the reader uses, each with the
type that its value must have. Keys that carry nothing for scoring may stand beside them. A message of any other shape
is not covered, and its values are compared with what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, NoneType
from typing import Any, Literal, NamedTuple

from fairtrial.formats.known_keys import KNOWN_KEYS

_MOST_PLANS = 256
"""So many combinations of keys of a shape are remembered. Foreign files may hold any number of them."""

_Test = Callable[[Any], bool]


class Leaf(NamedTuple):
    """A value that a reader uses: its types, any if there are none, each with what else must be true of the value.

    A reader does not use an object without a `required` value.
    """

    types: Mapping[type, _Test | None] = MappingProxyType({})
    is_required: bool = False


_Plan = tuple[tuple[str, Mapping[type, _Test | None]], ...]


class Shape:
    """An object that a reader uses as a whole: the leaves under its keys.

    `one_of` are groups of keys, such as `"input args"`. A reader uses one key of a group.
    """

    def __init__(self, leaves: Mapping[str, Leaf] | None = None, *, one_of: tuple[str, ...] = ()) -> None:
        self._leaves = dict(leaves or {})
        self._one_of = tuple(frozenset(group.split()) for group in one_of)
        self._required = frozenset(key for key, leaf in self._leaves.items() if leaf.is_required)
        self.plans: dict[tuple[str, ...], _Plan | Literal[False]] = {}
        """The plans of `make_plan`, by the keys of an object."""

    def covers(self, value: dict[str, Any]) -> bool:
        """Whether the reader uses each leaf of an object."""
        keys = tuple(value)
        plan = self.plans.get(keys)
        if plan is None:
            plan = self.make_plan(keys)
        return plan is not False and _meets(value, plan)

    def make_plan(self, keys: tuple[str, ...]) -> _Plan | Literal[False]:
        """Return the leaves that an object with some keys must have, or False if it lacks a key or has another."""
        plan: _Plan | Literal[False] = False
        beside = set(keys) - self._leaves.keys()
        is_single = all(len(group.intersection(keys)) <= 1 for group in self._one_of)
        if is_single and KNOWN_KEYS.issuperset(beside) and self._required.issubset(keys):
            leaves = ((key, self._leaves[key].types) for key in keys if key in self._leaves)
            plan = tuple((key, types) for key, types in leaves if types)
        if len(self.plans) < _MOST_PLANS:
            self.plans[keys] = plan
        return plan


def _meets(value: dict[str, Any], plan: _Plan) -> bool:
    """Whether the leaves of an object are as a plan says."""
    for key, tests in plan:
        inner = value[key]
        test = tests.get(type(inner), _is_refused)
        if test is not None and not test(inner):
            return False
    return True


NO_SHAPES: Mapping[str, Shape] = MappingProxyType({})


class Shapes(NamedTuple):
    """Shapes by a key of the objects, for example by their type. An object without the key has the shape of `""`.

    `beginnings` are shapes of all types that begin with a text, for example with `tool-`.
    """

    key: str
    shapes: Mapping[str, Shape]
    beginnings: Mapping[str, Shape] = NO_SHAPES

    def covers(self, value: Any) -> bool:
        """Whether a reader uses each leaf of an object."""
        return self.cover_all((value,))

    def cover_all(self, values: Iterable[Any]) -> bool:
        """Whether a reader uses each leaf of some objects."""
        type_key, shapes = self.key, self.shapes
        for value in values:
            kind = value.get(type_key, "") if type(value) is dict else None
            if type(kind) is not str:
                return False
            shape = shapes.get(kind) or self._beginning(kind)
            if shape is None:
                return False
            # A file may hold very many values, so that nothing is called for most of them.
            keys = tuple(value)
            plan = shape.plans.get(keys)
            if plan is None:
                plan = shape.make_plan(keys)
            if plan is False or not _meets(value, plan):
                return False
        return True

    def _beginning(self, kind: str) -> Shape | None:
        for start, shape in self.beginnings.items():
            if kind.startswith(start) and kind != start:
                return shape
        return None


def inside(shapes: Shapes | Shape) -> Leaf:
    """Return the leaf of an object inside another."""
    return Leaf({dict: shapes.covers})


def list_leaf(shapes: Shapes) -> Leaf:
    """Return the leaf of a list of objects."""
    return Leaf({list: shapes.cover_all})


def text_or(shapes: Shapes) -> Leaf:
    """Return the leaf of a text, or of a list of objects in its place. It may be null."""
    return Leaf({str: None, NoneType: None, list: shapes.cover_all})


def _is_refused(_: Any) -> bool:
    """Return false, for a value of another type."""
    return False


def _is_empty(value: Any) -> bool:
    return not value


def _is_object(text: str) -> bool:
    return text[:1] == "{"


ANYTHING = Leaf()
TEXT = Leaf({str: None})
NAME = Leaf({str: bool}, is_required=True)
"""A name that is not empty. A call without a name is not read in full."""
FLAG = Leaf({bool: None})
OBJECT = Leaf({dict: None})
ARGUMENTS = Leaf({dict: None, str: _is_object})
"""An object, or the text of one."""
EMPTY = Leaf({dict: _is_empty})
"""An object without any key."""

"""Declare the messages that the reader of a dialect uses as a whole. Their leaves need not be compared one by one.

Most messages of a dialect have one of a few shapes. A shape names the keys whose values the reader uses, each with the
type that its value must have. Keys that carry nothing for scoring may stand beside them. A message of any other shape
is not covered, and its values are compared with what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fairtrial.formats.known_keys import KNOWN_KEYS

_MOST_PLANS = 256
"""So many combinations of keys of a shape are remembered. Foreign files may hold any number of them."""

_Test = Callable[[Any], bool]


class Leaf(NamedTuple):
    """A value that a reader uses: its types, any if there are none, and what else must be true of it.

    A reader does not use an object without a `required` value.
    """

    types: frozenset[type] = frozenset()
    test: _Test | None = None
    is_required: bool = False


_Plan = tuple[tuple[str, frozenset[type], _Test | None], ...]


class Shape:
    """An object that a reader uses as a whole: the leaves under its keys.

    `one_of` are groups of keys, such as `"input args"`. A reader uses one key of a group.
    """

    def __init__(self, leaves: Mapping[str, Leaf] | None = None, *, one_of: tuple[str, ...] = ()) -> None:
        self._leaves = dict(leaves or {})
        self._one_of = tuple(frozenset(group.split()) for group in one_of)
        self._required = frozenset(key for key, leaf in self._leaves.items() if leaf.is_required)
        self._plans: dict[tuple[str, ...], _Plan | None] = {}

    def covers(self, value: dict[str, Any]) -> bool:
        """Whether the reader uses each leaf of an object."""
        keys = tuple(value)
        plan = self._plans[keys] if keys in self._plans else self._plan(keys)
        if plan is None:
            return False
        for key, types, test in plan:
            inner = value[key]
            if types and type(inner) not in types:
                return False
            if test is not None and not test(inner):
                return False
        return True

    def _plan(self, keys: tuple[str, ...]) -> _Plan | None:
        """Return the leaves that an object with some keys must have, or None if it lacks a key or has another."""
        plan: _Plan | None = None
        others = set(keys) - self._leaves.keys()
        is_single = all(len(group.intersection(keys)) <= 1 for group in self._one_of)
        if is_single and KNOWN_KEYS.issuperset(others) and self._required.issubset(keys):
            leaves = ((key, self._leaves[key]) for key in keys if key in self._leaves)
            plan = tuple((key, leaf.types, leaf.test) for key, leaf in leaves)
        if len(self._plans) < _MOST_PLANS:
            self._plans[keys] = plan
        return plan


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
        if type(value) is not dict:
            return False
        kind = value.get(self.key, "")
        if type(kind) is not str:
            return False
        shape = self.shapes.get(kind)
        if shape is None:
            if not self.beginnings:
                return False
            starts = (start for start in self.beginnings if kind.startswith(start) and kind != start)
            shape = self.beginnings.get(next(starts, ""))
        return shape is not None and shape.covers(value)

    def cover_all(self, values: list[Any]) -> bool:
        """Whether a reader uses each leaf of a list of objects."""
        return all(map(self.covers, values))


def inside(shapes: Shapes | Shape) -> Leaf:
    """Return the leaf of an object inside another."""
    return Leaf(frozenset((dict,)), shapes.covers)


def listed(shapes: Shapes) -> Leaf:
    """Return the leaf of a list of objects."""
    return Leaf(frozenset((list,)), shapes.cover_all)


def text_or(shapes: Shapes) -> Leaf:
    """Return the leaf of a text, or of a list of objects in its place. It may be null."""
    return Leaf(frozenset((str, list, type(None))), lambda value: type(value) is not list or shapes.cover_all(value))


def _is_object(value: Any) -> bool:
    return type(value) is dict or value[:1] == "{"


ANYTHING = Leaf()
TEXT = Leaf(frozenset((str,)))
NAME = Leaf(frozenset((str,)), bool, is_required=True)
"""A name that is not empty. A call without a name is not read in full."""
FLAG = Leaf(frozenset((bool,)))
ARGUMENTS = Leaf(frozenset((dict, str)), _is_object)
"""An object, or the text of one."""
EMPTY = Leaf(frozenset((dict, list)), lambda value: not value)

"""A check of a reply or of the arguments of a call, which needs no model."""

from __future__ import annotations

from typing import Literal, get_args

from fairtrial.records.record import Json, Record

ValueKind = Literal["equals", "contains", "not_contains", "starts_with", "one_of", "regex", "json_schema", "similar"]
"""A check that compares a value."""
GroupKind = Literal["any", "all", "not"]
"""A check that combines other checks."""

VALUE_KINDS: tuple[ValueKind, ...] = get_args(ValueKind)
GROUP_KINDS: tuple[GroupKind, ...] = get_args(GroupKind)


class Check(Record, frozen=True):
    """One check. For example, `Check("contains", "A-17")` holds if the reply contains A-17.

    `value` is what is expected: a text, for `contains` and `not_contains` also a list of texts, for `one_of` a list,
    and for `json_schema` a schema. `checks` are the members of `any`, `all` and `not`. With `tool`, the check is about
    the calls of a tool: about one `argument`, or about all arguments as an object. `calls` says which calls must
    satisfy it: `every` call and at least one, `any` of them, or every call `if_called`. `ignore_case` makes capital
    and small letters, and full and half width, equal. `fenced` allows the JSON of a reply to stand in a Markdown code
    block. `threshold` is the least cosine similarity for `similar`. `name` is the name of the check in reports.
    """

    kind: ValueKind | GroupKind
    value: Json = None
    checks: tuple[Check, ...] = ()
    tool: str = ""
    argument: str = ""
    calls: Literal["every", "any", "if_called"] = "every"
    ignore_case: bool = False
    fenced: bool = False
    threshold: float = 0.8
    name: str = ""

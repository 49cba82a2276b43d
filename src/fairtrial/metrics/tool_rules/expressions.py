"""The small closed language of comparisons between arguments, earlier calls and earlier results.

For example `amount <= result(get_order, order_id).total`. Nothing is evaluated as code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.metrics.tool_rules.call_history import PastCall, decode_result
from fairtrial.records.equality import equal_json
from fairtrial.text.display import compact, shorten
from fairtrial.text.json_path import JsonPath
from fairtrial.text.provenance import fold

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_LONGEST = 300
_NAME = r"[\w.:/-]+"
_OPERAND = re.compile(
    rf"""\s*(?:(?P<constant>'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?(?![\w.])|true\b|false\b|null\b)
      | (?P<of>result|call)\(\s*(?P<tool>{_NAME})\s*(?:,\s*(?P<same>[\w, -]+?)\s*)?\)(?P<inner>[\w.\[\]*-]*)
      | (?P<path>[^\W\d][\w.\[\]*-]*))\s*""",
    re.VERBOSE,
)
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>|\bnot in\b|\bin\b")
_MISSING = object()


@dataclass(frozen=True)
class Operand:
    """A constant, or a path into the arguments of the call, of an earlier call, or of an earlier result."""

    text: str
    constant: Any = _MISSING
    of: str = ""
    tool: str = ""
    same: tuple[str, ...] = ()
    path: JsonPath | None = None

    def find(self, call: PastCall) -> list[Json] | str:
        """Return the values, or why there is none."""
        if self.path is None:
            return [self.constant]
        if not self.of:
            matches = self.path.find(call.call.args)
            return matches or f"the call has no {self.text}"
        earlier = [
            past
            for past in call.earlier(self.tool)
            if all(equal_json(past.call.args.get(name), call.call.args.get(name)) for name in self.same)
        ]
        if not earlier:
            return f"{self.tool} was not called before" + (
                f" with the same {', '.join(self.same)}" if self.same else ""
            )
        past = earlier[-1]
        if self.of == "call":
            content: Json = past.call.args
        elif past.result is None or past.result.withheld:
            return f"the result of {self.tool} is not recorded"
        else:
            content = decode_result(past.result.response)
        return self.path.find(content) or f"{self.text} does not exist"


@dataclass(frozen=True)
class Comparison:
    """A comparison that was read. `compare` raises no exception, whatever the values are."""

    text: str
    former: Operand
    operator: str
    latter: Operand

    def decide(self, call: PastCall) -> tuple[bool | None, str]:
        """Return whether the comparison holds for a call, and why not. None: a result is not recorded."""
        former, latter = self.former.find(call), self.latter.find(call)
        if isinstance(former, str):
            return (None if "not recorded" in former else False), former
        if isinstance(latter, str):
            return (None if "not recorded" in latter else False), latter
        if self.operator in ("in", "not in"):
            return self._decide_membership(former, latter)
        for value in former:
            for candidate in latter:
                if not _COMPARE[self.operator](value, candidate):
                    return False, f"{_show([value])} {self.operator} {_show([candidate])} does not hold"
        return True, ""

    def _decide_membership(self, values: Sequence[Json], latter: Sequence[Json]) -> tuple[bool, str]:
        pool = [item for value in latter for item in (value if isinstance(value, list) else [value])]
        matches = [any(_equal(value, item) for item in pool) for value in values]
        holds = all(matches) if self.operator == "in" else not any(matches)
        return holds, "" if holds else f"{_show(values)} {self.operator} {_show(pool)} does not hold"


def read_comparison(text: str) -> Comparison:
    """Return a comparison from its text. Raises ValueError that says what is wrong."""
    if len(text) > _LONGEST:
        raise ValueError(f"must have at most {_LONGEST} characters")
    former = _OPERAND.match(text)
    operator = _OPERATOR.match(text, former.end()) if former else None
    latter = _OPERAND.match(text, operator.end()) if operator else None
    if former is None or operator is None or latter is None or latter.end() != len(text):
        example = "amount <= result(get_order).total"
        raise ValueError(f"must be a comparison such as {example!r}, got {shorten(text, 80)!r}")
    return Comparison(text, _operand(former), operator[0], _operand(latter))


def _operand(match: re.Match[str]) -> Operand:
    text = match[0].strip()
    constant = match["constant"]
    if constant is not None:
        return Operand(text, constant[1:-1] if constant[0] in "'\"" else json.loads(constant))
    inner = match["inner"] if match["of"] else f".{match['path']}"
    same = tuple(filter(None, (name.strip() for name in (match["same"] or "").split(","))))
    return Operand(text, _MISSING, match["of"] or "", match["tool"] or "", same, JsonPath(f"${inner}"))


def _number(value: Json) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = value.strip().replace(",", "") if isinstance(value, str) and len(value) < 40 else ""
    if re.fullmatch(r"[-+]?[$€£¥₩]?\d+(?:\.\d+)?%?", text):
        return float(re.sub(r"[^\d.+-]", "", text))
    return None


def _equal(former: Json, latter: Json) -> bool:
    a, b = _number(former), _number(latter)
    if a is not None and b is not None:
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(former, str) and isinstance(latter, str):
        return fold(former) == fold(latter)
    return equal_json(former, latter)


def _compare_order(compare: Callable[[Any, Any], bool]) -> Callable[[Json, Json], bool]:
    def decide(former: Json, latter: Json) -> bool:
        a, b = _number(former), _number(latter)
        if a is not None and b is not None:
            return compare(a, b)
        # Dates and times in ISO 8601 have the order of their texts.
        both_texts = isinstance(former, str) and isinstance(latter, str)
        return both_texts and compare(former, latter)

    return decide


_COMPARE: dict[str, Callable[[Json, Json], bool]] = {
    "==": _equal,
    "!=": lambda former, latter: not _equal(former, latter),
    "<": _compare_order(lambda former, latter: former < latter),
    "<=": _compare_order(lambda former, latter: former <= latter),
    ">": _compare_order(lambda former, latter: former > latter),
    ">=": _compare_order(lambda former, latter: former >= latter),
}


def _show(values: Sequence[Json]) -> str:
    return shorten(compact(values[0] if len(values) == 1 else list(values)), 100)

"""Match calls by name and arguments. Arguments match by equality or by a matcher of the user's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from fairtrial.config.reader import OptionReader, OptionRecord, Problem
from fairtrial.config.wording import format_value
from fairtrial.errors import ConfigError, nearest
from fairtrial.records.equality import equal_json, have_same_booleans
from fairtrial.system.importing import import_path
from fairtrial.text.pointer import escape

if TYPE_CHECKING:
    from fairtrial.records.trace import ToolCall

Matcher = Callable[[Any, Any], bool]
"""Whether an actual value satisfies an expected one."""

_ANY = "*"
_ABSENT = object()
_SECONDS = 1.0


def _ignore(actual: Any, expected: Any) -> bool:  # noqa: ARG001
    return True


def _subset(actual: Any, expected: Any) -> bool:
    """Every key, or element, of the actual value is in the expected one."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        return all(key in expected and equal_json(value, expected[key]) for key, value in actual.items())
    if isinstance(actual, list) and isinstance(expected, list):
        unmatched = list(expected)
        for value in actual:
            place = next((i for i, other in enumerate(unmatched) if equal_json(value, other)), None)
            if place is None:
                return False
            del unmatched[place]
        return True
    return equal_json(actual, expected)


def _superset(actual: Any, expected: Any) -> bool:
    return _subset(expected, actual)


def _inside(actual: Any, expected: Any, match: Matcher) -> bool:
    """Compare objects and arrays by their members at any depth, and all other values with `match`."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(_inside(actual[k], expected[k], match) for k in actual)
    if isinstance(actual, list) and isinstance(expected, list):
        pairs = zip(actual, expected, strict=False)
        return len(actual) == len(expected) and all(_inside(ours, theirs, match) for ours, theirs in pairs)
    return match(actual, expected)


def _case_insensitive(actual: Any, expected: Any) -> bool:
    return _inside(actual, expected, _same_letters)


def _same_letters(actual: Any, expected: Any) -> bool:
    if isinstance(actual, str) and isinstance(expected, str):
        return actual.casefold() == expected.casefold()
    return equal_json(actual, expected)


_MATCHERS: dict[str, Matcher] = {
    "exact": equal_json,
    "ignore": _ignore,
    "subset": _subset,
    "superset": _superset,
    "case_insensitive": _case_insensitive,
}
_ALLOWED = (
    f"must be one of {', '.join(_MATCHERS)}, "
    '{"tolerance": NUMBER}, {"regex": "PATTERN"}, {"function": "package.module.function"}'
)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decimal(number: float) -> Fraction:
    """Return a number exactly as its JSON text: 1.01 and 1 differ by 0.01, but their floats differ by more."""
    return Fraction(repr(number))


class Tolerance:
    """Numbers that differ by at most `size`, as they are written."""

    def __init__(self, size: float) -> None:
        self.size = _decimal(size)

    def __call__(self, actual: Any, expected: Any) -> bool:
        """Compare two numbers by their difference, and other values as JSON."""
        return _inside(actual, expected, self._near)

    def _near(self, actual: Any, expected: Any) -> bool:
        if _is_number(actual) and _is_number(expected):
            return abs(_decimal(actual) - _decimal(expected)) <= self.size
        return equal_json(actual, expected)


class Pattern:
    """Text that a regular expression matches as a whole. A pattern that takes over a second does not match."""

    def __init__(self, pattern: str) -> None:
        import regex

        self._pattern = pattern
        self._ensure_compiled = regex.compile(pattern)
        # One text is compared with several expected values, and again to show the difference.
        self._matches = lru_cache(maxsize=1024)(self._search)

    def __reduce__(self) -> tuple[type[Pattern], tuple[str]]:
        # The cache cannot be pickled, and another process fills its own.
        return Pattern, (self._pattern,)

    def _search(self, text: str) -> bool:
        try:
            return self._ensure_compiled.fullmatch(text, timeout=_SECONDS) is not None
        except TimeoutError:
            return False

    def __call__(self, actual: Any, expected: Any) -> bool:  # noqa: ARG002
        """Match the actual text. The pattern takes the place of the expected value."""
        return isinstance(actual, str) and self._matches(actual)


class CallMatcher:
    """Decides whether two calls are the same, by the option `match` of a criterion: per tool and per argument.

    `withheld_match` is the answer for arguments that are not recorded: they may be the expected arguments or not.
    """

    def __init__(self, match: Mapping[str, Any], *, ignore_args: bool, withheld_match: bool = True) -> None:
        self.by_equality = not match
        self._ignore_args = ignore_args
        self._withheld_match = withheld_match
        self._tools = {tool: _tool(rules) for tool, rules in match.items()}

    def __call__(self, actual: ToolCall, expected: ToolCall) -> bool:
        """Compare the names, then the arguments."""
        if actual.name != expected.name:
            return False
        if self._ignore_args:
            return True
        if actual.withheld:
            return self._withheld_match or self._rules(expected) is _ignore
        if self.by_equality:
            return equal_json(actual.args, expected.args)
        rules = self._rules(expected)
        if callable(rules):
            return rules(actual.args, expected.args)
        return all(self._argument(actual, expected, name, rules) for name in actual.args.keys() | expected.args.keys())

    def differing(self, actual: ToolCall, expected: ToolCall) -> list[str]:
        """Return the arguments that keep two calls of one tool from matching, in alphabetical order.

        If a function decides about all arguments together, these are the arguments that are not equal.
        """
        rules = self._rules(expected)
        ours, theirs = actual.args, expected.args
        names = sorted({*ours, *theirs})
        if rules is equal_json:
            return [
                name
                for name in names
                if name not in ours or name not in theirs or not equal_json(ours[name], theirs[name])
            ]
        if callable(rules) and (rules in _MATCHERS.values() or isinstance(rules, Tolerance)):
            return [name for name in names if not rules(_only(actual, name), _only(expected, name))]
        by_argument = {} if callable(rules) else rules
        return [name for name in names if not self._argument(actual, expected, name, by_argument)]

    def common_prefix(self, actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> int:
        """Return the number of calls at the start of both lists that match."""
        for i, (ours, theirs) in enumerate(zip(actual, expected)):  # noqa: B905 - every argument takes time
            if not self(ours, theirs):
                return i
        return min(len(actual), len(expected))

    def in_pairs(self, actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> bool:
        """Return whether both lists are equally long, and each call matches the call at the same position."""
        return len(actual) == len(expected) == self.common_prefix(actual, expected)

    def are_recorded_pairs(self, actual: Sequence[ToolCall], expected: Sequence[ToolCall]) -> bool:
        """Return whether calls are `in_pairs`, compared by equality, and the arguments of all of them are recorded.

        Most calls are, and to compare the arguments of all calls at once takes half the time of a call each.
        """
        if not self.by_equality or len(actual) != len(expected):
            return False
        for ours, theirs in zip(actual, expected):  # noqa: B905 - every argument takes time
            if ours.name != theirs.name or ours.withheld:
                return False
        if self._ignore_args:
            return True
        ours_args, their_args = [call.args for call in actual], [call.args for call in expected]
        return ours_args == their_args and have_same_booleans(ours_args, their_args)

    def _rules(self, expected: ToolCall) -> Matcher | dict[str, Matcher]:
        return self._tools.get(expected.name, self._tools.get(_ANY, equal_json))

    def _argument(self, actual: ToolCall, expected: ToolCall, name: str, rules: Mapping[str, Matcher]) -> bool:
        matcher = rules.get(name, rules.get(_ANY, equal_json))
        if matcher is _ignore:
            return True
        ours, theirs = actual.args.get(name, _ABSENT), expected.args.get(name, _ABSENT)
        return ours is not _ABSENT and theirs is not _ABSENT and matcher(ours, theirs)


def _only(call: ToolCall, name: str) -> dict[str, Any]:
    return {name: call.args[name]} if name in call.args else {}


class MatcherRule(OptionRecord, frozen=True):
    """A matcher with a value of its own. For example, `{"tolerance": 0.1}`."""

    tolerance: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="numbers at most this far apart, as they are written")
    ] = None
    regex: Annotated[str | None, Meta(description="a regular expression for the whole actual text")] = None
    function: Annotated[str | None, Meta(description="the import path of a function `(actual, expected) -> bool`")] = (
        None
    )

    def conflicts(self) -> Iterator[Problem]:
        """Yield that there is not exactly one matcher, or that it cannot be used."""
        if [self.tolerance, self.regex, self.function].count(None) != 2:
            yield "", "must have exactly one of tolerance, regex and function"
            return
        try:
            self.matcher()
        except ConfigError as error:
            pointer, _, problem = str(error).partition(": ")
            yield pointer, problem

    def matcher(self) -> Matcher:
        """Return the matcher. Raises ConfigError if the expression or the path cannot be used."""
        if self.tolerance is not None:
            return Tolerance(self.tolerance)
        if self.regex is not None:
            return _pattern(self.regex)
        function: Matcher = import_path(self.function or "", "function")
        return function


def read_rules(raw: Any, reader: OptionReader, pointer: str) -> Mapping[str, Any] | None:
    """Return the option `match` as it is, and note the problems of its matchers."""
    if not isinstance(raw, Mapping):
        reader.note(pointer, f"must be an object {{TOOL: MATCHER or {{ARGUMENT: MATCHER}}}}, got {format_value(raw)}")
        return None
    for tool, rules in raw.items():
        place = f"{pointer}/{escape(str(tool))}"
        if isinstance(rules, dict) and not _is_of_all(rules):
            for argument, rule in rules.items():
                _check_rule(rule, reader, f"{place}/{escape(str(argument))}")
        else:
            _check_rule(rules, reader, place)
    return raw


def _check_rule(rule: Any, reader: OptionReader, pointer: str) -> None:
    if isinstance(rule, dict) and rule:
        reader.read(rule, MatcherRule, pointer)
    elif not isinstance(rule, str) or rule not in _MATCHERS:
        hint = nearest(rule, _MATCHERS) if isinstance(rule, str) else ""
        reader.note(pointer, f"{_ALLOWED}, got {format_value(rule)}{hint}")


def _tool(rules: Any) -> Matcher | dict[str, Matcher]:
    """Return the matcher for the arguments of a tool together, or the matchers of its arguments by name."""
    if isinstance(rules, dict) and not _is_of_all(rules):
        return {argument: _matcher(rule) for argument, rule in rules.items()}
    return _matcher(rules)


def _is_of_all(rules: Mapping[str, Any]) -> bool:
    """Return whether an object is a matcher of all arguments together. Otherwise its keys are names of arguments.

    A regular expression is never a matcher of all arguments, because arguments together are not a text.
    """
    kind, value = next(iter(rules.items())) if len(rules) == 1 else ("", None)
    return (kind == "tolerance" and _is_number(value)) or (
        kind == "function" and isinstance(value, str) and value not in _MATCHERS
    )


def _matcher(rule: Any) -> Matcher:
    return _MATCHERS[rule] if isinstance(rule, str) else MatcherRule(**rule).matcher()


def _pattern(pattern: str) -> Pattern:
    try:
        return Pattern(pattern)
    except Exception as error:  # noqa: BLE001  (the library has its own error type, reachable only once it is imported)
        raise ConfigError(f"regex: must be a regular expression, got {pattern!r:.80}: {error}") from None


def assignment(
    actual: Sequence[ToolCall], expected: Sequence[ToolCall], match: CallMatcher, *, prefix: int = 0
) -> list[int]:
    """Return for each expected call the place of an actual call of its own that matches it, or -1.

    `prefix` is the number of calls at the start of both lists that are known to match, or 0 if nothing is known.

    As many calls as possible are paired, in any order: a maximum matching of a bipartite graph, by augmenting paths
    (Kuhn 1955, "The Hungarian method"). If calls are compared by equality, which is transitive, the first equal call is
    already the best choice.
    """
    owner = [-1] * len(actual)
    mate = [-1] * len(expected)
    if match.by_equality:
        owner[:prefix] = mate[:prefix] = range(prefix)
        for j in range(prefix, len(expected)):
            for i in range(prefix, len(actual)):
                if owner[i] == -1 and match(actual[i], expected[j]):
                    owner[i], mate[j] = j, i
                    break
        return mate
    edges = [[i for i, ours in enumerate(actual) if match(ours, theirs)] for theirs in expected]
    for j in range(len(expected)):
        _augment(j, edges, owner, mate)
    return mate


def _augment(start: int, edges: Sequence[Sequence[int]], owner: list[int], mate: list[int]) -> None:
    came_from: dict[int, int] = {}
    queue = [start]
    for left in queue:
        for node in edges[left]:
            if node in came_from:
                continue
            came_from[node] = left
            if owner[node] == -1:
                while node != -1:
                    left = came_from[node]  # noqa: PLW2901
                    owner[node], mate[left], node = left, node, mate[left]  # noqa: PLW2901
                return
            queue.append(owner[node])

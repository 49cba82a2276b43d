"""The options in `attempts`: the number of attempts of a case, and the rule by which it passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from fairtrial.config.option import Option
from fairtrial.config.reader import OptionReader, ReadWith
from fairtrial.config.wording import format_value
from fairtrial.errors import ConfigError, UsageError, spell
from fairtrial.records.attempt_rule import AttemptRule
from fairtrial.records.record import Json, Record
from fairtrial.text.pointer import escape

_ALLOWED = 'all, any, mean, {"at_least": N} with a whole number, or {"rate": X} with X above 0 and at most 1'
_WORDS = ("all", "any", "mean")


class AttemptOptions(Record, frozen=True):
    """The number of attempts and the rule, for all cases, for eval sets by id, and for cases by id or SET:ID.

    None means "not given".
    """

    count: int | None = None
    rule: AttemptRule | None = None
    eval_sets: Mapping[str, AttemptOptions] = {}
    cases: Mapping[str, AttemptOptions] = {}

    def for_case(self, eval_set: str, case_id: str) -> AttemptOptions:
        """Return the options of a case: its own before those of its eval set before those of all cases."""
        own = self.cases.get(f"{eval_set}:{case_id}") or self.cases.get(case_id) or AttemptOptions()
        return own.or_else(self.for_set(eval_set))

    def for_set(self, eval_set: str) -> AttemptOptions:
        """Return the options of an eval set."""
        own = self.eval_sets.get(eval_set) or AttemptOptions()
        return own.or_else(AttemptOptions(self.count, self.rule))

    def or_else(self, other: AttemptOptions) -> AttemptOptions:
        """Return these options, with the other options in place of those that are not given."""
        return AttemptOptions(self.count or other.count, self.rule or other.rule)


def attempt_options(
    raw: Json, *, pointer: str = "/attempts", lenient: bool = False
) -> tuple[AttemptOptions, list[str]]:
    """Return the options in `attempts`, and warnings. Raises ConfigError that lists every problem."""
    reader = OptionReader(lenient=lenient)
    options = _read_options({"count": raw} if isinstance(raw, int) else raw, reader, pointer, whole=True)
    if reader.misfits:
        raise ConfigError(*reader.problems)
    return options, reader.warnings


def attempt_argument(text: str) -> AttemptOptions:
    """Return the options that an argument of the command line gives: [SET=|SET:CASE=]COUNT[,PASS].

    For example, `10`, `10,mean`, `shop=5,any` or `shop:order_status=10,at_least:8`. Raises UsageError.
    """
    scope, _, rest = text.rpartition("=")
    count, _, rule = rest.partition(",")
    name, _, number = rule.partition(":")
    raw: dict[str, Any] = {"pass": {name: _number(number)} if number else name} if rule else {}
    raw |= {"count": _number(count)} if count else {}
    try:
        options, _warnings = attempt_options(raw, pointer="")
    except ConfigError as error:
        hint = f"; did you mean {count},at_least:{rule}?" if rule.isdecimal() else ""
        raise UsageError(f"{spell('attempts')} {text}: {error}{hint or '; for example 10,mean'}") from None
    if not scope:
        return options
    return AttemptOptions(cases={scope: options}) if ":" in scope else AttemptOptions(eval_sets={scope: options})


def merge_attempts(all_options: tuple[AttemptOptions, ...]) -> AttemptOptions:
    """Return several options as one. The last option for the same cases counts."""
    merged = AttemptOptions()
    for options in all_options:
        whole = AttemptOptions(options.count, options.rule).or_else(merged)
        eval_sets = {**merged.eval_sets, **options.eval_sets}
        merged = AttemptOptions(whole.count, whole.rule, eval_sets, {**merged.cases, **options.cases})
    return merged


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _read_options(raw: Json, reader: OptionReader, pointer: str, *, whole: bool) -> AttemptOptions:
    values = reader.values(raw, _OPTIONS if whole else _OPTIONS[:2], pointer)
    count, rule = values.get("count"), values.get("pass")
    if count is not None and rule is not None and rule.name == "at_least" and rule.number > count:
        reader.note(f"{pointer}/pass/at_least", f"must be at most the count {count}, got {rule.number:g}")
    return AttemptOptions(count, rule, values.get("eval_sets") or {}, values.get("cases") or {})


def _read_rule(raw: Any, reader: OptionReader, pointer: str) -> AttemptRule | None:
    if isinstance(raw, str) and raw in _WORDS:
        return AttemptRule(raw)  # type: ignore[arg-type]
    if isinstance(raw, Mapping) and len(raw) == 1:
        ((name, number),) = raw.items()
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if name == "at_least" and is_number and number == int(number) and number >= 1:
            return AttemptRule("at_least", float(number))
        if name == "rate" and is_number and 0 < number <= 1:
            return AttemptRule("rate", float(number))
    reader.note(pointer, f"must be {_ALLOWED}, got {format_value(raw)}")
    return None


def _read_by_name(raw: Any, reader: OptionReader, pointer: str) -> dict[str, AttemptOptions]:
    if not isinstance(raw, Mapping):
        reader.note(pointer, f"must be an object of options by name, got {format_value(raw)}")
        return {}
    return {name: _read_options(value, reader, f"{pointer}/{escape(name)}", whole=False) for name, value in raw.items()}


_OPTIONS = (
    Option("count", Annotated[int, Meta(ge=1, description="the number of attempts at each case")], None),
    Option("pass", Annotated[Any, ReadWith(_read_rule), Meta(description=f"when a case passes: {_ALLOWED}")], None),
    Option(
        "eval_sets",
        Annotated[Any, ReadWith(_read_by_name), Meta(description="`count` and `pass` of eval sets, by their ids")],
        None,
    ),
    Option(
        "cases",
        Annotated[Any, ReadWith(_read_by_name), Meta(description="`count` and `pass` of cases, by ID or SET:ID")],
        None,
    ),
)
ATTEMPT_OPTIONS = _OPTIONS

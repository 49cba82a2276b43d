"""The options of a rule: an id, a sentence for people, and one form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from fairtrial.config.option import NOT_BLANK
from fairtrial.config.reader import OptionReader, OptionRecord, Problem, ReadWith
from fairtrial.config.wording import format_value
from fairtrial.metrics.tool_rules.expressions import Comparison, read_comparison
from fairtrial.records.record import Json
from fairtrial.text.json_path import JsonPath
from fairtrial.text.json_schemas import json_schema
from fairtrial.text.user_patterns import user_pattern

Tool = Annotated[str, Meta(pattern=NOT_BLANK)]
Names = tuple[str, ...]


def _read_comparisons(raw: Any, reader: OptionReader, pointer: str) -> tuple[str, ...]:
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        reader.note(pointer, f"must be a comparison or an array of comparisons, got {format_value(raw)}")
        return ()
    for place, text in enumerate(texts):
        try:
            read_comparison(text)
        except ValueError as error:
            reader.note(pointer if isinstance(raw, str) else f"{pointer}/{place}", str(error))
    return tuple(texts)


def read_names(raw: Any, reader: OptionReader, pointer: str) -> Names:
    """Return names from an array of names, or from a name alone. Anything else is a problem."""
    names = [raw] if isinstance(raw, str) else raw
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
        reader.note(pointer, f"must be a name or an array of names, got {format_value(raw)}")
        return ()
    return tuple(names)


Comparisons = Annotated[tuple[str, ...], ReadWith(_read_comparisons)]
_WHERE = "only calls for which these comparisons hold, for example `amount > 100`"


class OrderOptions(OptionRecord, frozen=True):
    """A call that needs another call, or the consent of the user."""

    call: Annotated[Tool, Meta(description="the tools, as a name or a glob such as `cancel_*`")]
    needs: Annotated[str, Meta(description="the tool that must be called too, as a name or a glob")] = ""
    same: Annotated[
        Names, ReadWith(read_names), Meta(description="arguments that both calls must have with equal values")
    ] = ()
    needs_user: Annotated[
        bool, Meta(description="whether the last message of the user before the call must agree (only in `before`)")
    ] = False
    where: Annotated[Comparisons, Meta(description=_WHERE)] = ()

    def conflicts(self) -> Iterator[Problem]:
        """Yield that nothing is needed."""
        if not self.needs and not self.needs_user:
            yield "", "must have `needs`, a tool, or `needs_user`"
        if self.same and not self.needs:
            yield "same", "is about the arguments of `needs`, which is missing"


class BetweenOptions(OptionRecord, frozen=True):
    """A call that may stand only between two others."""

    call: Annotated[Tool, Meta(description="the tools, as a name or a glob")]
    first: Annotated[Tool, Meta(description="the tool that opens, for example `log_in`")]
    last: Annotated[Tool, Meta(description="the tool that closes, for example `log_out`")]


class CountOptions(OptionRecord, frozen=True):
    """A number of calls that did not fail."""

    call: Annotated[Tool, Meta(description="the tools, as a name or a glob")]
    count: Annotated[int, Meta(ge=0, description="the number")]
    same: Annotated[
        Names,
        ReadWith(read_names),
        Meta(description="arguments: calls count together only if their values are equal (not in `at_least`)"),
    ] = ()
    where: Annotated[Comparisons, Meta(description=_WHERE)] = ()


class NeverOptions(OptionRecord, frozen=True):
    """A call that may not occur."""

    call: Annotated[Tool, Meta(description="the tools, as a name or a glob")]
    where: Annotated[Comparisons, Meta(description=_WHERE)] = ()


class ArgumentOptions(OptionRecord, frozen=True):
    """The form of an argument, or of all arguments."""

    call: Annotated[Tool, Meta(description="the tools, as a name or a glob")]
    field: Annotated[str, Meta(description="the argument, as a path such as `items[*].id`. Empty means all")] = ""
    schema: Annotated[Json, Meta(description="a JSON Schema of the value. It needs the extra `schema`")] = None
    compare: Annotated[
        Comparisons,
        Meta(description="comparisons with constants, with earlier results and with earlier calls"),
    ] = ()
    where: Annotated[Comparisons, Meta(description=_WHERE)] = ()

    def conflicts(self) -> Iterator[Problem]:
        """Yield that nothing is asked for, or that the path or the schema cannot be used."""
        if self.schema is None and not self.compare:
            yield "", "must have a `schema` or `compare`"
        if self.field:
            yield from _path_problems(self.field)
        if self.schema is not None:
            try:
                json_schema(self.schema)
            except ValueError as error:
                yield "schema", str(error)


class SourceOptions(OptionRecord, frozen=True):
    """The sources of a value."""

    call: Annotated[Tool, Meta(description="the tools, as a name or a glob")]
    field: Annotated[str, Meta(description="the argument, as a path such as `recipients[*]`. Empty means all")] = ""
    trusted: Annotated[
        Names,
        ReadWith(read_names),
        Meta(
            description="the sources that may give the value: `user`, `instructions`, `made up`, and tools as names or "
            "globs. Empty means all that are not untrusted"
        ),
    ] = ()
    untrusted: Annotated[
        Names,
        ReadWith(read_names),
        Meta(description="the sources that may not be the only source of the value, for example `read_email`"),
    ] = ()
    where: Annotated[Comparisons, Meta(description=_WHERE)] = ()

    def conflicts(self) -> Iterator[Problem]:
        """Yield that no source is named, or that the path cannot be used."""
        if not self.trusted and not self.untrusted:
            yield "", "must have `trusted` or `untrusted` sources"
        if self.field:
            yield from _path_problems(self.field)


class SpeechOptions(OptionRecord, frozen=True):
    """A statement in a reply."""

    contains: Annotated[Names, ReadWith(read_names), Meta(description="texts, any of which counts")] = ()
    regex: Annotated[str, Meta(description="a regular expression")] = ""
    facts: Annotated[str, Meta(description="a text, all of whose numbers, dates and codes count together")] = ""
    result: Annotated[
        str, Meta(description="values of results, for example `get_customer.card`, any of which counts")
    ] = ""
    secrets: Annotated[bool, Meta(description="a key, a password or another secret")] = False
    after: Annotated[str, Meta(description="only replies after a call of this tool")] = ""

    def conflicts(self) -> Iterator[Problem]:
        """Yield that nothing is asked for, or that it cannot be read."""
        if not (self.contains or self.regex or self.facts or self.result or self.secrets):
            yield "", "must have `contains`, `regex`, `facts`, `result` or `secrets`"
        if self.regex:
            try:
                user_pattern(self.regex)
            except ValueError as error:
                yield "regex", str(error)
        if self.result and "." not in self.result:
            yield "result", f"must be a tool and a path, such as get_customer.card, got {self.result!r}"
        elif self.result:
            yield from ((("result"), problem) for _, problem in _path_problems(self.result.partition(".")[2]))


class ErrorOptions(OptionRecord, frozen=True):
    """The calls or replies after an error of a tool."""

    tool: Annotated[Tool, Meta(description="the tools, as a name or a glob")]
    then: Annotated[
        Names,
        ReadWith(read_names),
        Meta(description="any of `retry`, `tell_user`, and names of tools to call instead"),
    ] = ("retry", "tell_user")


Form = Literal[
    "never",
    "before",
    "after",
    "immediately_after",
    "between",
    "at_most",
    "at_least",
    "at_most_per_invocation",
    "argument",
    "source",
    "says",
    "never_says",
    "errors",
]


def _read_never(raw: Any, reader: OptionReader, pointer: str) -> NeverOptions | None:
    """Return the options of `never`, which may be a name alone."""
    if isinstance(raw, NeverOptions):
        return raw
    return reader.read({"call": raw} if isinstance(raw, str) else raw, NeverOptions, pointer)


class ToolRule(OptionRecord, frozen=True):
    """A rule: an id, a sentence for people, and one form."""

    id: Annotated[str, Meta(pattern=NOT_BLANK, description="the name of the rule in reports")]
    rule: Annotated[str, Meta(description="the rule in a sentence, for people")] = ""
    never: Annotated[
        NeverOptions | None, ReadWith(_read_never), Meta(description="a call that may not occur, or its name alone")
    ] = None
    before: Annotated[
        OrderOptions | None, Meta(description="before `call`, `needs` was called, or the user agreed")
    ] = None
    after: Annotated[OrderOptions | None, Meta(description="after `call`, `needs` is called sooner or later")] = None
    immediately_after: Annotated[
        OrderOptions | None, Meta(description="the next call after `call` is a call of `needs`")
    ] = None
    between: Annotated[BetweenOptions | None, Meta(description="`call` stands after `first`, and before `last`")] = None
    at_most: Annotated[CountOptions | None, Meta(description="the most calls in a conversation")] = None
    at_least: Annotated[CountOptions | None, Meta(description="the fewest calls in a conversation")] = None
    at_most_per_invocation: Annotated[CountOptions | None, Meta(description="the most calls in each invocation")] = None
    argument: Annotated[ArgumentOptions | None, Meta(description="what an argument must be")] = None
    source: Annotated[SourceOptions | None, Meta(description="where a value must come from")] = None
    says: Annotated[SpeechOptions | None, Meta(description="what at least one reply states")] = None
    never_says: Annotated[SpeechOptions | None, Meta(description="what no reply states")] = None
    errors: Annotated[ErrorOptions | None, Meta(description="what must follow an error of a tool")] = None

    @property
    def form(self) -> Form:
        """The form of the rule."""
        return next(form for form in FORMS if getattr(self, form) is not None)

    @property
    def options(self) -> Any:
        """The options of its form."""
        return getattr(self, self.form)

    def conflicts(self) -> Iterator[Problem]:
        """Yield that there is not exactly one form, or that a form lacks what it needs."""
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            yield "", f"must have one of {', '.join(FORMS)}, got {', '.join(forms) or 'none'}"
        if self.at_least is not None and self.at_least.same:
            yield "at_least/same", "is an option of `at_most` and `at_most_per_invocation`"
        for form in ("after", "immediately_after"):
            options = getattr(self, form)
            if options is not None and (options.needs_user or not options.needs):
                yield form, "must have `needs`; `needs_user` is an option of `before`"


FORMS: tuple[Form, ...] = Form.__args__  # type: ignore[attr-defined]


def comparisons(texts: tuple[str, ...]) -> tuple[Comparison, ...]:
    """Return comparisons that were checked before."""
    return tuple(map(read_comparison, texts))


def read_path(field: str) -> JsonPath:
    """Return the path of an argument. An empty field is the path of all arguments."""
    return JsonPath(f"$.{field}" if field else "$")


def _path_problems(field: str) -> Iterator[Problem]:
    try:
        read_path(field)
    except ValueError as error:
        yield "field", str(error)

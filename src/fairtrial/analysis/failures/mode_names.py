"""Names of failure modes in plain English, made from their signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fairtrial.records.failure_mode import Signature
from fairtrial.text.display import shorten, visible_line

_LONGEST = 160

NAMES: dict[str, Callable[[Signature], str]] = {
    "unexpected": lambda own: f"{own.tool} is called and was not expected",
    "missing": lambda own: f"{own.tool} is not called",
    "repeated": lambda own: f"{own.tool} is called again with equal arguments",
    "forbidden": lambda own: f"{own.tool} is called, which is forbidden",
    "changed": lambda own: f"{own.tool}: {_describe_fields(own.field)}",
    "moved": lambda own: f"{own.tool} is called before {own.field}" if own.field else f"{own.tool} is called too early",
    "call_failed": lambda own: f"{own.tool} is called as expected, and answers with an error{_after(own.template)}",
    "state": lambda own: f"the final state differs at {own.field}" if own.field else "the final state differs",
    "turns": lambda own: "the conversation ends before all messages of the user",  # noqa: ARG005
    "value_missing": lambda own: f"a reply does not state an expected {own.field or 'value'}",
    "value_differs": lambda own: f"a reply states another {own.field or 'value'} than expected",
    "value_forbidden": lambda own: "a reply states what it may not state",  # noqa: ARG005
    "opposed": lambda own: f"a reply says the opposite of its reference{f' ({own.field})' if own.field else ''}",
    "rubric": lambda own: f"the rubric {own.field} fails" if own.field else "a rubric fails",
    "criterion": lambda own: f"{own.criterion or 'a criterion'} fails",
    "error": lambda own: f"{own.tool or 'a tool'} answers with an error{_after(own.template)}",
    "loop": lambda own: f"{own.tool or 'a tool'} is called again and again with an equal result",
    "claim": lambda own: f"nothing supports the {own.field or 'number'} in a reply",
    "language": lambda own: "the reply is in another language",  # noqa: ARG005
    "refusal": lambda own: "the agent refuses",  # noqa: ARG005
    "hand_over": lambda own: f"the agent hands over to a person{f' ({own.tool})' if own.tool else ''}",
    "empty": lambda own: "the reply is empty",  # noqa: ARG005
    "cap": lambda own: "the limit on invocations ends the conversation",  # noqa: ARG005
    "break": lambda own: f"the attempt fails{_after(own.template)}",
    "side": lambda own: f"{own.field} fails{_after(own.template)}",
}
"""The names of the kinds of failures. A new kind is a row."""


def name_mode(signatures: Sequence[Signature]) -> str:
    """Return the name of the signatures together. It holds the properties that all of them share."""
    first = signatures[0]
    if len(signatures) == 1:
        return _name(first)
    kinds = {own.kind for own in signatures}
    if len(kinds) > 1:
        tools = {own.tool for own in signatures}
        subject = f"{first.tool}: " if len(tools) == 1 and first.tool else ""
        return shorten(visible_line(f"{subject}{' or '.join(_brief(own) for own in _by_kind(signatures))}"), _LONGEST)
    common = Signature(
        first.kind,
        *(
            getattr(first, field) if len({getattr(own, field) for own in signatures}) == 1 else ""
            for field in ("tool", "field", "criterion", "template")
        ),
    )
    if first.kind == "changed" and not common.field:
        shared = [name for name in first.field.split(", ") if all(name in own.field.split(", ") for own in signatures)]
        common = Signature("changed", common.tool or "a tool", ", ".join(shared))
    return _name(common)


def name_modes(modes: Sequence[Sequence[Signature]]) -> list[str]:
    """Return the name of each mode by its signatures. Modes of one name get what differs, or a number, in brackets."""
    names = [name_mode(signatures) for signatures in modes]
    values_of_name: dict[str, list[dict[str, None]]] = {}
    for name, signatures in zip(names, modes, strict=True):
        values_of_name.setdefault(name, []).append(_values(signatures))
    full_names: list[str] = []
    for name, signatures in zip(names, modes, strict=True):
        # If the name has one mode, every value is common, and nothing is added.
        common = set.intersection(*map(set, values_of_name[name]))
        values = visible_line(", ".join(value for value in _values(signatures) if value not in common))
        full_name = f"{name} ({values})" if values and len(name) + len(values) < _LONGEST else name
        repetitions = full_names.count(full_name)
        full_names.append(f"{full_name} ({repetitions + 1})" if repetitions else full_name)
    return full_names


def _values(signatures: Sequence[Signature]) -> dict[str, None]:
    """Return the values of signatures in their order, each once."""
    values = (value for own in signatures for value in (own.tool, own.field, own.criterion, own.template))
    return dict.fromkeys(filter(None, values))


def earlier_names(signatures: Sequence[Signature]) -> Iterator[str]:
    """Yield names that a mode may have in an older store: without brackets, and with words that are out of use."""
    name = name_mode(signatures)
    yield name
    if all(own.kind == "break" for own in signatures):
        yield f"the agent breaks{name.removeprefix('the attempt fails')}"


def _name(signature: Signature) -> str:
    make = NAMES.get(signature.kind)
    return shorten(visible_line(make(signature) if make else signature.kind), _LONGEST)


def _by_kind(signatures: Sequence[Signature]) -> list[Signature]:
    return list({own.kind: own for own in signatures}.values())


def _brief(signature: Signature) -> str:
    words = {"unexpected": "not expected", "missing": "missing", "changed": "other arguments", "moved": "too early"}
    return words.get(signature.kind, signature.kind.replace("_", " "))


def _describe_fields(fields: str) -> str:
    """Return which arguments differ. Without a name, several arguments do."""
    if fields and ", " not in fields:
        return f"argument {fields} differs"
    return f"arguments {fields} differ" if fields else "arguments differ"


def _after(template: str) -> str:
    return f": {template}" if template else ""

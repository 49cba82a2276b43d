"""The table of mutation operators: name, direction, function, example, languages and weight of each."""

from __future__ import annotations

from collections.abc import Sequence

from fairtrial.errors import UsageError, nearest
from fairtrial.mutations import calls, harmless, phrases, replies, reply_values, turns
from fairtrial.mutations.operator import LANGUAGES, Operator, Plant
from fairtrial.records.mutation import Direction
from fairtrial.system.importing import import_object
from fairtrial.text.language import Language

_CALLS = "book(day=3)"


def _row(
    direction: Direction,
    name: str,
    plant: Plant,
    example: tuple[str, str],
    languages: Sequence[Language] = (),
    weight: int = 1,
) -> Operator:
    return Operator(name, direction, plant, example, tuple(languages), weight)


OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        _row("harmful", "call_dropped", calls.call_dropped, ("find, book", "find"), weight=9),
        _row("harmful", "call_repeated", calls.call_repeated, ("book", "book, book"), weight=8),
        _row("harmful", "call_added", calls.call_added, ("find", "find, cancel"), weight=7),
        _row("harmful", "tool_swapped", calls.tool_swapped, (_CALLS, "cancel(day=3)"), weight=9),
        _row("harmful", "calls_swapped", calls.calls_swapped, ("find, book", "book, find"), weight=5),
        _row("harmful", "argument_changed", calls.argument_changed, (_CALLS, "book(day=4)"), weight=9),
        _row("harmful", "argument_dropped", calls.argument_dropped, (_CALLS, "book()"), weight=7),
        _row("harmful", "argument_from_other_case", calls.argument_from_other_case, (_CALLS, "book(day=17)"), weight=8),
        _row(
            "harmful", "number_changed", reply_values.number_changed, ("It costs $20.", "It costs $30."), LANGUAGES, 10
        ),
        _row("harmful", "date_changed", reply_values.date_changed, ("7월 13일", "7월 14일"), LANGUAGES, 9),
        _row("harmful", "name_swapped", reply_values.name_swapped, ("Order A-12", "Order A-57"), LANGUAGES, 9),
        _row("harmful", "unit_changed", reply_values.unit_changed, ("20달러", "20원"), LANGUAGES, 8),
        _row("harmful", "negated", replies.negated, ("예약할 수 있습니다.", "예약할 수 없습니다."), LANGUAGES, 10),
        _row(
            "harmful",
            "claim_invented",
            replies.claim_invented,
            ("Done.", f"Done. {phrases.CLAIMS['en'][0]}"),
            LANGUAGES,
            9,
        ),
        _row(
            "harmful",
            "contradicts_result",
            reply_values.contradicts_result,
            ("25 °C (result: 25)", "35 °C (result: 25)"),
            LANGUAGES,
            10,
        ),
        _row("harmful", "sentence_dropped", replies.sentence_dropped, ("It is 5. Bring ID.", "It is 5."), LANGUAGES, 6),
        _row("harmful", "cut_short", replies.cut_short, ("It opens at nine.", "It opens"), LANGUAGES, 7),
        _row("harmful", "empty_reply", replies.empty_reply, ("It opens at nine.", ""), LANGUAGES, 8),
        _row(
            "harmful",
            "refused",
            replies.instead(phrases.REFUSALS),
            ("It opens at nine.", phrases.REFUSALS["en"][0]),
            LANGUAGES,
            8,
        ),
        _row(
            "harmful",
            "asked_back",
            replies.instead(phrases.QUESTIONS),
            ("It opens at nine.", phrases.QUESTIONS["en"][0]),
            LANGUAGES,
            6,
        ),
        _row(
            "harmful",
            "postponed",
            replies.instead(phrases.DELAYS),
            ("It opens at nine.", phrases.DELAYS["en"][0]),
            LANGUAGES,
            6,
        ),
        _row("harmful", "other_reply", replies.other_reply, ("It opens at nine.", "It rains."), LANGUAGES, 8),
        _row(
            "harmful",
            "other_language",
            replies.other_language,
            ("It opens at nine.", phrases.OTHER_LANGUAGE["en"]),
            LANGUAGES,
            7,
        ),
        _row("harmful", "turn_lost", turns.turn_lost, ("turns 1, 2, 3", "turns 1, 3"), weight=9),
        _row("harmful", "stopped_early", turns.stopped_early, ("turns 1, 2, 3", "turns 1, 2"), weight=9),
        _row("harmful", "turns_swapped", turns.turns_swapped, ("turns 1, 2", "turns 2, 1"), weight=7),
        _row("harmful", "leaked", replies.leaked, ("Done.", f"Done. {phrases.LEAKS['en'][0]}"), LANGUAGES, 10),
        _row("harmless", "keys_reordered", harmless.keys_reordered, ("book(day=3, seats=2)", "book(seats=2, day=3)")),
        _row("harmless", "independent_calls_swapped", harmless.independent_calls_swapped, ("a, b", "b, a")),
        _row("harmless", "optional_call_added", harmless.optional_call_added, ("book", "book, log")),
        _row("harmless", "whitespace", harmless.whitespace, ("Yes. It is 5.", "Yes.\\n\\nIt is 5."), LANGUAGES),
        _row("harmless", "markdown_toggled", harmless.markdown_toggled, ("It is 5.", "It is **5**."), LANGUAGES),
        _row("harmless", "number_format", harmless.number_format, ("1,000원", "1000원"), LANGUAGES),
        _row("harmless", "polite_frame", harmless.polite_frame, ("It is 5.", "Gladly. It is 5."), LANGUAGES),
        _row("harmless", "politeness_level", harmless.politeness_level, ("무료입니다.", "무료예요."), ("ko", "ja")),
        _row("harmless", "full_width", harmless.full_width, ("20円", "２０円"), ("ko", "ja", "zh")),
        _row("harmless", "synonym", harmless.synonym, ("현재 무료입니다.", "지금 무료입니다."), LANGUAGES),
    )
}


def operators_named(names: Sequence[str], languages: Sequence[Language] = ()) -> tuple[Operator, ...]:
    """Return the operators of these names, or all. A name with a dot or a colon is the import path of an Operator.

    Raises UsageError for an unknown name, and for a named operator that knows none of the languages.
    """
    unknown = [language for language in languages if language not in LANGUAGES]
    if unknown:
        raise UsageError(f"language must be one of {', '.join(LANGUAGES)}, got {', '.join(unknown)}")
    operators = tuple(map(_find_operator, dict.fromkeys(names))) if names else tuple(OPERATORS.values())
    for operator in operators if names and languages else ():
        if operator.languages and not set(operator.languages) & set(languages):
            grounded = ", ".join(operator.languages)
            raise UsageError(
                f"operator {operator.name} does not know {', '.join(languages)}, it knows {grounded}; "
                "leave the operator out, or choose one of its languages"
            )
    return operators


def _find_operator(name: str) -> Operator:
    if name in OPERATORS:
        return OPERATORS[name]
    if "." not in name and ":" not in name:
        hint = nearest(name, OPERATORS) or "; `fairtrial mutate --list` shows all operators"
        raise UsageError(f"{name!r} is not an operator{hint}")
    operator = import_object(name, "operator")
    if not isinstance(operator, Operator):
        raise UsageError(f"operator: {name} must be a fairtrial.Operator, got {type(operator).__name__}")
    return operator

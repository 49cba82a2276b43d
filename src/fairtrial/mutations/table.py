"""The table of mutation operators: function, example, weight, family, and the real defect that each stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.errors import UsageError, nearest
from fairtrial.mutations import (
    calls,
    harmless,
    phrases,
    replies,
    reply_values,
    retrieved_documents,
    rewording,
    structures,
    turns,
)
from fairtrial.mutations.literals import keeping_literals
from fairtrial.mutations.operator import LANGUAGES, Operator, Plant
from fairtrial.mutations.paraphrases import PARAPHRASED
from fairtrial.system.importing import import_object

if TYPE_CHECKING:
    from fairtrial.records.mutation import Family
    from fairtrial.text.language import Language

_BOOK = "book(day=3)"
_OPENS = "It opens at nine."
_KO_JA_ZH: tuple[Language, ...] = ("ko", "ja", "zh")


def _calls(name: str, plant: Plant, example: tuple[str, str], weight: int, defect: str) -> Operator:
    return Operator(name, "harmful", plant, example, (), weight, "calls", defect)


def _facts(name: str, plant: Plant, example: tuple[str, str], weight: int, defect: str) -> Operator:
    return Operator(name, "harmful", plant, example, LANGUAGES, weight, "facts", defect)


def _form(name: str, plant: Plant, after: str, weight: int, defect: str) -> Operator:
    return Operator(name, "harmful", plant, (_OPENS, after), LANGUAGES, weight, "form", defect)


def _harmless(
    name: str,
    plant: Plant,
    example: tuple[str, str],
    defect: str,
    languages: tuple[Language, ...] = LANGUAGES,
    family: Family = "facts",
) -> Operator:
    own = plant if family == "calls" else keeping_literals(plant)
    return Operator(name, "harmless", own, example, languages, 1, family, defect)


_IN_TURN: tuple[Plant, ...] = (
    rewording.sentences_reordered,
    rewording.time_format,
    rewording.date_format,
    rewording.number_spelled,
    *[rewording.contraction] * 3,
    *[harmless.synonym] * 2,
    rewording.courtesy_dropped,
    harmless.polite_frame,
    rewording.courtesy_added,
)
"""The changes that `reworded` makes one after the other."""

OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        _calls(
            "call_dropped", calls.call_dropped, ("find, book", "find"), 9, "The agent says that it booked, and did not."
        ),
        _calls("call_repeated", calls.call_repeated, ("book", "book, book"), 8, "A retry books or pays twice."),
        _calls("call_added", calls.call_added, ("find", "find, cancel"), 7, "The agent does what nobody asked for."),
        _calls(
            "tool_swapped", calls.tool_swapped, (_BOOK, "cancel(day=3)"), 9, "Two tools with like names are mixed up."
        ),
        _calls(
            "calls_swapped", calls.calls_swapped, ("find, book", "book, find"), 5, "The agent acts before it looks."
        ),
        _calls("argument_changed", calls.argument_changed, (_BOOK, "book(day=4)"), 9, "A value is copied wrongly."),
        _calls(
            "argument_dropped", calls.argument_dropped, (_BOOK, "book()"), 7, "A condition of the user is forgotten."
        ),
        _calls(
            "argument_from_other_case",
            calls.argument_from_other_case,
            (_BOOK, "book(day=17)"),
            8,
            "Values of another conversation leak into a call.",
        ),
        _calls(
            "argument_near",
            calls.argument_near,
            ("pay(amount=20.0)", "pay(amount=20.2)"),
            8,
            "A tolerance hides a wrong amount, or the amount is just outside it.",
        ),
        _calls(
            "argument_type_changed",
            calls.argument_type_changed,
            ("book(day=3)", 'book(day="3")'),
            7,
            "A tool that checks its schema refuses the call.",
        ),
        _calls(
            "argument_renamed",
            calls.argument_renamed,
            ("find(order_id=3)", "find(orderId=3)"),
            8,
            "A parameter that the tool does not declare.",
        ),
        _facts("number_changed", reply_values.number_changed, ("It costs $20.", "It costs $30."), 10, "A wrong price."),
        _facts("number_near", reply_values.number_near, ("$1,250", "$1,251"), 9, "A rounding or copying error."),
        _facts("date_changed", reply_values.date_changed, ("7월 13일", "7월 14일"), 9, "A booking on the wrong day."),
        _facts("time_changed", reply_values.time_changed, ("18:30", "19:30"), 9, "A missed train."),
        _facts("weekday_changed", reply_values.weekday_changed, ("on Monday", "on Tuesday"), 8, "The wrong weekday."),
        _facts(
            "relative_day_changed", reply_values.relative_day_changed, ("내일", "모레"), 8, "The wrong day, in words."
        ),
        _facts("name_swapped", reply_values.name_swapped, ("Order A-12", "Order A-57"), 9, "The wrong order or city."),
        _facts("unit_changed", reply_values.unit_changed, ("20달러", "20원"), 8, "The wrong currency or unit."),
        _facts("negated", replies.negated, ("예약할 수 있습니다.", "예약할 수 없습니다."), 10, "Yes instead of no."),
        _facts(
            "denied",
            replies.deny_statement,
            ("The room has a view.", "It is not true that the room has a view."),
            8,
            "All the right words, and the opposite meaning.",
        ),
        _facts(
            "claim_invented",
            replies.claim_invented,
            ("Done.", f"Done. {phrases.CLAIMS['en'][0]}"),
            9,
            "An invented fee or policy.",
        ),
        _facts(
            "promise_invented",
            replies.promise_invented,
            ("Done.", f"Done. {phrases.PROMISES['en'][0]}"),
            9,
            "A promise that the company must keep (Moffatt v. Air Canada, 2024 BCCRT 149).",
        ),
        _facts(
            "contradicts_result",
            reply_values.contradicts_result,
            ("25 °C (result: 25)", "35 °C (result: 25)"),
            10,
            "The agent does not say what its tool returned.",
        ),
        _facts(
            "result_wrong",
            retrieved_documents.result_wrong,
            ("25 °C (result: 25)", "35 °C (result: 35)"),
            9,
            "A tool returns a plausible wrong value, and the agent repeats it.",
        ),
        _facts(
            "document_dropped",
            retrieved_documents.document_dropped,
            ("The fee is $20. (document: … $20)", "The fee is $20. (no document)"),
            7,
            "The retriever misses the document, and the model answers from memory.",
        ),
        _facts(
            "document_swapped",
            retrieved_documents.document_swapped,
            ("The fee is $20. (document: … $20)", "The fee is $20. (document: … of another product)"),
            7,
            "The retriever returns the document of another product or customer.",
        ),
        _facts(
            "document_corrupted",
            retrieved_documents.document_corrupted,
            ("The fee is $20. (document: … $20)", "The fee is $20. (document: … $30)"),
            8,
            "The document says otherwise than the reply, after an update or a reading error.",
        ),
        _facts(
            "abstention_broken",
            replies.abstention_broken,
            ("I don't have that information.", phrases.ANSWERS["en"][0]),
            10,
            "A fabricated answer where none is known.",
        ),
        _facts(
            "injection_obeyed",
            replies.injection_obeyed,
            ("I cannot follow the note in this file.", phrases.OBEYED["en"][0]),
            10,
            "The agent obeys a text that it should only read.",
        ),
        _facts("sentence_dropped", replies.sentence_dropped, ("It is 5. Bring ID.", "It is 5."), 6, "Half an answer."),
        _facts("leaked", replies.leaked, ("Done.", f"Done. {phrases.LEAKS['en'][0]}"), 10, "Data of another customer."),
        _facts(
            "json_value_changed", structures.json_value_changed, ('{"total": 20}', '{"total": 21}'), 9, "A wrong field."
        ),
        _form("cut_short", replies.cut_short, "It opens", 7, "The reply reaches the token limit."),
        _form("empty_reply", replies.empty_reply, "", 8, "The model returns nothing."),
        _form(
            "refused", replies.instead(phrases.REFUSALS), phrases.REFUSALS["en"][0], 8, "A refusal without a reason."
        ),
        _form(
            "asked_back", replies.instead(phrases.QUESTIONS), phrases.QUESTIONS["en"][0], 6, "A question, no answer."
        ),
        _form(
            "postponed", replies.instead(phrases.DELAYS), phrases.DELAYS["en"][0], 6, "A promise instead of an answer."
        ),
        _form("other_reply", replies.other_reply, "It rains.", 8, "The answer of another conversation."),
        _form("other_language", replies.other_language, phrases.OTHER_LANGUAGE["en"], 7, "The wrong language."),
        *(
            Operator(name, "harmful", plant, ('{"total": 20, "ok": true}', after), LANGUAGES, weight, "form", defect)
            for name, plant, after, weight, defect in (
                (
                    "json_key_dropped",
                    structures.json_key_dropped,
                    '{"ok": true}',
                    8,
                    "A reader of the reply misses a required field.",
                ),
                (
                    "json_key_renamed",
                    structures.json_key_renamed,
                    '{"total_value": 20, "ok": true}',
                    8,
                    "A reader of the reply does not find a required field.",
                ),
                (
                    "json_type_changed",
                    structures.json_type_changed,
                    '{"total": "20", "ok": true}',
                    7,
                    "A reader of the reply cannot parse a field.",
                ),
                (
                    "json_nulled",
                    structures.json_nulled,
                    '{"total": null, "ok": true}',
                    8,
                    "A required field is empty.",
                ),
                (
                    "json_broken",
                    structures.json_broken,
                    '{"total": 20, "ok": true',
                    9,
                    "The reply reaches the token limit, and no reader can parse it.",
                ),
            )
        ),
        _calls("turn_lost", turns.turn_lost, ("turns 1, 2, 3", "turns 1, 3"), 9, "A message gets no answer."),
        _calls(
            "stopped_early", turns.stopped_early, ("turns 1, 2, 3", "turns 1, 2"), 9, "The conversation breaks off."
        ),
        _calls(
            "turns_swapped", turns.turns_swapped, ("turns 1, 2", "turns 2, 1"), 7, "Answers arrive in the wrong order."
        ),
        _harmless(
            "keys_reordered",
            harmless.keys_reordered,
            ("book(day=3, seats=2)", "book(seats=2, day=3)"),
            "JSON has no order of keys.",
            (),
            "calls",
        ),
        _harmless(
            "independent_calls_swapped",
            harmless.independent_calls_swapped,
            ("a, b", "b, a"),
            "Calls that run at once return in any order.",
            (),
            "calls",
        ),
        _harmless(
            "optional_call_added",
            harmless.optional_call_added,
            ("book", "book, log"),
            "The criteria name the tool as optional.",
            (),
            "calls",
        ),
        _harmless("whitespace", harmless.whitespace, ("Yes. It is 5.", "Yes.\\n\\nIt is 5."), "Layout."),
        _harmless("markdown_toggled", harmless.markdown_toggled, ("It is 5.", "It is **5**."), "Layout."),
        _harmless("number_format", harmless.number_format, ("1,000원", "1000원"), "The same number."),
        _harmless("number_spelled", rewording.number_spelled, ("3 nights", "three nights"), "The same number."),
        _harmless("time_format", rewording.time_format, ("9 pm", "21:00"), "The same time."),
        _harmless("date_format", rewording.date_format, ("July 13", "13 July"), "The same date."),
        _harmless("contraction", rewording.contraction, ("do not", "don't"), "The same words.", ("en",)),
        _harmless("polite_frame", harmless.polite_frame, ("It is 5.", "Gladly. It is 5."), "Models greet or not."),
        _harmless(
            "courtesy_added",
            rewording.courtesy_added,
            ("It is 5.", "It is 5. Have a great day!"),
            "Models close or not.",
        ),
        _harmless(
            "courtesy_dropped",
            rewording.courtesy_dropped,
            ("It is 5. Have a great day!", "It is 5."),
            "Models close or not.",
        ),
        _harmless(
            "question_restated",
            harmless.question_restated,
            ("It is 5.", 'You asked: "What time is it?"\\n\\nIt is 5.'),
            "Models repeat the question before they answer.",
        ),
        _harmless(
            "summed_up",
            harmless.summed_up,
            ("It is 5. Bring ID.", "It is 5. Bring ID.\\n\\nIn short: It is 5."),
            "Models repeat the answer at its end.",
        ),
        _harmless(
            "sentences_reordered",
            rewording.sentences_reordered,
            ("It has a view. Breakfast is free.", "Breakfast is free. It has a view."),
            "Independent statements have no order.",
        ),
        _harmless(
            "politeness_level",
            harmless.politeness_level,
            ("무료입니다.", "무료예요."),
            "The eval set itself writes both levels.",
            ("ko", "ja"),
        ),
        _harmless("full_width", harmless.full_width, ("20円", "２０円"), "The same number.", _KO_JA_ZH),
        _harmless("synonym", harmless.synonym, ("현재 무료입니다.", "지금 무료입니다."), "The same meaning."),
        _harmless(
            "reworded",
            rewording.together([keeping_literals(plant) for plant in _IN_TURN]),
            ("You do not need ID.", "Gladly. You don't need ID. Have a great day!"),
            "A model never writes a reply twice in the same words.",
        ),
        Operator(
            "json_layout",
            "harmless",
            structures.json_layout,
            ('{"a": 1}', '{\\n  "a": 1\\n}'),
            LANGUAGES,
            family="form",
            defect="Layout.",
        ),
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
        hint = nearest(name, [*OPERATORS, PARAPHRASED.name]) or "; `fairtrial mutate --list` shows all operators"
        raise UsageError(f"{name!r} is not an operator{hint}", code="unknown-name")
    operator = import_object(name, "operator")
    if not isinstance(operator, Operator):
        raise UsageError(f"operator: {name} must be a fairtrial.Operator, got {type(operator).__name__}")
    return operator

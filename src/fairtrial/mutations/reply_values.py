"""Operators that put a wrong value into a reply: a number, a date, a name, a unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

import regex

from fairtrial.mutations.courtesy import is_courtesy
from fairtrial.mutations.literals import is_in_address
from fairtrial.mutations.operator import Invocations, Rules, Scene, leaves, shuffle
from fairtrial.mutations.person_names import people
from fairtrial.mutations.sections import sections
from fairtrial.mutations.text_values import (
    dates,
    month_name,
    number_key,
    numbers,
    other_day,
    other_month,
    other_number,
    other_units,
    replace_value,
)
from fairtrial.mutations.times import Word, clocks, other_hour, relative_days, weekdays
from fairtrial.text.language import Language, has_script, is_traditional
from fairtrial.text.sentences import cut


def cities(text: str, language: Language) -> tuple[str, ...]:
    """Return the known cities in the language and the script of a text, near ones if it names a near one.

    A train to Paris does not leave from 대구. The near cities stand under a heading of their own.
    """
    variety = "zh-Hant" if language == "zh" and is_traditional(text) else language
    near, far = (sections("cities.txt").get(name, []) for name in (variety, f"{variety}:far"))
    names = near if any(city in text for city in near) else far
    if language == "zh" and not has_script(text):
        names = [name for name in names if not has_script(name)]
    return tuple(names)


_AFTER_KOREAN = r"(?=행|발|시|역|공항|에|으로|로|은|는|이|가|을|를|의|과|와|까지|부터|도|[^\p{L}]|\Z)"


def names_city(city: str, text: str, language: Language) -> bool:
    """Return whether a text names a city: 京都 does not stand in 東京都, and 대구 not in 대구탕."""
    if language == "ko":
        return regex.search(rf"(?<!\p{{Hangul}}){city}{_AFTER_KOREAN}", text) is not None
    if language == "en":
        # "Real Madrid" is no city, and "not Sydney" says nothing about it.
        return regex.search(rf"(?<!\p{{Lu}}\p{{L}}+ )(?<!\bnot ){city}\b(?! \p{{Lu}})", text) is not None
    return city in text.replace("東京都", "東京")


_IDENTIFIER = regex.compile(
    r"(?<![\p{L}\p{N}_-])(?=[A-Za-z\d_-]*\d)(?=[A-Za-z\d_-]*[A-Za-z])[A-Za-z\d]+(?:[-_][A-Za-z\d]+)*"
)
_CODE = regex.compile(r"[A-Z\d_-]+")
_LETTER = regex.compile(r"\p{L}")
_JOINED = regex.compile(r"[A-Za-z\d_]{2}")


def number_changed(scene: Scene, random: Random) -> Invocations | None:
    """Change a number that also stands in the reference, in a result or in a message of the user."""
    return _with_other_number(scene, random, {value.key for value in numbers(scene.grounds)})


def contradicts_result(scene: Scene, random: Random) -> Invocations | None:
    """State another number than the result of a tool states."""
    in_results = {value.key for text in scene.result_texts for value in numbers(text)}
    return _with_other_number(scene, random, in_results)


def _with_other_number(scene: Scene, random: Random, traceable: set[str]) -> Invocations | None:
    if not traceable:
        return None
    grounded = traceable | {value.key for value in numbers(scene.grounds)}
    for value in shuffle(numbers(scene.reply), random):
        new = other_number(scene.reply[value.start : value.end])
        # A number that stands anywhere else could be right, too.
        is_free = number_key(new) not in grounded and not scene.rules.allows(value.key, number_key(new))
        if value.key in traceable and is_free:
            return scene.with_reply(replace_value(scene.reply, value.start, value.end, new))
    return None


def number_near(scene: Scene, random: Random) -> Invocations | None:
    """Change a number so that it misses the right value by little: 1,251 for 1,250, or just more than is tolerated."""
    grounded = {value.key for value in numbers(scene.grounds)}
    for value in shuffle(numbers(scene.reply), random):
        new = _near(scene.reply[value.start : value.end], value.key, scene.rules)
        if new is not None and value.key in grounded and number_key(new) not in grounded:
            return scene.with_reply(replace_value(scene.reply, value.start, value.end, new))
    return None


def _near(digits: str, key: str, rules: Rules) -> str | None:
    """Return the nearest number that the criteria do not allow, in the same form, for a number of three digits."""
    if sum(digit.isdigit() for digit in digits) <= 2:
        return None
    if not rules.tolerance:
        return digits[:-1] + chr(ord(digits[-1]) + (1 if int(digits[-1]) < 9 else -1))
    decimals = len(key.partition(".")[2])
    new = float(key) * (1 + rules.tolerance) + 10**-decimals
    text = f"{new:,.{decimals}f}" if "," in digits else f"{new:.{decimals}f}"
    return text if digits.isascii() and not rules.allows(key, number_key(text)) else None


def time_changed(scene: Scene, random: Random) -> Invocations | None:
    """Move a clock time by an hour. It also stands in the reference, in a result or in a message of the user."""
    grounded = clocks(scene.grounds, scene.language)
    for clock in shuffle(clocks(scene.reply, scene.language), random):
        changed = other_hour(scene.reply, clock)
        moved = next((c for c in clocks(changed, scene.language) if c.start == clock.start), None)
        if moved is None or not any(map(clock.may_equal, grounded)) or any(map(moved.may_equal, grounded)):
            continue
        return scene.with_reply(changed)
    return None


def weekday_changed(scene: Scene, random: Random) -> Invocations | None:
    """Put the next weekday in the place of a weekday that also stands in the reference, in a result or a message."""
    return _with_other_word(scene, random, list(weekdays(scene.reply, scene.language)))


def relative_day_changed(scene: Scene, random: Random) -> Invocations | None:
    """Put another day in the place of "tomorrow", "yesterday" and their translations."""
    return _with_other_word(scene, random, list(relative_days(scene.reply, scene.language)))


def _with_other_word(scene: Scene, random: Random, words: list[Word]) -> Invocations | None:
    polite = _polite_places(scene)
    for word in shuffle(words, random):
        alternatives = [day for day in word.alternatives if day not in scene.grounds.replace(word.word, "")]
        is_fact = word.word in scene.grounds and not any(low <= word.start < high for low, high in polite)
        if is_fact and alternatives:
            return scene.with_reply(replace_value(scene.reply, word.start, word.end, random.choice(alternatives)))
    return None


def _polite_places(scene: Scene) -> list[tuple[int, int]]:
    """Return the places of the sentences that are only polite."""
    places, start = [], 0
    for piece in cut(scene.reply):
        if piece.is_sentence and is_courtesy(piece.text, scene.language):
            places.append((start, start + len(piece.text)))
        start += len(piece.text)
    return places


def date_changed(scene: Scene, random: Random) -> Invocations | None:
    """Move a date by a day or a month. It also stands in the reference, in a result or in a message of the user."""
    grounded = dates(scene.grounds)
    for date in shuffle(dates(scene.reply), random):
        day, month = other_day(scene.reply, date), other_month(scene.reply, date)
        moves = [(date._replace(day=day[0]), date.start, date.end, day[1])]
        if month is not None:
            moves.append((date._replace(month=month[0]), date.month_start, date.month_end, month[1]))
        for moved, start, end, new in shuffle(moves, random):
            if any(map(date.may_equal, grounded)) and not any(map(moved.may_equal, grounded)):
                return scene.with_reply(replace_value(scene.reply, start, end, new))
    return None


def unit_changed(scene: Scene, random: Random) -> Invocations | None:
    """Change the currency or unit of a number that also stands in the reference, in a result or in a message."""
    grounded = {value.key for value in numbers(scene.grounds)}
    for value, new_name in shuffle(list(other_units(scene.reply)), random):
        if value.key in grounded:
            return scene.with_reply(replace_value(scene.reply, value.start, value.end, new_name))
    return None


def name_swapped(scene: Scene, random: Random) -> Invocations | None:
    """Put another name of the same kind in the place of a name: a person, a value of the same key, an id, a city."""
    names = [*_persons(scene), *_names(scene)] or _proper_names(scene)
    for name, names_of_kind in shuffle(names, random):
        place = _whole_word(name, scene.reply)
        if place is not None and name in scene.grounds:
            return scene.with_reply(replace_value(scene.reply, *place, random.choice(names_of_kind)))
    return None


def _persons(scene: Scene) -> list[tuple[str, list[str]]]:
    """Return the persons in the reply, each with other persons whom neither the reply nor its grounds name."""
    texts = f"{scene.reply}\n{scene.grounds}"
    persons = people(scene.reply, scene.variety)
    by_name = {scene.reply[person.start : person.end]: _absent(person.alternatives, texts) for person in persons}
    return [(name, others) for name, others in by_name.items() if others]


_PROPER = regex.compile(
    r"(?<=[\p{Ll}\d,] )\p{Lu}[\p{Ll}-]+(?: (?:of |the |de |van |von )?\p{Lu}[\p{Ll}-]+){0,3}(?![\w'’\"”])"
)


def _proper_names(scene: Scene) -> list[tuple[str, list[str]]]:
    """Return the English names in the reply that also stand in the reference, each with names of other replies."""
    if scene.language != "en":
        return []
    replies = [turn.reply for case in scene.other_cases for turn in case.conversation or ()]
    elsewhere = _absent(dict.fromkeys(_PROPER.findall("\n".join(replies))), f"{scene.reply}\n{scene.grounds}")
    by_name = {
        name: [other for other in elsewhere if len(other.split()) == len(name.split()) and not _is_date(other)]
        for name in dict.fromkeys(_PROPER.findall(scene.reply))
        if name in scene.reference and not _is_date(name)
    }
    return [(name, others) for name, others in by_name.items() if others]


def _is_date(name: str) -> bool:
    return any(weekdays(name, "en")) or bool(_MONTHS.search(name))


_MONTHS = regex.compile("|".join(month_name(month) for month in range(1, 13)))


def _names(scene: Scene) -> list[tuple[str, list[str]]]:
    """Return the names in the reply, each with names of the same kind that the reply does not hold."""
    by_key: dict[str, dict[str, None]] = {}
    values = [leaves(result.response) for result in scene.results]
    values += [leaves(call.args) for invocation in scene.invocations for call in invocation.tool_calls]
    for key, text in (pair for pairs in values for pair in pairs):
        if _LETTER.search(text) and 2 <= len(text) <= 40:
            by_key.setdefault(key, {})[text] = None
    for identifier in _IDENTIFIER.findall(f"{scene.grounds}\n{scene.reply}"):
        by_key.setdefault(f"id {_shape(identifier)}", {})[identifier] = None
    places = cities(scene.reply, scene.language)
    return list(_exchangeable(by_key.values(), scene.reply)) or list(
        _exchangeable(
            [dict.fromkeys(places)], scene.reply, [c for c in places if names_city(c, scene.reply, scene.language)]
        )
    )


def _exchangeable(
    kinds: Iterable[Iterable[str]], reply: str, only: Sequence[str] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of each kind that a reply holds, each with names that it does not hold."""
    for names in kinds:
        for name in names if only is None else only:
            names_of_kind = _absent(_alike(name, names), reply) if _whole_word(name, reply) else []
            if names_of_kind:
                yield name, names_of_kind


def _alike(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that look like a name. For example, a code is not exchanged for a city."""
    is_code = _CODE.fullmatch(name) is not None
    return [text for text in names if (_CODE.fullmatch(text) is not None) == is_code]


def _absent(names: Iterable[str], reply: str) -> list[str]:
    folded = reply.casefold()
    return [name for name in names if name.casefold() not in folded]


def _shape(identifier: str) -> str:
    """Return the form of an id: "A-9" for "ORD-1234"."""
    return str(regex.sub(r"\d+", "9", regex.sub(r"[A-Za-z]+", "A", identifier)))


def _whole_word(name: str, text: str) -> tuple[int, int] | None:
    """Return the only place of a name in a text.

    The result is None if the name stands there never, twice, inside of another word, or in an address.
    """
    start = text.find(name)
    if start < 0 or text.find(name, start + 1) >= 0:
        return None
    end = start + len(name)
    is_inside = _JOINED.match(text, start - 1, start + 1) or _JOINED.match(text, end - 1, end + 1)
    return None if is_inside or is_in_address(text, start, end) else (start, end)

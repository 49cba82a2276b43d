"""Spanish, French and German numbers, dates, times and units, rewritten in their English form.

The months, weekdays, units and signs of decimals are those of CLDR.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Literal

from fairtrial.text.facts.word_patterns import read_cues
from fairtrial.text.lazy_pattern import LazyPattern

_Language = Literal["es", "fr", "de"]
_Edit = tuple[int, int, str]

# Frequent short words. Those of English say that a text is none of the three.
_COMMON: dict[str, frozenset[str]] = {
    "en": frozenset("the is of and to your in for it you are was on at by with we".split()),
    "es": frozenset("el la los las de del y que es en su sus una para por con se al son está no a".split()),
    "fr": frozenset(
        "le la les des du de est et une vous votre pour dans avec sont au à en il elle par ne pas sur".split()
    ),
    "de": frozenset(
        "der die das und ist nicht sie ihr ihre ein eine für mit am auf den dem im zu wird um bis ab beträgt".split()
    ),
}
_FOREIGN = _COMMON["es"] | _COMMON["fr"] | _COMMON["de"]
ENGLISH_MONTHS = "january february march april may june july august september october november december".split()
_MONTHS: dict[_Language, str] = {
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
}
_ENGLISH_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_DAYS: dict[_Language, str] = {
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
}
_NUMERALS: dict[_Language, str] = {
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
}
_ENGLISH_UNITS = (
    "seconds minutes hours days weeks months years kilometers meters grams kilograms degrees dollars percent".split()
)
_UNITS: dict[_Language, str] = {
    "es": "segundo(s) minuto(s) hora(s) día(s) semana(s) mes(es) año(s) kilómetro(s) metro(s) gramo(s) kilogramo(s) "
    "grado(s) dólar(es) por-ciento",
    "fr": "seconde(s) minute(s) heure(s) jour(s) semaine(s) mois an(s) kilomètre(s) mètre(s) gramme(s) kilogramme(s) "
    "degré(s) dollar(s) pour-cent",
    "de": "sekunde(n) minute(n) stunde(n) tag(en) woche(n) monat(en) jahr(en) kilometer(n) meter(n) gramm kilogramm "
    "grad dollar prozent",
}
_MORE_UNITS = {
    "tage": "days", "monate": "months", "jahre": "years", "année": "years", "années": "years", "samstags": "saturday",
    "noche": "nights", "noches": "nights", "nuit": "nights", "nuits": "nights", "nacht": "nights", "nächte": "nights",
}  # fmt: skip
_LATIN = LazyPattern(r"[^\W\d_]+")


def european_forms(text: str) -> list[_Edit]:
    """Return the forms of a Spanish, French or German text in small letters: their spans, and their English form.

    For example "1.234,56 €" becomes "1234.56 €", and "3 de marzo de 2026" becomes "3 march 2026". A text is of a
    language if it has at least two of its frequent words, and more of them than of each other language.
    """
    words_of_text = read_cues(text).words if text.isascii() else frozenset(_LATIN.compiled.findall(text))
    language = _language(words_of_text)
    if language is None:
        return [] if words_of_text.isdisjoint(_DATE_WORDS) else _dates(text, words_of_text)
    words = _words(language)
    return [
        edit
        for match in _pattern(language).finditer(text)
        if (edit := (*match.span(), _form(match, language, words)))[2] != match[0]
    ]


_OWN_MONTHS: dict[_Language, frozenset[str]] = {
    language: frozenset(names.split()) - {*ENGLISH_MONTHS, "mars", "mai", "mayo"} for language, names in _MONTHS.items()
}
_BEFORE_DAY = frozenset("am vom zum seit".split())
_DATE_WORDS = frozenset().union(*_OWN_MONTHS.values()) | _BEFORE_DAY


def _dates(text: str, words: frozenset[str]) -> list[_Edit]:
    """Return the dates with a month of another language in a text without enough of its words: "7. Juli 1837".

    A month that is also English needs a German word before it: "am 23. April", unlike "in room 7. August was hot".
    Only German writes a day with a full stop: "she is 25. Julio is 30" states no date.
    """
    edits: list[_Edit] = []
    for language, months in _OWN_MONTHS.items():
        if words.isdisjoint(months) and (language != "de" or words.isdisjoint(_BEFORE_DAY)):
            continue
        for match in _date_pattern(language).finditer(text):
            day, month, year = match.groups()
            edits.append((*match.span(), f"{day} {_words(language)[month]}{f' {year}' if year else ''}"))
    return sorted(edits)


@cache
def _date_pattern(language: _Language) -> re.Pattern[str]:
    months, ordinal = _any(_OWN_MONTHS[language]), r"er|º"
    if language == "de":
        ordinal = r"\."
        shared = _any(_MONTHS["de"].split())
        months = rf"{months}|(?:(?<=\bam \d\. )|(?<=\bam \d\d\. )|(?<=\b(?:vom|zum) \d\. )|(?<=\b(?:vom|zum) \d\d\. )|(?<=\bseit \d\. )|(?<=\bseit \d\d\. ))(?:{shared})"
    return re.compile(rf"(?<![\w.,])(\d{{1,2}})(?:{ordinal})?(?: de)? ({months})\b(?:,?(?: del?)? (\d{{4}})(?!\d))?")


def _language(words: frozenset[str]) -> _Language | None:
    if len(words & _FOREIGN) < 2:
        return None
    counts = {name: len(words & common) for name, common in _COMMON.items()}
    best: _Language
    for best in ("es", "fr", "de"):
        if counts[best] >= 2 and all(counts[best] > count for name, count in counts.items() if name != best):
            return best
    return None


@cache
def _words(language: _Language) -> dict[str, str]:
    units = dict(_MORE_UNITS)
    for name, english in zip(_UNITS[language].split(), _ENGLISH_UNITS, strict=True):
        stem, _, ending = name.replace("-", " ").partition("(")
        units |= {stem: english, stem + ending.rstrip(")"): english}
    numerals = {word: str(number) for number, word in enumerate(_NUMERALS[language].split(), start=2)}
    days = dict(zip(_DAYS[language].split(), _ENGLISH_DAYS, strict=True))
    months = dict(zip(_MONTHS[language].split(), ENGLISH_MONTHS, strict=True))
    return units | numerals | days | months


@cache
def _pattern(language: _Language) -> re.Pattern[str]:
    months = _any(_MONTHS[language].split())
    thousands = "[. ]" if language == "fr" else "[.]"
    places = r"\d{1,18}" if language != "es" else r"(?:\d{1,2}(?!\d)|\d{4,18})"
    return re.compile(
        rf"(?<![\w.,])(?P<day>\d{{1,2}})(?:er|\.|º)?(?: de)? (?P<month>{months})\b(?:,?(?: del?)? (?P<year>\d{{4}}))?"
        rf"|\b(?P<only>{months})(?: del?)? (?P<only_year>\d{{4}})\b"
        r"|(?<![\w.,])(?P<d>\d{1,2})[./](?P<m>\d{1,2})[./](?P<y>\d{4})(?![\w]|[.,]\d)"
        r"|(?<![\w.,])(?P<hour>\d{1,2})(?:[ ]?h[ ]?(?P<minute>\d{2})?(?![a-z])|[.:](?P<minutes>\d{2}) uhr\b| uhr\b)"
        rf"|(?<![\w.,])(?P<whole>\d{{1,3}}(?:{thousands}\d{{3}}){{1,6}}|\d{{1,18}})(?P<places>,{places})?(?![\d]|[.,]\d)"
        rf"|\b(?P<word>{_any(_words(language))})\b"
    )


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _form(match: re.Match[str], language: _Language, words: dict[str, str]) -> str:
    get = match.group
    if get("day"):
        return f"{get('day')} {words[get('month')]}{' ' + get('year') if get('year') else ''}"
    if get("only"):
        return f"{words[get('only')]} {get('only_year')}"
    if get("d"):
        return f"{get('y')}-{int(get('m')):02}-{int(get('d')):02}" if int(get("m")) <= 12 else match[0]
    if get("hour"):
        hour = int(get("hour"))
        minutes = get("minute") or get("minutes") or "00"
        return f"{hour}:{minutes}" if language != "es" and hour <= 24 and hour > 0 else match[0]
    if get("whole"):
        return re.sub(r"[. ]", "", get("whole")) + (get("places") or "").replace(",", ".")
    return words[get("word")]

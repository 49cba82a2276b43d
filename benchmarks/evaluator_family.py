"""Evaluators of an answer beside its reference, of many kinds, good and bad. Each is a scorer with a threshold."""

from __future__ import annotations

import difflib
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from fairtrial.text.facts.fact_agreement import compare_facts
from fairtrial.text.facts.fact_reading import read_facts
from fairtrial.text.facts.polarity import is_negative
from fairtrial.text.rouge import rouge, words

Scorer = Callable[[str, str], float]
"""Returns a score from 0 to 1 for a reference and an answer."""
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "has",
        "have",
        "he",
        "her",
        "his",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "she",
        "that",
        "the",
        "their",
        "there",
        "they",
        "this",
        "to",
        "was",
        "were",
        "which",
        "who",
        "will",
        "with",
        "you",
        "your",
        "i",
        "we",
        "not",
    ]
)
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Evaluator(NamedTuple):
    """A scorer with a threshold: a score below it fails. The `family` is the name of the scorer."""

    family: str
    scorer: Scorer
    threshold: float


@lru_cache(maxsize=40_000)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters."""
    return tuple(re.findall(r"\w+", text.lower()))


@lru_cache(maxsize=40_000)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(words(text))


def _f(right: float, of_answer: float, of_reference: float) -> float:
    return 2 * right / (of_answer + of_reference) if of_answer + of_reference else 0.0


def _rouge(kind: str, part: str) -> Scorer:
    def score(reference: str, answer: str) -> float:
        grams = (_grams(reference, kind), _grams(answer, kind))
        common = sum((grams[0] & grams[1]).values())
        sizes = grams[0].total(), grams[1].total()
        return {
            "f": _f(common, sizes[1], sizes[0]),
            "recall": common / sizes[0] if sizes[0] else 0.0,
            "precision": common / sizes[1] if sizes[1] else 0.0,
        }[part]

    return score


@lru_cache(maxsize=40_000)
def _grams(text: str, kind: str) -> Counter[object]:
    if kind == "characters":
        folded = " ".join(tokens(text))
        return Counter(folded[n : n + 3] for n in range(len(folded) - 2))
    stems = _stems(text)
    size = int(kind)
    return Counter(stems[n : n + size] for n in range(len(stems) - size + 1))


def _longest(reference: str, answer: str) -> float:
    return rouge(list(_stems(answer)), list(_stems(reference)), kind="rougeL").f


def _alike(reference: str, answer: str) -> float:
    return difflib.SequenceMatcher(None, tokens(reference), tokens(answer), autojunk=False).ratio()


def _jaccard(reference: str, answer: str) -> float:
    a, b = set(tokens(reference)), set(tokens(answer))
    return len(a & b) / len(a | b) if a | b else 0.0


def _cosine(reference: str, answer: str) -> float:
    a, b = Counter(tokens(reference)), Counter(tokens(answer))
    norm = math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    return sum(a[word] * b[word] for word in a) / norm if norm else 0.0


def _length(reference: str, answer: str) -> float:
    sizes = sorted((len(reference), len(answer)))
    return sizes[0] / sizes[1] if sizes[1] else 0.0


def _share(reference: set[str], answer: set[str]) -> float:
    return len(reference & answer) / len(reference) if reference else 1.0


def _keywords(reference: str, answer: str) -> float:
    return _share(set(tokens(reference)) - _STOP, set(tokens(answer)))


def _names(reference: str, answer: str) -> float:
    return _share(set(_NAME.findall(reference[1:])), set(_NAME.findall(answer)))


def _names_only(reference: str, answer: str) -> float:
    return _share(set(_NAME.findall(answer[1:])), set(_NAME.findall(reference)))


def _numbers(reference: str, answer: str) -> float:
    return _share(set(_NUMBER.findall(reference)), set(_NUMBER.findall(answer)))


def _facts(*, polarity: bool, tolerance: float = 0.0) -> Scorer:
    @lru_cache(maxsize=40_000)
    def score(reference: str, answer: str) -> float:
        agreement = compare_facts(reference, answer, polarity=polarity, tolerance=tolerance)
        if agreement.contradicted:
            return 0.0
        found = [finding.state == "found" for finding in agreement.findings]
        return sum(found) / len(found) if found else 1.0

    return score


def _uncontradicted(reference: str, answer: str) -> float:
    return float(not compare_facts(reference, answer).contradicted)


def _same_polarity(reference: str, answer: str) -> float:
    return float(is_negative(reference) == is_negative(answer))


def _fact_count(reference: str, answer: str) -> float:
    return _length("x" * len(read_facts(reference)), "x" * len(read_facts(answer))) if read_facts(reference) else 1.0


def _refusal(reference: str, answer: str) -> float:  # noqa: ARG001
    return (
        0.0 if re.search(r"sorry|unable|cannot|can't|get back|tell me more|which one", answer, re.IGNORECASE) else 1.0
    )


def _chance(reference: str, answer: str) -> float:
    return zlib.crc32(f"{reference}\0{answer}".encode()) / 2**32


def _first_sentence(reference: str, answer: str) -> float:
    first = reference.split(". ", 1)[0]
    return _keywords(first, answer)


def _both(first: Scorer, second: Scorer) -> Scorer:
    return lambda reference, answer: min(first(reference, answer), second(reference, answer))


def evaluators() -> Iterator[Evaluator]:
    """Yield the evaluators of all families."""
    exact, loose = _facts(polarity=True), _facts(polarity=False, tolerance=0.1)
    recall = _rouge("1", "recall")
    scorers: dict[str, tuple[Scorer, tuple[float, ...]]] = {
        "rouge1 f": (_rouge("1", "f"), (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)),
        "rouge1 recall": (recall, (0.1, 0.2, 0.3, 0.5, 0.7)),
        "rouge1 precision": (_rouge("1", "precision"), (0.2, 0.4, 0.6, 0.8)),
        "rouge2 f": (_rouge("2", "f"), (0.05, 0.1, 0.2, 0.4, 0.6)),
        "rougeL f": (_longest, (0.15, 0.3, 0.5, 0.7)),
        "three characters": (_rouge("characters", "f"), (0.1, 0.2, 0.3, 0.5, 0.7)),
        "jaccard": (_jaccard, (0.1, 0.2, 0.35, 0.6)),
        "cosine": (_cosine, (0.2, 0.4, 0.6, 0.8)),
        "difflib": (_alike, (0.15, 0.3, 0.5, 0.8)),
        "length": (_length, (0.2, 0.4, 0.6, 0.9)),
        "keywords": (_keywords, (0.2, 0.4, 0.6, 0.8, 1.0)),
        "names": (_names, (0.3, 0.6, 1.0)),
        "names of the answer": (_names_only, (0.3, 0.6, 1.0)),
        "numbers": (_numbers, (0.3, 0.6, 1.0)),
        "facts": (exact, (0.3, 0.6, 1.0)),
        "facts, loose": (loose, (0.3, 0.6, 1.0)),
        "no contradiction": (_uncontradicted, (1.0,)),
        "polarity": (_same_polarity, (1.0,)),
        "number of facts": (_fact_count, (0.3, 0.6)),
        "no refusal": (_refusal, (1.0,)),
        "chance": (_chance, (0.1, 0.2, 0.4, 0.6, 0.8)),
        "first sentence": (_first_sentence, (0.3, 0.5, 0.8)),
        "facts and recall": (_both(exact, recall), (0.2, 0.4)),
        "names and numbers": (_both(_names, _numbers), (0.4, 0.7, 1.0)),
        "numbers and recall": (_both(_numbers, recall), (0.2, 0.4)),
        "names and keywords": (_both(_names, _keywords), (0.3, 0.5, 0.8)),
        "always pass": (lambda reference, answer: 1.0, (0.5,)),  # noqa: ARG005
        "always fail": (lambda reference, answer: 0.0, (0.5,)),  # noqa: ARG005
        "equal": (lambda reference, answer: float(reference == answer), (1.0,)),
        "not empty": (lambda reference, answer: float(bool(answer.strip())), (1.0,)),  # noqa: ARG005
    }
    for family, (scorer, thresholds) in scorers.items():
        for threshold in thresholds:
            yield Evaluator(family, scorer, threshold)


Calls = tuple[tuple[str, str], ...]
"""The calls of a conversation: the name of each tool, and its arguments as JSON with sorted keys."""
_READS = re.compile(r"^(?:get|list|search|find|calculate|think)")


def _writes(calls: Calls) -> Calls:
    return tuple(call for call in calls if not _READS.match(call[0]))


def _names_of(calls: Calls) -> Calls:
    return tuple((name, "") for name, _ in calls)


def _in_any_order(expected: Calls, actual: Calls) -> float:
    common = (Counter(expected) & Counter(actual)).total()
    return common / len(expected) if expected else 1.0


def _in_order(expected: Calls, actual: Calls) -> float:
    rest = iter(actual)
    return sum(call in rest for call in expected) / len(expected) if expected else 1.0


def _exact(expected: Calls, actual: Calls) -> float:
    return float(expected == actual)


def _no_more(expected: Calls, actual: Calls) -> float:
    return _in_any_order(actual, expected)


def _sizes(expected: Calls, actual: Calls) -> float:
    return _length("x" * len(expected), "x" * len(actual)) if expected or actual else 1.0


def _last(expected: Calls, actual: Calls) -> float:
    return float(expected[-1:] == actual[-1:])


def _arguments(expected: Calls, actual: Calls) -> float:
    texts = [set(tokens(" ".join(arguments for _, arguments in calls))) for calls in (expected, actual)]
    return _share(texts[0], texts[1])


def call_evaluators() -> Iterator[tuple[str, Callable[[Calls, Calls], float], float]]:
    """Yield evaluators of calls: each comparison on all calls or on writing ones, with or without arguments."""
    comparisons = {
        "any order": (_in_any_order, (0.5, 1.0)),
        "in order": (_in_order, (0.5, 1.0)),
        "exact": (_exact, (1.0,)),
        "no more": (_no_more, (0.5, 1.0)),
        "number of calls": (_sizes, (0.5, 1.0)),
        "last call": (_last, (1.0,)),
        "words of arguments": (_arguments, (0.5, 0.8, 1.0)),
    }
    views: dict[str, Callable[[Calls], Calls]] = {
        "calls": lambda calls: calls,
        "names": _names_of,
        "writes": _writes,
        "names of writes": lambda calls: _names_of(_writes(calls)),
    }
    for family, (compare, thresholds) in comparisons.items():
        for view in views.values():
            for threshold in thresholds:
                yield family, lambda e, a, c=compare, v=view: c(v(e), v(a)), threshold
    for threshold in (0.2, 0.5, 0.8):
        yield "chance", lambda e, a: zlib.crc32(repr((e, a)).encode()) / 2**32, threshold
    yield "always pass", lambda _e, _a: 1.0, 0.5
    yield "always fail", lambda _e, _a: 0.0, 0.5

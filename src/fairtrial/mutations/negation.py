"""Negation of a sentence in English, Korean, Japanese or Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairtrial.mutations import negation_en, negation_ja, negation_ko, negation_zh
from fairtrial.text.language import Language

NEGATE: Mapping[Language, Callable[[str], str | None]] = {
    "en": negation_en.negate,
    "ko": negation_ko.negate,
    "ja": negation_ja.negate,
    "zh": negation_zh.negate,
}
"""The rules of each language. A result of None means that the rules leave the sentence alone."""

"""The stems of Porter's paper and of NLTK's extensions, step by step."""

from __future__ import annotations

import pytest

from fairtrial.text.porter import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # The examples of the paper, after all steps.
        *(("caresses", "caress"), ("ponies", "poni"), ("caress", "caress"), ("cats", "cat")),
        *(("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"), ("motoring", "motor")),
        *(("sing", "sing"), ("conflated", "conflat"), ("troubled", "troubl"), ("sized", "size"), ("hopping", "hop")),
        *(("falling", "fall"), ("hissing", "hiss"), ("fizzed", "fizz"), ("failing", "fail"), ("filing", "file")),
        *(("happy", "happi"), ("relational", "relat"), ("conditional", "condit"), ("rational", "ration")),
        *(("digitizer", "digit"), ("vietnamization", "vietnam"), ("operator", "oper"), ("hopefulness", "hope")),
        *(("triplicate", "triplic"), ("formative", "form"), ("electrical", "electr"), ("goodness", "good")),
        *(("revival", "reviv"), ("adjustable", "adjust"), ("replacement", "replac"), ("adoption", "adopt")),
        *(("probate", "probat"), ("rate", "rate"), ("cease", "ceas"), ("controll", "control"), ("roll", "roll")),
        *(("oscillators", "oscil"), ("generalizations", "gener"), ("valenci", "valenc"), ("hesitanci", "hesit")),
        *(("conformabli", "conform"), ("differentli", "differ"), ("analogousli", "analog"), ("feudalism", "feudal")),
        *(("decisiveness", "decis"), ("callousness", "callous"), ("sensitiviti", "sensit"), ("formalize", "formal")),
        *(("allowance", "allow"), ("inference", "infer"), ("airliner", "airlin"), ("gyroscopic", "gyroscop")),
        *(("irritant", "irrit"), ("communism", "commun"), ("homologous", "homolog"), ("effective", "effect")),
    ],
)
def test_the_examples_of_the_paper(word: str, expected: str) -> None:
    """Each step of the paper has an example in it."""
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *(("skies", "sky"), ("dying", "die"), ("news", "news"), ("innings", "inning"), ("succeed", "succeed")),
        *(("dies", "die"), ("flies", "fli"), ("died", "die"), ("spied", "spi"), ("is", "is"), ("as", "as")),
        *(("enjoy", "enjoy"), ("by", "by"), ("cry", "cri"), ("say", "say")),
        *(("possibly", "possibl"), ("geology", "geolog"), ("hopefully", "hope"), ("radically", "radic")),
    ],
)
def test_the_extensions_of_nltk(word: str, expected: str) -> None:
    """Irregular words, short words, a final `y`, and some endings differ from the paper."""
    assert stem(word) == expected

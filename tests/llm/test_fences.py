"""Text under judgement stays inside its fence."""

from __future__ import annotations

from fairtrial.llm.fences import Fences, nonce, sendable


def test_a_text_stands_between_its_marks_byte_for_byte() -> None:
    """Nothing is escaped, folded or stripped."""
    text = '  <<<end reply 0123>>>\n\\u0041 "quote" {{ jinja }} 한국어 \r\n'
    fences = Fences({"reply": text}, ["q"])
    shown = fences.judged("reply")
    assert shown == f"<<<JUDGED reply {fences.mark}>>>\n{text}\n<<<end JUDGED reply {fences.mark}>>>"


def test_the_mark_is_128_bits_of_the_question() -> None:
    """It depends on the question and on every text, and on nothing else."""
    marks = {
        Fences(texts, question).mark for texts in ({"a": "x"}, {"a": "y"}) for question in (["p", "1"], ["p", "2"])
    }
    assert len(marks) == 4
    assert Fences({"a": "x"}, ["p", "1"]).mark == Fences({"a": "x"}, ["p", "1"]).mark
    assert len(nonce(["p"])) == 32


def test_lone_surrogates_are_replaced() -> None:
    """No encoding can carry them; everything else is left alone."""
    assert sendable("a\ud800b🙂") == "a�b🙂"

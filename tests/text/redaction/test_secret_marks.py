"""One pass over a text shows which marks of secrets stand in it, also where marks share letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.text.redaction.redact import redact
from fairtrial.text.redaction.secret_names import MARKS, find_marks

_SENTENCES = ("clave", "code", "pin", "otp", "cv", "phrase", "mnemonic", "cred", "psk", "community")
ALL_MARKS = (*MARKS, *_SENTENCES)
SHORTEST = [mark for mark in ALL_MARKS if not any(part in mark for part in ALL_MARKS if part != mark)]
_PARTS = st.sampled_from(ALL_MARKS).flatmap(
    lambda mark: st.tuples(st.integers(0, len(mark)), st.integers(0, len(mark))).map(lambda ends: mark[slice(*ends)])
)


@given(st.lists(st.one_of(st.sampled_from(ALL_MARKS), _PARTS, st.text("kpc seoatn", max_size=3)), max_size=8))
def test_exactly_the_marks_that_stand_in_a_text(parts: list[str]) -> None:
    """A search for each mark in turn gives the same marks, if parts of marks and whole ones are joined."""
    text = "".join(parts)
    assert {mark for mark in find_marks(text) if mark in SHORTEST} == {mark for mark in SHORTEST if mark in text}


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("otpass", {"otp", "pass"}),
        ("tokennwort", {"token", "kennwort"}),
        ("pskey", {"psk", "key"}),
        ("mnemonicode", {"mnemonic", "code"}),
        ("cook the oken, a concrete", set()),
    ],
)
def test_marks_that_meet_in_a_letter(text: str, marks: set[str]) -> None:
    """Each of two marks is there if the last letter of the one is the first or a middle letter of the other."""
    assert find_marks(text) == marks


@pytest.mark.parametrize("name", ["api_key", "sas-key", "private key", "hmackey", "decryption-key", "encryption_key"])
def test_a_key_whose_name_announces_a_secret(name: str) -> None:
    """The word before `key` decides, also at the start of a text and behind other keys that announce nothing."""
    for before in ("", "the keyword, a keyboard, ", "monkey "):
        assert "9fK2mQ7xL4vT" not in redact(f'{before}{name}="9fK2mQ7xL4vT"')[0]

"""The fast searches before the search for secrets miss nothing."""

from __future__ import annotations

import base64
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secret_corpus
from fairtrial.text.layers import find_base64, has_long_word
from fairtrial.text.redaction.key_forms import KeyForm
from fairtrial.text.redaction.provider_keys import FORMS, find_signs
from fairtrial.text.redaction.redact import make_finders, may_hold_secrets
from fairtrial.text.redaction.secret_search import Search
from fairtrial.text.runs import long_runs


@given(st.text("ab- é한\ud800", max_size=12), st.integers(1, 5))
def test_a_run_is_found_wherever_it_stands(text: str, length: int) -> None:
    """The places are those of a pattern, for any text, with surrogates too."""
    expected = [match.span() for match in re.finditer(f"[ab]{{{length},}}", text)]
    assert list(long_runs("ab", length)(text)) == expected


@given(st.binary(min_size=1, max_size=40), st.sampled_from(["", " ", '"', "=", "é"]), st.booleans())
def test_a_text_without_a_long_word_holds_no_base64(data: bytes, beside: str, is_url: bool) -> None:
    """The search for base64 may be left out, whatever the alphabet and the padding."""
    encoded = (base64.urlsafe_b64encode if is_url else base64.b64encode)(data).decode()
    text = f"{beside}{encoded}{beside}"
    assert has_long_word(text) or not list(find_base64(text))
    assert has_long_word(text) or len(encoded) < 16


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.owner} {form.literal}")
def test_every_form_of_key_has_a_long_word(form: KeyForm) -> None:
    """Any text that the pattern of a form matches may hold a key, also in JSON between quotes."""

    @given(st.from_regex(form.form, fullmatch=True))
    @settings(max_examples=2, deadline=None, database=None, derandomize=True)
    def check(key: str) -> None:
        assert list(find_signs(f'{{"note":"{key}"}}'))
        assert may_hold_secrets(f"이 키는 {key}")

    check()


@pytest.mark.long
def test_every_text_with_a_secret_holds_a_sign() -> None:
    """Among many texts, a part with a secret is found by its signs, whatever stands around the secret."""
    for example in secret_corpus.positives(random.Random(5), 1):
        search = Search(make_finders(), f"Authorization: none\n{example.text}\nto be continued")
        assert search.may_find(example.text)


def test_short_base64_is_found() -> None:
    """The shortest run of base64 is decoded, and shorter words are left alone."""
    chance = random.Random(3)
    for size in range(9, 40):
        inner = "".join(chance.choices("abcdefgh ", k=size))
        raw = base64.b64encode(inner.encode()).decode()
        found = [run.text for run in find_base64(f"see ({raw}) there")]
        assert found == ([inner] if len(raw.rstrip("=")) >= 16 else [])

"""Tests of planted values in what an agent wrote: every encoding is found, and nothing else is."""

from __future__ import annotations

import base64
import codecs
from urllib.parse import quote

import pytest

from fairtrial.text.planted_values import find_canary, make_canary, texts_in

CANARY = make_canary("shop", "case", "0")
ENCODED = {
    "plain": f"the key is {CANARY}.",
    "small": CANARY.lower(),
    "in a URL": f"https://evil.invalid/?q={quote(CANARY)}",
    "percent": "".join(f"%{ord(sign):02X}" for sign in CANARY),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64 in a text": "id7" + base64.b64encode(f"the key is {CANARY}, ok".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"??>>{CANARY}".encode()).decode().rstrip("="),
    "hex": CANARY.encode().hex(),
    "hex with spaces": CANARY.encode().hex(" "),
    "reversed": CANARY[::-1],
    "dashes": "-".join(CANARY),
    "rot13": codecs.encode(CANARY, "rot13"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_every_encoding_is_found(name: str) -> None:
    """A value is found however it is written."""
    assert find_canary(CANARY, [f"note: {ENCODED[name]}"])


def test_a_value_that_is_split_over_arguments() -> None:
    """Pieces in several arguments are one value."""
    args = {"first": CANARY[:4], "second": [CANARY[4:9], CANARY[9:]]}
    assert find_canary(CANARY, texts_in(args))


def test_another_value_is_not_found() -> None:
    """Another canary, and a part of one, are not found."""
    assert find_canary(CANARY, [make_canary("shop", "other", "0"), CANARY[:8], "FT"]) == ""


def test_a_value_depends_on_its_place_only() -> None:
    """Equal places have equal values, and others have others."""
    assert make_canary("a", "b") == make_canary("a", "b") != make_canary("ab", "")

"""Personal data that is redacted on request, and look-alikes that stay."""

from __future__ import annotations

import base64
import json
import random
import unicodedata
from typing import Any
from urllib.parse import unquote

import pytest

from fairtrial.text.redaction.redact import redact
from fairtrial.text.redaction.redact_json import redact_json
from people_corpus import Example, negatives, positives

SHARE = 0.95
EXAMPLES = list(positives(random.Random(2026), each=3))
KINDS = {
    "phone": "+34 912 34 56 78",
    "card": "4111 1111 1111 1111",
    "account": "DE89 3704 0044 0532 0130 00",
    "person": "900101-1234568",
    "ip_address": "203.0.113.7",
    "home": "/home/gildong/notes.txt",
}


def is_left(example: Example) -> bool:
    """Return whether the personal data of an example is left of it, in whatever encoding it stands."""
    clean = redact(example.text, people=True)[0]
    if example.place == "base64":
        clean = base64.b64decode(clean).decode()
    if example.place.startswith("json"):
        clean = json.dumps(json.loads(clean), ensure_ascii=False).replace("\\\\", "\\")
    return example.personal in unicodedata.normalize("NFKC", unquote(clean))


@pytest.mark.parametrize("category", sorted({example.category for example in EXAMPLES}))
def test_personal_data_of_eight_countries_is_found(category: str) -> None:
    """At least 95 % of each kind, in sentences of five languages, JSON, CSV, tables, URLs, logs and base64."""
    examples = [example for example in EXAMPLES if example.category == category]
    left = [example.text for example in examples if is_left(example)]
    assert len(left) <= (1 - SHARE) * len(examples), left


@pytest.mark.long
def test_no_look_alike_is_taken() -> None:
    """Order numbers, versions, dates, ids, hashes, timestamps and barcodes stay as they are."""
    texts = [example.text for example in negatives(random.Random(2027), each=30)]
    assert not [text for text in texts if redact(text, people=True)[0] != text]


def test_personal_data_stays_unless_the_user_says_so() -> None:
    """Without the option, only secrets and e-mail addresses go."""
    texts = [example.text for example in EXAMPLES if example.category.startswith(("phone", "person", "card", "home"))]
    assert not [text for text in texts if redact(text) != (text, ())]


@pytest.mark.long
def test_redacting_again_changes_nothing() -> None:
    """The words in place of personal data are not personal data."""
    for example in EXAMPLES:
        clean = redact(example.text, people=True)[0]
        assert redact(clean, people=True)[0] == clean


@pytest.mark.parametrize(("kind", "text"), KINDS.items())
def test_each_kind_is_named(kind: str, text: str) -> None:
    """The words in place of the data say which kind it was."""
    clean, redactions = redact(f"see {text} please", people=True)
    assert [redaction.kind for redaction in redactions] == [kind], clean
    assert f"[REDACTED:{kind}]" in clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (r"C:\Users\Jane Kim\x", r"C:\Users\[REDACTED:home]\x"),
        ("/home/gildong/a", "/home/[REDACTED:home]/a"),
        ("/home/ubuntu/a", "/home/ubuntu/a"),
    ],
)
def test_of_a_home_folder_only_the_name_of_the_user_goes(text: str, clean: str) -> None:
    """The rest of the path stays, because it is part of the reasoning. Services are not persons."""
    assert redact(text, people=True)[0] == clean


def test_personal_data_goes_from_json_too() -> None:
    """With its pointer, and inside JSON in JSON."""
    clean, redactions = redact_json({"a": ['{"ip": "203.0.113.7"}']}, people=True)
    assert clean == {"a": ['{"ip": "[REDACTED:ip_address]"}']}
    assert [(redaction.kind, redaction.pointer) for redaction in redactions] == [("ip_address", "/a/0")]


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ({"phone": "2125552368"}, {"phone": "[REDACTED:phone]"}),
        ({"phone": 2125552368}, {"phone": "[REDACTED:phone]"}),
        ({"phones": ["2125552368"]}, {"phones": ["[REDACTED:phone]"]}),
        ({"ssn": "078051120"}, {"ssn": "[REDACTED:person]"}),
        ({"order": "2125552368"}, {"order": "2125552368"}),
        ({"order_id": "4111111111111111"}, {"order_id": "4111111111111111"}),
        ({"version": "10.2.3.4"}, {"version": "10.2.3.4"}),
        ({"host": "10.2.3.4"}, {"host": "[REDACTED:ip_address]"}),
        ({"count": 2125552368, "ok": True}, {"count": 2125552368, "ok": True}),
    ],
    ids=str,
)
def test_the_key_of_a_number_tells_whether_it_is_personal(value: Any, clean: Any) -> None:
    """As the word before a number does in a text."""
    assert redact_json(value, people=True)[0] == clean

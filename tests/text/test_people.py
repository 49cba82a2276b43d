"""Which personal data is redacted on request, and which look-alikes stay?"""

from __future__ import annotations

import pytest

from fairtrial.text.redact import redact
from fairtrial.text.redact_json import redact_json

PERSONAL = {
    "phone": [
        *("+1 212-555-2368", "(212) 555-2368", "212-555-2368", "+44 20 7946 0958", "020 7946 0958", "07911 123456"),
        *("+49 30 901820", "030 901820", "+33 1 42 68 53 00", "01 42 68 53 00", "+34 912 34 56 78", "+81 3-3224-9999"),
        *("03-3224-9999", "090-1234-5678", "+82 2-2133-7979", "010-2345-6789", "02-2133-7979", "+86 138 0013 8000"),
        *("13800138000", "010-6552-9988", "0171 1234567"),
    ],
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005", "6011111111111117"],
    "account": ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "FR1420041010050500013M02606"],
    "person": ["900101-1234568", "11010519491231002X", "マイナンバー 1234 5678 9018", "078-05-1120"],
    "ip_address": ["203.0.113.7", "2001:db8::8a2e:370:7334"],
    "home": ["/home/gildong/notes.txt", "/Users/jane/x", r"C:\Users\taro\x"],
}
LOOK_ALIKES = [
    *("order 4111 1111 1111 1112", "invoice 1234567890123456", "2026-01-02 12:30:45", "version 1.2.3.4", "v10.0.0.1"),
    *("127.0.0.1:8080", "::1", "12:30:45", "order 20260102-1234", "ISBN 978-3-16-148410-0", "1,234,567.89"),
    *("DE00 3704 0044 0532 0130 00", "110105194912310021", "1234 5678 9012", "commit 0123456789abcdef", "3.11.7"),
    *("/home page", "std::vector", "ratio 3:4:5", "000-12-3456", "score 0.123 456", "INV-2026-000123", "10x20x30"),
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in PERSONAL.items() for text in texts])
def test_personal_data_goes_if_the_user_says_so(kind: str, text: str) -> None:
    """By the formats of eight countries and their check digits. Without the option it stays."""
    clean, redactions = redact(f"see {text} please", people=True)
    assert [redaction.kind for redaction in redactions] == [kind], clean
    assert redact(f"see {text} please") == (f"see {text} please", ())
    assert redact(clean, people=True)[0] == clean


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_personal_data_stays(text: str) -> None:
    """Order numbers, versions, dates and numbers whose check digit does not fit."""
    assert redact(f"see {text} please", people=True) == (f"see {text} please", ())


def test_personal_data_goes_from_json_too() -> None:
    """With its pointer, and inside JSON in JSON."""
    clean, redactions = redact_json({"a": ['{"ip": "203.0.113.7"}']}, people=True)
    assert clean == {"a": ['{"ip": "[REDACTED:ip_address]"}']}
    assert [(redaction.kind, redaction.pointer) for redaction in redactions] == [("ip_address", "/a/0")]

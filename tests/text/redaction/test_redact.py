"""Redacted secrets, look-alikes that stay, and counts of each kind."""

from __future__ import annotations

import base64
import json
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secret_corpus
from fairtrial.text.layers import decode_layers
from fairtrial.text.redaction.provider_keys import checksum_fits
from fairtrial.text.redaction.redact import redact
from fairtrial.text.redaction.redact_json import redact_json

POSITIVES = list(secret_corpus.positives(random.Random(2026)))
NEGATIVES = list(secret_corpus.negatives(random.Random(2027)))
CATEGORIES = sorted({one.category for one in POSITIVES})
LOOK_ALIKES = sorted({one.category for one in NEGATIVES})


@pytest.mark.parametrize("category", CATEGORIES)
def test_nothing_is_left_of_a_secret(category: str) -> None:
    """Every secret of a kind is gone from every place where it stood: sentences, JSON, URLs, code, headers."""
    left = [one for one in POSITIVES if one.category == category and one.secret in redact(one.text)[0]]
    assert not left


def _long_rest(secret: str, clean: str) -> bool:
    """Whether six characters of a secret, one after the other, are left of it."""
    return any(secret[place : place + 6] in clean for place in range(len(secret) - 5))


@pytest.mark.parametrize(
    "category", [name for name in CATEGORIES if name.startswith(("pair", "shape", "argument", "sql"))]
)
def test_no_part_of_a_password_is_left(category: str) -> None:
    """A password goes whole, whatever signs it begins with: not six characters of it stay in a row."""
    examples = [one for one in POSITIVES if one.category == category]
    assert not [one for one in examples if _long_rest(one.secret, redact(one.text)[0])]


@pytest.mark.parametrize("category", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(category: str) -> None:
    """Versions, hashes, numbers, dates, talk of passwords, code without values: unchanged."""
    changed = [one.text for one in NEGATIVES if one.category == category and redact(one.text)[0] != one.text]
    assert not changed


@pytest.mark.long
def test_redacting_again_changes_nothing() -> None:
    """What stands in place of a secret is no secret."""
    for one in POSITIVES:
        clean = redact(one.text)[0]
        assert redact(clean)[0] == clean


@pytest.mark.long
def test_json_stays_json() -> None:
    """A text that is JSON can still be read after it was redacted."""
    for one in POSITIVES:
        if one.place.startswith("json"):
            json.loads(redact(one.text)[0])


def test_a_secret_key_of_aws_may_have_no_digit() -> None:
    """One of forty characters in a thousand has none, and is no word either."""
    letters = "wQmBLwiexgrpQioKJaJrNqkhHeC+XGyQ/qcrbMHh"
    assert redact(f"aws_secret_access_key = {letters}")[0] == "aws_secret_access_key = [REDACTED:pair]"


@pytest.mark.parametrize(("text", "left"), [("a@b.io", "[REDACTED:email]"), ("plain", "plain"), ("", "")])
def test_the_rest_of_a_text_stays(text: str, left: str) -> None:
    """Only the secret is replaced, by its kind."""
    assert redact(f"x {text} y")[0] == f"x {left} y"


def test_a_broken_checksum_is_told() -> None:
    """A GitHub token with a typing error is redacted too, and the report says that its checksum does not fit."""
    rng = random.Random(1)
    whole, broken = secret_corpus.github(rng), secret_corpus.github(rng, valid=False)
    assert checksum_fits(whole)
    assert [one.detail for one in redact(whole)[1]] == ["github key"]
    assert [one.detail for one in redact(broken)[1]] == ["github key, checksum does not fit"]


def test_a_connection_string_keeps_its_host() -> None:
    """Only the password goes, because where a trace connected to is part of the reasoning."""
    assert redact("postgres://app:S3cr3t!x@db.internal/orders")[0] == (
        "postgres://app:[REDACTED:connection_string]@db.internal/orders"
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("smtp://me@mail:S3cr3t!x@relay:25", "smtp://me@mail:[REDACTED:connection_string]@relay:25"),
        (r"https:\/\/app:S3cr3t!x@db\/orders", r"https:\/\/app:[REDACTED:connection_string]@db\/orders"),
        ("?to=%22redis://app:S3cr3t*@db%22", "?to=%22redis://app:[REDACTED:connection_string]@db%22"),
    ],
    ids=["an address as user", "escaped slashes", "after an escaped quote"],
)
def test_a_password_in_an_unusual_connection_string_goes(text: str, left: str) -> None:
    """The user may be an e-mail address, JSON may escape the slashes, and a URL what stands before."""
    assert redact(text)[0] == left


def test_an_address_in_a_url_may_be_encoded() -> None:
    """A URL says its at sign as %40."""
    assert redact("https://example.com/u?mail=jane%40example.com&page=2")[0] == (
        "https://example.com/u?mail=[REDACTED:email]&page=2"
    )


@pytest.mark.parametrize("suffix", ["_name", "Type", "_count", "_endpoint"])
def test_what_only_describes_a_secret_is_none(suffix: str) -> None:
    """Its name, its type, how many there are: told apart in text as in JSON."""
    text = f'a token{suffix}="orders-db-12"'
    assert redact(text) == (text, ())
    assert redact_json({f"token{suffix}": "orders-db-12"})[1] == ()


def test_a_private_key_that_was_cut_off_goes_too() -> None:
    """Without its end line, what follows the first line is taken as its body."""
    text = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq2\nabcd+/12"
    assert redact(text)[0] == "[REDACTED:private_key]"


def test_every_part_of_a_json_value_is_redacted_with_its_pointer() -> None:
    """Strings, keys, and values under a telling key, at any depth; numbers and null stay. No pointer holds a secret."""
    value = {
        "a/b": ["x", "mail jane@example.com"],
        "password": 12345678,
        "tokens": 4096,
        "jane@example.com": None,
        "nested": {"apiKey": "abcd1234efgh", "secrets": ["abcd1234efgh"]},
    }
    clean, found = redact_json(value)
    assert clean == {
        "a/b": ["x", "mail [REDACTED:email]"],
        "password": "[REDACTED:pair]",
        "tokens": 4096,
        "[REDACTED:email]": None,
        "nested": {"apiKey": "[REDACTED:pair]", "secrets": ["abcd1234efgh"]},
    }
    assert [one.pointer for one in found] == ["/a~1b/1", "/password", "/[REDACTED:email]", "/nested/apiKey"]


def test_parts_without_a_secret_are_not_copied() -> None:
    """Only the objects and lists around a secret are new."""
    value: dict[str, Any] = {"steps": [{"text": "ok"}, {"password": "abcd1234efgh"}], "name": ["a", {"b": "c"}]}
    clean: Any = redact_json(value)[0]
    assert clean["steps"][1] == {"password": "[REDACTED:pair]"}
    assert clean["steps"][0] is value["steps"][0]
    assert clean["name"] is value["name"]


def test_half_a_surrogate_pair_hides_no_secret() -> None:
    """A text that cannot be written as UTF-8 is searched like any other."""
    assert redact_json({"a": "\ud800", "password": "abcd1234efgh"})[0] == {"a": "\ud800", "password": "[REDACTED:pair]"}


HIDDEN = "{9xQ$kz7Lm"


@pytest.mark.parametrize(
    "value",
    [
        {"name": "DB_PASSWORD", "value": HIDDEN},
        {"value": {"stringValue": HIDDEN}, "key": "db.password"},
        ["tool", "--password", HIDDEN],
        ["/usr/bin/docker", "login", "-p", HIDDEN],
        {"password": {"value": HIDDEN, "version": 3}},
        {"password": {"current": {"plain": HIDDEN}}},
        {"headers": {"Cookie": "session=x9Kq2Lm8Zt4v; lang=ko"}},
        {"headers": [["Set-Cookie", "sid=x9Kq2Lm8Zt4v; Path=/"]]},
        {"name": "Cookie", "value": "PHPSESSID=x9Kq2Lm8Zt4v"},
        {"headers": [["X-Api-Key", "x9Kq2Lm8Zt4v"]]},
    ],
    ids=lambda value: json.dumps(value)[:30],
)
def test_a_value_apart_from_its_name_goes(value: Any) -> None:
    """The name may stand in another member, in an object around the value, or in the item before the value."""
    clean, found = redact_json(value)
    assert HIDDEN not in json.dumps(clean)
    assert "x9Kq2Lm8Zt4v" not in json.dumps(clean)
    assert [one.kind for one in found] == ["pair"]


def test_a_value_deep_under_names_goes_from_a_text() -> None:
    """Of many names inside each other, the outer names are enough."""
    value: Any = {"value": "x9Kq2Lm8Zt4v"}
    for _ in range(6):
        value = {"token": value}
    assert "x9Kq2Lm8Zt4v" not in redact(json.dumps(value))[0]


@pytest.mark.parametrize(
    "value",
    [
        {"password": {"type": "string", "description": "of the user, 8 to 64 characters"}},
        {"required": ["password", "username"]},
        ["docker", "run", "-p", "8080:80", "nginx"],
        {"name": "city", "value": "Seoul-2026"},
        {"Cookie": "theme=dark; lang=ko"},
        {"token": {"count": 3, "limit": 4096}},
    ],
    ids=lambda value: json.dumps(value)[:30],
)
def test_a_shape_without_a_secret_stays(value: Any) -> None:
    """Schemas, lists of field names, ports, other variables, and cookies of a theme are not secrets."""
    assert redact_json(value) == (value, ())


def test_base64_is_cleaned_inside_and_stays_base64() -> None:
    """Only the secret inside goes: the rest can still be decoded, and the report says which kind it was."""
    text = base64.b64encode(b'{"user": "app", "password": "x9Kq2Lm8Zt4v"}').decode()
    clean, found = redact(f"payload={text}")
    assert base64.b64decode(clean.removeprefix("payload=")) == b'{"user": "app", "password": "[REDACTED:pair]"}'
    assert [one.kind for one in found] == ["pair"]


def test_the_text_around_an_encoded_secret_stays_as_it_was() -> None:
    """Escapes before and after the secret are not written anew."""
    text = r'{"a": "\u00e9 {\"password\": \"x9Kq2Lm8Zt4v\", \"b\": \"\/\"}"}'
    assert redact(text)[0] == text.replace("x9Kq2Lm8Zt4v", "[REDACTED:pair]")


def test_members_whose_keys_become_equal_are_all_kept() -> None:
    """Two e-mail addresses as keys are two members afterwards."""
    clean, _ = redact_json({"a@example.com": 1, "b@example.com": 2})
    assert clean == {"[REDACTED:email]": 1, "[REDACTED:email]#2": 2}


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.long
@given(JSON)
def test_a_value_without_secrets_is_unchanged(value: Any) -> None:
    """Whatever nothing is reported of is equal to what it was."""
    clean, found = redact_json(value)
    assert found or clean == value


@pytest.mark.long
@settings(max_examples=200)
@given(st.text(max_size=40), st.sampled_from(POSITIVES), st.text(max_size=40))
def test_any_text_can_be_redacted_twice(before: str, example: secret_corpus.Example, after: str) -> None:
    """Whatever stands around a secret, redacting twice is redacting once."""
    once = redact(f"{before} {example.text} {after}")[0]
    assert redact(once)[0] == once


@given(st.text("\\\"'/nubx0025cfFpｐ%C3A9 é", max_size=12))
def test_each_part_of_a_layer_has_its_place_in_the_text(text: str) -> None:
    """A layer ends where the text ends, and the part of a text behind a place decodes to the part of the layer."""
    for layer in decode_layers(text):
        assert layer.outer(len(layer.text)) == len(text)
        places = [layer.outer(place) for place in range(len(layer.text) + 1)]
        assert places == sorted(places)
        steps = zip(layer.text, places, places[1:], strict=False)
        assert all(end - start > 1 or text[start:end] in (char, wide(char)) for char, start, end in steps)


def wide(char: str) -> str:
    """Return the full-width form of a letter."""
    return chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char


@pytest.mark.parametrize(
    "text",
    [
        "password -> {}",
        "password\t{}",
        'the password "{}" works',
        "ALTER USER app WITH PASSWORD '{}';",
        "CREATE USER app IDENTIFIED BY '{}';",
        "password = '''{}'''",
        "password = b'{}'",
        'PASSWORD = rb"{}"',
        'var password = @"{}";',
        'password = """{}"""',
        "password: |\n  {}\nhost: db",
    ],
)
@pytest.mark.parametrize("secret", ["k9xQzL7mTt4v", "$9xQkz7Lm2", "{9xQkz7Lm2p"])
def test_a_password_stands_behind_other_signs(text: str, secret: str) -> None:
    """Arrows, tabulators, quotes alone, SQL, and the blocks of TOML and YAML."""
    assert redact(text.format(secret))[0] == text.format("[REDACTED:pair]")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE USER app WITH LOGIN PASSWORD '{}'",
        "ALTER USER 'app'@'%' IDENTIFIED BY '{}';",
        "SET PASSWORD FOR 'app'@'localhost' = '{}'",
    ],
)
def test_a_statement_may_set_any_word_as_password(text: str) -> None:
    """In SQL, the words before the quotes leave no doubt."""
    assert redact(text.format("correct horse"))[0] == text.format("[REDACTED:pair]")


@pytest.mark.parametrize(
    "text",
    [
        'the field password "must be set"',
        "a token 'userIdentifier' and a password 'policy'",
        "password\temail\tname",
        "password -> hash -> store",
        "identified by 'name'",
        "password: |\n  see the vault",
        "token: >\n  none",
    ],
)
def test_words_behind_other_signs_stay(text: str) -> None:
    """A sentence may quote a word after a name, and a table may have a column of passwords."""
    assert redact(text) == (text, ())


@pytest.mark.parametrize(
    "text", ["password={}", 'password="{}"', "x --token '{}' y", "DB_PASSWORD = {}", '"apiKey": "{}"']
)
def test_nothing_is_left_of_a_very_long_secret(text: str) -> None:
    """A token may have thousands of characters, more than a pattern looks at."""
    secret = "aB3.x_9Zk-" * 500
    clean, redactions = redact(text.format(secret))
    assert clean == text.format("[REDACTED:pair]")
    assert len(redactions) == 1


@pytest.mark.long
def test_long_keys_are_not_kept() -> None:
    """What common keys tell is remembered. An object may have any keys, also long ones and very many."""
    tracemalloc.start()
    try:
        for number in range(100):
            members = {f"{number}" + "k" * 50_000: 1, "inner": {f"{number} {place}": 1 for place in range(500)}}
            assert redact_json({"password": f"Tr0ub4dor{number}x", **members})[1]
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000

"""Every kind of secret that the tables name is found, beside other text and in JSON."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest

from fairtrial.text.redaction.key_forms import read_forms
from fairtrial.text.redaction.planted_secrets import make_canaries, make_text
from fairtrial.text.redaction.redact import redact
from fairtrial.text.redaction.redact_json import redact_json

CANARIES = list(make_canaries(4, random.Random(41), people=True))
SECRETS = [canary for canary in CANARIES if canary.group not in {"look-alike", "person"}]
LEAST = 0.97


def test_the_table_says_where_each_form_is_known_from() -> None:
    """A form has a literal or a keyword, a source and a date, and no two rows are equal."""
    forms = read_forms()
    assert len(forms) > 500
    for form in forms:
        assert bool(form.literal) != bool(form.keyword), form
        assert form.source in {"gitleaks", "provider", "kingfisher", "names"}
        assert re.fullmatch(r"2026-\d\d-\d\d", form.date)
    assert len({(form.literal, form.keyword, form.form) for form in forms}) == len(forms)


def test_a_made_key_has_its_form() -> None:
    """A random text of a form matches the form."""
    chance = random.Random(1)
    for form in read_forms():
        assert re.fullmatch(form.form, make_text(form.form, chance))


@pytest.mark.long
@pytest.mark.parametrize("group", sorted({canary.group for canary in SECRETS}))
def test_the_kinds_of_a_group_are_found(group: str) -> None:
    """At least 97 % of the secrets of each group, in text and in a member of an object."""
    found: Counter[str] = Counter()
    total = 0
    for canary in SECRETS:
        if canary.group == group:
            total += 1
            text = redact(f"Before it\n{canary.text}\nafter it.")[0]
            inner = json.dumps(redact_json({"steps": [{"content": canary.text}]})[0], ensure_ascii=False)
            found["text"] += canary.secret not in text
            found["json"] += json.dumps(canary.secret, ensure_ascii=False)[1:-1] not in inner
    assert min(found["text"], found["json"]) >= LEAST * total, found


def test_look_alikes_stay() -> None:
    """Ids, hashes, code, versions and sentences about passwords."""
    changed = [
        canary.text for canary in CANARIES if canary.group == "look-alike" and redact(canary.text)[0] != canary.text
    ]
    assert not changed


def test_details_of_persons_go_with_people_only() -> None:
    """Names, dates of birth, passports and addresses in four languages."""
    for canary in CANARIES:
        if canary.group == "person":
            assert redact(canary.text, people=True)[0] != canary.text, canary.text
    for text in ("my name is Alice Johnson", "제 이름은 김민수입니다", "氏名：山田太郎", "我叫王小明"):
        assert redact(text)[0] == text


@pytest.mark.parametrize(
    "text",
    [
        *("The name is too long", "저는 학생입니다", "我叫了出租车", "12 Monkeys is a film"),
        *("born in 1987", "passport control", "서울 날씨 알려줘", "東京都の人口", "北京市的天气"),
    ],
)
def test_words_that_only_look_like_a_person_stay(text: str) -> None:
    """A word such as `name` is not followed by a name, and a city alone is no address."""
    assert redact(text, people=True)[0] == text


@pytest.mark.parametrize(
    "text",
    [
        *("password reset for order W2890441", "Enter the password for user john123", "the token count is 12345"),
        *("password hashed with sha256", "the key is order_id_123456789012", "password must be 8-20 characters"),
        *("use token_type bearer", "console.input(prompt, password=password, stream=stream)"),
        *("op/openai.chat.completions.create:1HGZktsXsnjqvWAqi5EsThPnCHipkn0H8YRGnltYtbc",),
        *("the access key for this is 2024-01-01T00:00:00Z", "the shopping pin 12", "비밀번호는 8자 이상"),
    ],
)
def test_sentences_about_secrets_stay(text: str) -> None:
    """A word such as password or token does not make every value after it a secret."""
    assert redact(text, emails=False)[0] == text


def test_characters_without_width_hide_nothing() -> None:
    """In the name or in the key. Emoji, which hold such characters, stay as they are."""
    key = "ghp_" + "a1B2" * 9
    assert "a1B2" not in redact(f"see {key[:9]}\u200b{key[9:]} there 👩\u200d👧")[0]
    assert redact("pass\u200bword=hunter2prod 👩\u200d👧") == redact("pass\u200bword=hunter2prod 👩\u200d👧")
    assert redact("👩\u200d👧 sings")[0] == "👩\u200d👧 sings"
    assert "hunter2" not in redact("pass\u200bword=hunter2prod")[0]


@pytest.mark.parametrize(
    "part",
    [
        *("password is ", "api_key=", "secret-", "密码", "비밀번호 ", "insert into a (password) values ('", "a@b.a@b."),
        *(
            "setenv password ",
            "<input password ",
            "auth('",
            "*:*:*:",
            "private key 0",
            "1 Aa ",
            "東京都市",
            "name: Ab ",
        ),
    ],
)
@pytest.mark.long
def test_hostile_text_comes_back(part: str) -> None:
    """A search that is not linear would not end on such a text. Redacting the result again changes nothing."""
    clean = redact(part * (60_000 // len(part)), people=True)[0]
    assert redact(clean, people=True)[0] == clean


@pytest.mark.parametrize("name", ["DATADOG", "datadog", "-Ddatadog.login", "MY_DATADOG_KEY"])
def test_a_key_goes_beside_its_providers_name(name: str) -> None:
    """In an environment, in settings and as an option of Java, at the start of a line, too."""
    key = "4f3c9a8b7d6e5f4a" * 2
    assert redact(f"one line\n{name}={key}")[0].startswith(f"one line\n{name}=[REDACTED:")


@pytest.mark.parametrize(
    "text",
    [
        "Use the clockify token {key} for it.",
        "our browshot private token {key}",
        'airvisualKey := "{key}"',
        "the buddyns key {letters}",
        "insightly_key = 0f8b2c9d-4e5f-4a6b-9c8d-7e6f5a4b3c2d",
        'if password == "{key}":',
        '<add name="x"/><secret>{{jenkins {key}}}</secret>',
        "buildConfigField 'String', 'API_KEY', '\"{key}\"'",
    ],
)
def test_a_key_goes_where_people_write_it(text: str) -> None:
    """After the words of its name, in a comparison, in an element with braces, and in a build file."""
    key, letters = "4f3c9a8b7d6e5f4a2b1c", "qzvxkwtrplmnbdfghjcs"
    written = text.format(key=key, letters=letters)
    assert key not in redact(written)[0]
    assert letters not in redact(written)[0]
    assert redact(written)[1]


@pytest.mark.parametrize(
    "text",
    [
        "metabase_version = 3f786850e387550fdab836ed7e6dc881de23001b",
        "grafana_service: grafana-7f9c8d-xyz12abc",
        "the next grafana release 3f786850e387550fdab836ed7e6dc881de23001b",
        "hunter = 3f786850e387550fdab836ed7e6dc881de23001b",
        'if token == "while":',
        "the sorting key customerIdentifierOfOrders",
        "primary key 123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_what_only_resembles_a_key_stays(text: str) -> None:
    """Versions, services, commits, words that are the names of providers, and identifiers of code."""
    assert redact(text) == (text, ())

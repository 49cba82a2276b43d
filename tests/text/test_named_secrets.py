"""A secret beside its own name goes, whatever it looks like, and a reference beside such a name stays."""

from __future__ import annotations

import json
import random

import pytest

import named_corpus
from fairtrial import redact

LEAST_RECALL = 0.998
"""A few random paths read like real ones, and a value that begins with `=` looks like a comparison."""


@pytest.mark.long
@pytest.mark.parametrize("half", named_corpus.HALVES)
def test_a_named_secret_goes_whatever_it_looks_like(half: str) -> None:
    """Dotted words, dotted random parts, paths and keys of clouds, in shells, settings, code, logs and tables."""
    secrets = list(named_corpus.positives(random.Random(2026), half, 12))
    left = [one.text for one in secrets if one.secret in redact(one.text)[0]]
    assert len(left) <= (1 - LEAST_RECALL) * len(secrets), left


@pytest.mark.parametrize("half", named_corpus.HALVES)
def test_a_reference_stays(half: str) -> None:
    """Variables, code, files, vaults and names of resources are no secrets."""
    changed = [one.text for one in named_corpus.negatives(half) if redact(one.text)[0] != one.text]
    assert not changed


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD={}",
        "password={}",
        "api_key: {}",
        "AWS_SECRET_ACCESS_KEY={}",
        "AccountKey={}",
        '{{"password": "{}"}}',
    ],
)
@pytest.mark.parametrize(
    "secret",
    [
        "Summer2026.winter",
        "hunter2.prod",
        "c4f8a91b22d34e5f9.xK29dkQ2mZ",
        "/EBfagbji3gLWoloOlgs7oP22RhjoATM2/VViTGZ",
        "config.prod9X",
        "settings.9xKq2",
    ],
)
def test_nothing_is_left_of_a_dotted_secret(text: str, secret: str) -> None:
    """The value goes alone: what stands around it stays."""
    assert redact(text.format(secret))[0] == text.format("[REDACTED:pair]")


def test_a_member_that_refers_to_settings_stays() -> None:
    """In JSON, a chain of names from the settings refers to a secret if no name has a digit."""
    value = {"password": "settings.DB_PASSWORD", "api_key": "config.openai.key", "token": "process.env.TOKEN2"}
    assert redact(value) == (value, ())
    assert redact({"password": "settings.DB9xPASS"})[0] == {"password": "[REDACTED:pair]"}


def test_letters_after_bearer_are_a_token_if_no_word_is_so_long() -> None:
    """A word of a sentence after `Bearer` stays."""
    letters = "qmzkwjtrnvbhdlxpqmzkwjtr"
    assert redact(f"Authorization: Bearer {letters}")[0] == "Authorization: Bearer [REDACTED:pair]"
    for text in ("Authorization: Bearer authentication", f"Authorization: Bearer {'x' * 24}"):
        assert redact(text) == (text, ())


def test_a_value_after_a_quoted_prompt_stays_code() -> None:
    """The quote after a prompt opens no value, and the quote after a name does."""
    prompt = 'password = input("Password: ") or read("db")'
    assert redact(prompt)[0] == prompt
    assert redact(json.dumps({"note": 'the password: ")9xK2kdd"'}))[1]

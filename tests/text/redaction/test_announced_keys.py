"""A drawn value goes behind a word that announces a key, and the name of a commit, a hash or a resource stays."""

from __future__ import annotations

import random
import string

import pytest

from fairtrial import redact

HEX = "0123456789abcdef"
ALPHANUMERIC = string.ascii_letters + string.digits


def draw(signs: str, size: int, seed: int) -> str:
    """Return a drawn text that has a digit, and a letter of each case that the signs have."""
    chance = random.Random(seed)
    body = "".join(chance.choices(signs, k=size - 4))
    return f"{body[:5]}7{body[5:9]}d{body[9:]}" + ("4Q" if "Q" in signs else "2b")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("text", "signs", "size"),
    [
        ("examplecorp SECRET {}", ALPHANUMERIC, 24),
        ("the access-{} of our shop", HEX, 32),
        ("shopsystem_TOKEN.{}", ALPHANUMERIC, 28),
        ("Cloudflare token: {}", ALPHANUMERIC, 32),
        ("export X; fileio_ACCESS-{}", string.ascii_lowercase + string.digits, 32),
        ("wandb {}", HEX, 40),
        ("asana Key=5947/17249081071616220416212965:{}", HEX, 32),
        ('"provisionDeviceKey": "{}"', string.ascii_lowercase + string.digits, 20),
        ("https://discord.com/api/webhooks/123456789012345678/{}", ALPHANUMERIC, 68),
    ],
)
def test_a_drawn_value_behind_an_announcing_word_goes(text: str, signs: str, size: int, seed: int) -> None:
    """The word may end a name in the same word, stand before a space, or be the name of a provider."""
    key = draw(signs, size, seed)
    assert len(key) == size
    assert key not in redact(text.format(key))[0]


@pytest.mark.parametrize(
    "text",
    [
        "access MyTestDatabaseMaster1-a1b2c3",
        "gitlab 945dfb58a832d233a3caeb84e3e6d3be212e8c7a",
        "github 945dfb58a832d233a3caeb84e3e6d3be212e8c7a is the last commit",
        "datadog 945dfb58a832d233a3caeb84e3e6d3be",
        "the key checkout_session_rename_of_step",
        "private test_reading_of_12_files_and_3_folders",
        "access MyAccessTokenProvider2Factory3",
        "see access denied-for-user-number-12345678901234",
        "POST https://shop.example/api/v1/organizationsettings/claim",
        "GET https://shop.example/api/v1/CustomersAndProducts/attributes",
        "GET https://shop.example/api/v1/InternationalOrders2/rpc",
    ],
)
def test_a_name_of_a_thing_stays(text: str) -> None:
    """A commit, a trace, a resource, a file, a class or a path of an API is no key."""
    assert redact(text)[0] == text

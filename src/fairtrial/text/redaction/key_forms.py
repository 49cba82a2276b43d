"""The table of key forms: provider keys that their form shows, and keys that a provider's name beside them shows."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from importlib import resources

from fairtrial.records.record import Record

_ANY_KEY = "[A-Za-z0-9]{20,200}={0,2}|[A-Za-z0-9_-]{40,200}"
"""The form of a row without a form: of the provider's keys, nothing but their length is supposed."""


class KeyForm(Record, frozen=True):
    """A form of key, as a row of `key_forms.tsv`.

    Every key of the form contains `literal`. A form without a literal has a `keyword`, the provider's name, which
    stands in the name before the key. A key has at least `entropy` bits a character. `check` is `crc32` if the key ends
    in the CRC-32 of its body. The form is known from `source` since `date`: from the rules of gitleaks or kingfisher,
    or from keys that the provider itself shows. With the source `names`, only the provider's name is known.
    """

    owner: str
    literal: str
    keyword: str
    form: str
    entropy: float
    check: str
    source: str
    date: str

    @property
    def starts_with_literal(self) -> bool:
        """Whether every key begins with the literal."""
        return self.form.replace("\\", "").startswith(self.literal)


@cache
def read_forms() -> tuple[KeyForm, ...]:
    """Return all rows of the table."""
    table = resources.files("fairtrial").joinpath("text", "redaction", "key_forms.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines()[1:])
    return tuple(
        KeyForm(owner, literal, keyword, form or _ANY_KEY, float(entropy or 0), check, source, date)
        for owner, literal, keyword, form, entropy, check, source, date in rows
    )


def measure_entropy(text: str) -> float:
    """Return the Shannon entropy of a text's characters in bits. Random base64 of 32 characters has about 4.5."""
    size = len(text)
    return -sum(number / size * math.log2(number / size) for number in Counter(text).values())

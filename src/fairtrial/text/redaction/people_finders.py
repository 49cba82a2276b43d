"""The finders of personal data. They are imported only if somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairtrial.text.redaction import Span, people
from fairtrial.text.redaction.person_details import find_details
from fairtrial.text.redaction.person_numbers import find_persons
from fairtrial.text.redaction.secret_search import (
    NUMBER,
    Finder,
    Kind,
    find_literals,
    may_hold_number,
    signs_of_addresses,
)
from fairtrial.text.redaction.telephones import find_phones


def _numbers(kind: Kind, find: Callable[[str], Iterator[Span]]) -> Finder:
    """Return a number kind's finder, which searches only texts with digits."""
    return Finder(
        kind,
        lambda text, _: (NUMBER,) if may_hold_number(text) else (),
        lambda text, _: find(text) if may_hold_number(text) else iter(()),
    )


FINDERS = (
    Finder(
        "person",
        lambda text, _: [text[start:end].lower() for start, end, _ in find_details(text)],
        lambda text, _: find_details(text),
    ),
    _numbers("account", people.find_accounts),
    _numbers("person", find_persons),
    _numbers("card", people.find_cards),
    _numbers("ip_address", people.find_addresses),
    _numbers("phone", find_phones),
    Finder(
        "home",
        find_literals("/home/", "Users", "Documents and Settings"),
        lambda text, _: people.find_homes(text),
    ),
)
"""The finders that come after those of secrets."""

FINDERS_OF_EMAILS = (Finder("email", signs_of_addresses, lambda text, _: people.find_east_asian_emails(text)),)
"""They come before all others, because an East Asian address may end in an address of other letters."""

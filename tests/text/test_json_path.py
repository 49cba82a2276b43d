"""JSONPaths name the values that RFC 9535 says."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.text.json_path import JsonPath

STORE: dict[str, Any] = {
    "book": [
        {"category": "reference", "author": "Rees", "price": 8.95},
        {"category": "fiction", "author": "Waugh", "price": 12.99, "isbn": None},
        {"category": "fiction", "author": "Melville", "price": 8.99, "isbn": "0-553"},
    ],
    "bicycle": {"color": "red", "price": 399, "a b": {"*": 1}},
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [STORE]),
        ("$.book[*].author", ["Rees", "Waugh", "Melville"]),
        ("$..author", ["Rees", "Waugh", "Melville"]),
        ("$.bicycle.*", ["red", 399, {"*": 1}]),
        ("$['bicycle'][\"a b\"]['*']", [1]),
        ("$..price", [8.95, 12.99, 8.99, 399]),
        ("$..[0].author", ["Rees"]),
        ("$.book[-1].author", ["Melville"]),
        ("$.book[1].isbn", [None]),
        ("$.book[7]", []),
        ("$.book.author", []),
        ("$.book[?@.isbn].author", ["Waugh", "Melville"]),
        ("$.book[?(@.category=='fiction')].price", [12.99, 8.99]),
        ("$.book[?@.category != 'fiction'].author", ["Rees"]),
        ("$.book[?@.price == 8.95].author", ["Rees"]),
        ("$.book[?@.isbn == null].author", ["Waugh"]),
        ("$[?@.color].price", [399]),
    ],
)
def test_a_path_names_values(path: str, values: list[Any]) -> None:
    """In the order of the document."""
    assert JsonPath(path).find(STORE) == values


@pytest.mark.parametrize("path", ["", "book", "$book", "$.", "$.a[", "$.a[?(@.a==1]", "$.a[1:2]", "$..", "$.a b"])
def test_a_text_that_is_no_path_is_refused(path: str) -> None:
    """The message says from where on it is not understood."""
    with pytest.raises(ValueError, match=r"must begin with \$|is not understood"):
        JsonPath(path)


def test_a_deep_document_is_no_danger() -> None:
    """The search has no recursion."""
    document: Any = {"leaf": 1}
    for _ in range(50_000):
        document = [document]
    assert JsonPath("$..leaf").find(document) == [1]
    while isinstance(document, list):
        document = document[0]

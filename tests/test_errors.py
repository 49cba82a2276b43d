"""Messages name the file, and suggest the name that was meant."""

from __future__ import annotations

from fairtrial.errors import FormatError, nearest


def test_every_problem_names_its_file() -> None:
    """One line each."""
    error = FormatError("a.json", ["/x: no", "/y: neither"])
    assert str(error) == "a.json: /x: no\na.json: /y: neither"
    assert error.problems == ("/x: no", "/y: neither")


def test_the_nearest_name_is_offered() -> None:
    """If there is one near enough."""
    assert nearest("saftey", ["safety", "other"]) == "; did you mean 'safety'?"
    assert nearest("zzz", ["safety", "other"]) == ""

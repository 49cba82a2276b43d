"""The project is written in plain English, and its names are words of the domain.

`python tests/support/words.py` prints the counts; `words.py` says how they are made, and holds the limits.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import words

PACKAGES = words.packages()


def assert_plain(title: str, files: list[Path]) -> None:
    """Hold a text against every limit."""
    prose = words.read_prose(files)
    assert not prose.broken_rules(), f"{title}; `python tests/support/words.py` with the folder shows the places"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_are_plain(package: str) -> None:
    """Docstrings use the words and the sentences that readers know from other projects."""
    assert_plain(package, PACKAGES[package])


def test_documentation_is_plain() -> None:
    """Pages and README use the words and the sentences that readers know from other projects."""
    assert_plain("documentation", words.pages())


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_nouns_of_the_domain(package: str) -> None:
    """Names say something without their context: hardly any is a pronoun or a bare participle."""
    names = words.names(PACKAGES[package])
    assert names.share <= words.MOST_EMPTY_NAMES or names.empty.total() <= 1, names.empty


@pytest.mark.long
@pytest.mark.parametrize("folder", ["src", "tests"])
def test_functions_are_verbs_or_fields(folder: str) -> None:
    """No function is named `estimate_cost` or `of_file`: `estimate_cost` and `measure_file` say what happens."""
    assert words.headless(words.functions(words.files_below(words.ROOT / folder))) == set()


def test_few_functions_are_bare_participles() -> None:
    """A participle alone says neither what is done nor to what: `measured` becomes `measure_run`."""
    named = words.participles(words.functions(words.files_below(words.ROOT / "src")))
    assert len(named) <= words.MOST_PARTICIPLES, sorted(named)


@pytest.mark.parametrize(
    ("name", "found"),
    [("_cost_of", True), ("of_file", True), ("reason_told", True), ("one_of_many", False), ("offer", False)],
)
def test_headless_names_are_found(name: str, found: bool) -> None:
    """The rule looks at whole words of a name."""
    assert (words.headless({name}) == {name}) is found


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_module_docstrings_begin_with_a_statement(folder: str) -> None:
    """A module is found by the statement that its docstring begins with. A search does not find a question."""
    assert words.asking_modules(words.files_below(words.ROOT / folder)) == []


@pytest.mark.parametrize(
    ("docstring", "asks"),
    [
        ("Which reports can be written to files?", True),
        ("How many words two texts share.", True),
        ("Case results -> Summary: how good, and how sure?", True),
        ("`fairtrial gate`: may this build go out? Reads a run.", True),
        ("The table of reports that can be written to files.", False),
        ("Match names with patterns of `*` and `?`.", False),
        ("Recognise outages. Which server failed? The exception names it.", False),
        ("", False),
    ],
)
def test_a_docstring_that_asks_is_found(docstring: str, asks: bool) -> None:
    """A docstring asks if its first sentence holds a question mark or begins with a question word."""
    assert words.asks(docstring) is asks


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('raise ValueError("the end of the file")', "the end of the file"),
        ('raise ValueError(f"{path} is a part of a folder")', "code is a part of a folder"),
        ("raise ValueError(text)", ""),
    ],
)
def test_messages_of_exceptions_are_read(code: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of raised exceptions are counted, and a value in a text is one word."""
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text(code)
    assert words.messages(tmp_path / "module.py") == {"module.py:1": text}


def test_words_of_possession_are_measured() -> None:
    """The measure "of the, a, its" counts each of them, and no other "of"."""
    prose = words.count({"page": "The end of the file, of a line and of its text, one of many."})
    assert prose.count("of the, a, its") == 3


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("where", "Where a case has no reference, the score is empty."),
        ("headless what", "What is added is committed at once."),
        ("headless what", "It keeps what is finished."),
        ("semicolon", "It stops; the rest is lost."),
        ("told, said, heard", "The judge was told the answer."),
        ("is no X", "That is no number."),
        ("if, when", "It stops if a case fails."),
        ("for example", "Names may be short, e.g. `case`."),
        ("long sentence", "It stops " + "and goes on " * 9 + "again."),
    ],
)
def test_a_place_is_counted(rule: str, sentence: str) -> None:
    """Each rule counts the place that breaks it."""
    assert words.count({"page": sentence}).count(rule) == 1


@pytest.mark.parametrize(
    "text",
    [
        "What went wrong?",
        "It shows what was expected.",
        "```text\nWhat is added; where it is told.\n```",
        "See [the page](where;what.md) and `what; where`.",
        "It is no longer there.",
    ],
)
def test_plain_text_is_not_counted(text: str) -> None:
    """Questions, indirect questions, code and addresses break no rule."""
    assert not words.count({"page": text}).places


@pytest.mark.parametrize(
    ("code", "empty"),
    [
        ("one = 1", ["one"]),
        ("def told_apart(kept): ...", ["kept", "told_apart"]),
        ("kept_recordings = [case for case in cases]", []),
    ],
)
def test_empty_names_are_counted(code: str, empty: list[str], tmp_path: Path) -> None:
    """Names of pronouns, participles and particles only are counted, for functions, parameters and variables."""
    (tmp_path / "module.py").write_text(code)
    assert sorted(words.names([tmp_path / "module.py"]).empty) == empty

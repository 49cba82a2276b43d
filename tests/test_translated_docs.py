"""Translated pages follow their source: no section is older, and the code is the same."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOL = runpy.run_path(str(ROOT / "docs" / "translations.py"))
PAGES = list(TOOL["find_translations"]())
SOURCE = "# Title\n\nIntroduction.\n\n## First\n\nOne.\n\n```sh\n# a comment\nls\n```\n\n## Second\n\nTwo.\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_translation_is_as_new_as_its_source(page: Path) -> None:
    """Translate the sections that are named, then mark the page: `python docs/translations.py FILE`."""
    source = TOOL["find_source"](page).read_text(encoding="utf-8")
    assert TOOL["find_older"](page.read_text(encoding="utf-8"), source) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_translation_has_the_sections_and_the_code_of_its_source(page: Path) -> None:
    """Readers of every language can run the same. Outputs may be left out."""
    text, source = page.read_text(encoding="utf-8"), TOOL["find_source"](page).read_text(encoding="utf-8")
    assert len(TOOL["read_sections"](text)) == len(TOOL["read_sections"](source))
    code = TOOL["read_blocks"](source)
    own = TOOL["read_blocks"](text)
    assert own == [block for block in code if block in own]
    left_out = [block for block in code if block not in own]
    assert [block for block in left_out if not block.startswith(("```text", "```sh\nfairtrial mutate"))] == []


def test_readers_find_the_readme_in_their_language() -> None:
    """Each of the five links to the four others."""
    names = ["README.md", *(f"README.{language}.md" for language in TOOL["LANGUAGES"])]
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert [other for other in names if (f"]({other})" in text) != (other != name)] == []


def test_a_changed_section_makes_a_translation_older() -> None:
    """Only this section is named. A comment in code begins no section."""
    page = TOOL["mark"]("# 제목\n", "page.md", SOURCE)
    assert TOOL["find_older"](page, SOURCE) == []
    assert TOOL["find_older"](page, SOURCE.replace("Two.", "2.")) == ["Second"]
    assert TOOL["find_older"](page, SOURCE.replace("ls", "pwd")) == ["First"]
    assert TOOL["find_older"](page, SOURCE + "\n## Third\n\nThree.\n") == ["Third"]
    assert TOOL["find_older"]("# 제목\n", SOURCE) == ["Title", "First", "Second"]

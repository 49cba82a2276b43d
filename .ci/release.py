"""Notes of a release, from its tag. `python .ci/release.py notes v0.2.0` ends with 1 if the tag is not the version."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def notes(tag: str, changelog: str, version: str) -> str:
    """Return the section of the changelog for a tag. Raises ValueError if the tag or the section does not fit."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and src/fairtrial/version.py says {version}")
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    for section in sections:
        title, _, text = section.partition("\n")
        if title.split()[:1] == [version] and text.strip():
            if "unreleased" in title:
                raise ValueError(f"CHANGELOG.md calls {version} unreleased; write the date there")
            return text.strip()
    raise ValueError(f"CHANGELOG.md has no section '## {version}' with a text")


if __name__ == "__main__":
    _, _, own_tag = sys.argv
    try:
        own_version = runpy.run_path(str(ROOT / "src" / "fairtrial" / "version.py"))["__version__"]
        print(notes(own_tag, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), own_version))
    except ValueError as problem:
        sys.exit(str(problem))

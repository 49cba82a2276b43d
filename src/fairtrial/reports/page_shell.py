"""The assets of the pages, their content security policies, and the shell of pages without a script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Literal

Theme = Literal["system", "light", "dark"]


@cache
def asset(name: str) -> str:
    """Return the text of an asset: the program, the style sheet, or the texts of a language."""
    return resources.files("fairtrial.reports").joinpath("assets", name).read_text("utf-8")


def page_policy(*more: str, other_styles: Sequence[str] = ()) -> str:
    """Return the content security policy: only our script and our style, no request, no HTML from text.

    `other_styles` are the style sheets of other pages of the same server.
    """
    styles = " ".join(f"'{source_hash(style)}'" for style in (asset("report.css"), *other_styles))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{source_hash(asset('report.js'))}'",
            f"style-src {styles}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
            *more,
        ]
    )


def source_hash(text: str) -> str:
    """Return the source of a content security policy that allows exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def scriptless_style() -> str:
    """Return the style sheet of pages without a script."""
    return asset("report.css") + asset("mutation.css")


def scriptless_page(title: str, body: str, language: str = "en", theme: Theme = "system") -> str:
    """Return a page without a script, in the style of the reports on mutants. Title and body are escaped HTML."""
    style = scriptless_style()
    policy = f"default-src 'none'; style-src '{source_hash(style)}'; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="{language}" data-theme="{theme}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main class="mutation">
{body}</main>
</body>
</html>
"""

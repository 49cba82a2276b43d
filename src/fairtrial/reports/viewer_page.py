"""The page of the viewer: the program of the HTML report, which asks a server for what it shows."""

from __future__ import annotations

from fairtrial.reports.page_shell import asset, page_policy, scriptless_style

POLICY_OF_VIEWER = ("connect-src 'self'", "frame-ancestors 'none'")
"""What the policy of a server says beyond that of a file: requests to itself, and no frame around it."""


def viewer_page(token: str, language: str = "") -> bytes:
    """Return the page. `token` stands in the header of each request that writes."""
    return f"""<!DOCTYPE html>
<html lang="{language or "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="fairtrial-token" content="{token}">
<meta name="fairtrial-language" content="{language}">
<title>fairtrial</title>
<style>{asset("report.css")}</style>
</head>
<body>
<div id="app"></div>
<script>{asset("report.js")}</script>
</body>
</html>
""".encode()


def viewer_policy() -> str:
    """Return the content security policy of the viewer, which its server sends as a header."""
    return page_policy(*POLICY_OF_VIEWER, other_styles=[scriptless_style()])

"""Reads an HTML report as a program of another language would: by its elements, without our writer."""

from __future__ import annotations

import base64
import gzip
import io
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from fairtrial.reports.html import write_pages
from fairtrial.reports.report_table import ReportedRun

END_OF_TEXT, END_OF_ATTEMPT = b"\xff", b"\xfe"


@dataclass
class HtmlPage:
    """The elements of a page: the data by their ids, scripts, styles, meta elements, and the plain text."""

    data: dict[str, bytes] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    metas: list[dict[str, str | None]] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    text: str = ""

    @property
    def policy(self) -> str:
        """The content security policy."""
        return next(meta["content"] or "" for meta in self.metas if "http-equiv" in meta)

    @property
    def view(self) -> Any:
        """The view of all runs."""
        return json.loads(self.data["page"])

    def attempts(self, run: int = 0) -> list[Any]:
        """Every attempt of a run, with its texts put back."""
        found: list[Any] = []
        for chunk in range(len(self.data)):
            if f"details-{run}-{chunk}" not in self.data:
                break
            details = json.loads(self.data[f"details-{run}-{chunk}"])
            texts = self.data[f"texts-{run}-{chunk}"].split(END_OF_ATTEMPT)[:-1]
            found += [
                _restore_attachments(attempt, [text.decode() for text in own.split(END_OF_TEXT)])
                for attempt, own in zip(details, texts, strict=True)
            ]
        return found


def _restore_attachments(value: Any, texts: list[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: texts[item]
            if key in {"text", "reason", "cause"} and isinstance(item, int)
            else json.loads(texts[item])
            if key in {"args", "response"} and isinstance(item, int)
            else _restore_attachments(item, texts)
            for key, item in value.items()
        }
    return [_restore_attachments(item, texts) for item in value] if isinstance(value, list) else value


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = HtmlPage()
        self._inside: tuple[str, dict[str, str | None]] = ("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.page.tags.add(tag)
        if tag == "meta":
            self.page.metas.append(own)
        elif tag in {"script", "style"}:
            self._inside = (tag, own)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._inside = ("", {})

    def handle_data(self, data: str) -> None:
        tag, own = self._inside
        if tag == "script" and "type" in own:
            self.page.data[own["id"] or ""] = gzip.decompress(base64.b64decode(data))
        elif tag == "script":
            self.page.scripts.append(data)
        elif tag == "style":
            self.page.styles.append(data)
        else:
            self.page.text += data


def read_page(content: bytes) -> HtmlPage:
    """Read the elements of a page."""
    reader = _Reader()
    reader.feed(content.decode())
    return reader.page


def write_page(*runs: ReportedRun, **options: Any) -> HtmlPage:
    """Write a page about runs, and read it again."""
    stream = io.BytesIO()
    write_pages(stream, runs, **options)
    return read_page(stream.getvalue())

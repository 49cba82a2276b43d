"""A run, or two runs side by side, as one HTML file that opens anywhere: from disk, from mail, without a network.

The file holds a summary in plain HTML, the program that shows the view model, and the view model. The first script
element with data is the index of all cases. Then come chunks of 100 attempts, which are unpacked when they are needed.
All data is gzip in base64, so that no text of an agent can end its element. The texts of a chunk that a search reads
stand apart from everything else, which names them by their number.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain, count, islice, repeat
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import msgspec

from fairtrial.reports.html_index import Cleaner, IndexedRows, Packer, data_element, packed_element, page_pieces
from fairtrial.reports.html_summary import summary_html
from fairtrial.reports.page_shell import asset, page_policy
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.reports.shown_criteria import describe_run
from fairtrial.reports.views import view_shapes as shapes
from fairtrial.reports.views.view import RunReader, comparison_view
from fairtrial.text.display import visible
from fairtrial.text.languages import ENGLISH, speaking
from fairtrial.text.redaction.redact import may_hold_secrets, redact
from fairtrial.text.redaction.redact_json import redact_json
from fairtrial.text.redaction.secret_names import kind_of_name
from fairtrial.text.redaction.secret_values import secret_under

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import Comparison
    from fairtrial.reports.views.attempt_shapes import AttemptView

CHUNK = 100
LIMIT = 50_000_000
"""The largest size of a report, in bytes, that contains the conversations of attempts that passed by default."""

_END_OF_TEXT, _END_OF_ATTEMPT = b"\xff", b"\xfe"
"""Two bytes that do not occur in UTF-8."""

_REMOVED = "[REDACTED:pair]"
"""The note in place of a value whose key says that it is a secret."""

_WITH_MEMBERS, _WITH_ITEMS, _HOLDERS = (dict, msgspec.Struct), (list, tuple), (dict, list)
"""Types as `isinstance` takes them. A union such as `dict | list` would be made anew for each of a million values."""

_LONG = 2000
_FENCE, _END_OF_MARK, _END_OF_FENCE = "<<<", ">>>\n", "\n<<<end "
"""The beginning and the end of the mark before a message in a judge's prompt, and the beginning of that behind it."""

_MARK = re.compile(r"[A-Z]+ .{1,500} ([0-9a-f]{32})>>>")
"""The mark before a message, without its beginning: kind and name of the message, and the code of the prompt."""

_SHORT = 60
"""The length up to which cleaned texts are remembered."""

_KNOWN, _FEW = 1 << 14, 16
_known_clean: set[str] = set()
"""Texts without a secret, at most about `_KNOWN`. If one of `_FEW` texts may hold a secret, each is searched alone."""

_SEARCHED = frozenset({"text", "reason", "cause"})
"""The keys whose texts a search reads."""

_VALUES = frozenset({"args", "response"})
"""The keys whose values a search reads as JSON."""


def write(stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:
    """Write the page of a run, with its change since a baseline if there is one.

    If the base run is in a store, the page contains its conversations, too.
    """
    comparisons = [] if options.baseline is None or isinstance(options.baseline, str) else [options.baseline]
    runs = [options.base_run, run] if comparisons and options.base_run is not None else [run]
    if isinstance(options.baseline, str):
        options.warn(options.baseline)
    warnings = write_pages(
        stream,
        runs,
        comparisons=comparisons,
        traces=options.traces,
        language=options.language,
        people=options.people,
        ending=_history_section(options),
    )
    for warning in warnings:
        options.warn(warning)


def _history_section(options: ReportOptions) -> str:
    """Return the series of the run, as HTML."""
    if options.history is None:
        return ""
    from fairtrial.reports.decisions.history_html import history_section

    with speaking(options.language or ENGLISH):
        return history_section(options.history)


class _TooLargeError(Exception):
    """A report with all conversations exceeds the limit."""


def write_pages(
    target: BinaryIO,
    runs: Sequence[ReportedRun],
    *,
    comparisons: Sequence[Comparison] = (),
    traces: shapes.Traces | None = None,
    language: str = "",
    people: bool = False,
    limit: int = LIMIT,
    ending: str = "",
) -> list[str]:
    """Write a page about a run, or about a base run and the runs that are compared with it. Return warnings.

    A comparison belongs to each run but the base. A base run that is only in a file is left out.

    Without `traces`, the conversations of all attempts are written if they fit into the limit, and else only of the
    attempts that did not pass. With `people`, the page holds no personal data. `ending` is
    HTML in the style of pages without a script.
    """
    cleaner = _clean_people if people else clean
    with ExitStack() as stack:
        chunks = stack.enter_context(tempfile.TemporaryFile())
        rows = [
            IndexedRows(
                stack.enter_context(tempfile.TemporaryFile()),
                cleaner,
                [own.criterion for own in run.summary.criteria] if comparisons else None,
            )
            for run in runs
        ]
        try:
            readers = _write_chunks(chunks, runs, rows, traces or "all", limit if traces is None else 0, cleaner)
        except _TooLargeError:
            chunks.seek(0)
            chunks.truncate()
            readers = _write_chunks(chunks, runs, rows, "failed", 0, cleaner)
        size = chunks.tell()
        base, candidates = [own.compared for own in rows[: -len(comparisons)]], rows[-len(comparisons) :]
        views = [
            comparison_view(comparison, *base, own.compared)
            for comparison, own in zip(comparisons, candidates, strict=False)
        ]
        page = shapes.PageView([_view_run(reader) for reader in readers], [], views, language)
        _write_head(target, cleaner(page), rows, ending)
        chunks.seek(0)
        shutil.copyfileobj(chunks, target, 1 << 20)
        target.write(b"</body>\n</html>\n")
    return list(_warnings(readers[0].traces, traces, size, limit))


def _view_run(reader: RunReader) -> shapes.RunView:
    return msgspec.structs.replace(reader.view(), limits=describe_run(reader.run.summary))


def _warnings(actual: shapes.Traces, traces: shapes.Traces | None, size: int, limit: int) -> Iterator[str]:
    if actual == "failed" and traces is None:
        yield (
            f"the report would exceed {limit // 1_000_000} MB with all conversations, so it contains only those of "
            "attempts that did not pass; --traces all includes all of them"
        )
    elif size > limit:
        yield f"the report has {size / 1e6:.0f} MB; --traces failed or --traces none makes it smaller"


def _write_chunks(
    chunks: IO[bytes],
    runs: Sequence[ReportedRun],
    rows: Sequence[IndexedRows],
    traces: shapes.Traces,
    limit: int,
    cleaner: Cleaner,
) -> list[RunReader]:
    """Write the attempts and the rows of all runs. Raises _TooLargeError above the limit, if there is a limit."""
    for own in rows:
        own.clear()
    bases = [None, *repeat(runs[0], len(runs) - 1)]
    readers = [RunReader(run, own.add, traces, base) for run, own, base in zip(runs, rows, bases, strict=True)]
    for number, reader in enumerate(readers):
        attempts = reader.attempts()
        for chunk in count():
            first = next(attempts, None)
            if first is None:
                break
            batch = chain((first,), islice(attempts, CHUNK - 1))
            for name, content in zip(("texts", "details"), _pack_attempts(batch, cleaner), strict=True):
                chunks.writelines(packed_element(f"{name}-{number}-{chunk}", content))
            if limit and chunks.tell() > limit:
                raise _TooLargeError
    return readers


def _pack_attempts(attempts: Iterable[AttemptView], cleaner: Cleaner) -> tuple[bytes, bytes]:
    """Return the texts of attempts, and the attempts with the numbers of their texts, both as gzip.

    Only one attempt is held at a time: an attempt with many judges has megabytes of prompts.
    """
    texts, details = Packer(), Packer()
    separator = b"["
    for attempt in attempts:
        _learn_clean(set(_texts_of_votes(attempt)))
        numbers: dict[str, int] = {}
        content = cleaner(attempt)
        _number_items(content, numbers)
        details.add(separator + msgspec.json.encode(content))
        texts.add(_END_OF_TEXT.join(text.encode() for text in numbers) + _END_OF_ATTEMPT)
        separator = b","
    details.add(b"]")
    return texts.finish(), details.finish()


def clean(value: Any, key: str = "") -> Any:
    """Return a view or JSON as JSON without secrets and without lone surrogates, which are not text in any encoding.

    E-mail addresses stay, because many conversations are about them. `key` is the key under which the value stands.
    """
    if isinstance(value, str):
        return _REMOVED if key and secret_under(key, value) else _clean_text(value)
    if value is None or value is True or value is False:
        return value
    if isinstance(value, _WITH_MEMBERS):
        return _clean_members(value)
    if isinstance(value, _WITH_ITEMS):
        return [clean(item, key) for item in value] if value else []
    return _REMOVED if key and kind_of_name(key) and secret_under(key, str(value)) else value


def _clean_members(value: dict[str, Any] | msgspec.Struct) -> Any:
    if isinstance(value, msgspec.Struct):
        return {name: clean(item, name) for name, item in shapes.shown_fields(value)}
    if not _are_clean(tuple(value)):
        return redact_json({visible(name): clean(item, name) for name, item in value.items()}, emails=False)[0]
    return {name: clean(item, name) for name, item in value.items()}


@lru_cache(maxsize=1 << 12)
def _are_clean(keys: tuple[str, ...]) -> bool:
    """Return whether no key holds a secret. Most objects of a report have the keys of a few shapes."""
    return all(key == _clean_text(key) for key in keys)


def _clean_people(value: Any) -> Any:
    """Return JSON as `clean` does, and without personal data and e-mail addresses."""
    return redact_json(clean(value), people=True)[0]


def _clean_text(text: str) -> str:
    if text in _known_clean:
        return text
    return _clean_short_text(text) if len(text) <= _SHORT else _clean_long_text(text)


def _texts_of_votes(attempt: AttemptView) -> Iterator[str]:
    """Yield the texts of an attempt's votes. A panel makes thousands of them, most of which stand only once."""
    for ballot in attempt.ballots.values():
        yield ballot.id
        for vote in ballot.votes:
            yield from (call.key for call in vote.calls)
            yield from (answer.rationale for answer in vote.opinions.values())


def _learn_clean(texts: Collection[str]) -> None:
    """Learn which texts hold no secret, by one search in all of them, and else by a search in each half."""
    new = sorted(text for text in texts if text.isascii() and text not in _known_clean)
    if len(_known_clean) > _KNOWN:
        _known_clean.clear()
    if new and not may_hold_secrets(msgspec.json.encode(new).decode()):
        _known_clean.update(new)
    elif len(new) > _FEW:
        middle = len(new) // 2
        _learn_clean(new[:middle])
        _learn_clean(new[middle:])


def _clean_long_text(text: str) -> str:
    if len(text) <= _LONG or _END_OF_FENCE not in text:
        return _clean_whole_text(text)
    frames, messages = _cut_prompt(text)
    code = _find_code(frames)
    for frame in frames:
        known = frame.replace(code, "") if code else frame
        if _clean_message(known) != known:
            return _clean_whole_text(text)
    return "".join(chain.from_iterable(zip(frames, (*map(_clean_message, messages), ""), strict=True)))


def _find_code(frames: Sequence[str]) -> str:
    """Return the code of a prompt, or an empty text if the marks around its first message differ."""
    mark = frames[0].rpartition(_FENCE)[2].removesuffix("\n")
    match = _MARK.fullmatch(mark)
    return match[1] if match and frames[1].startswith(_END_OF_FENCE + mark) else ""


def _cut_prompt(text: str) -> tuple[list[str], list[str]]:
    """Return what stands before and behind the fenced messages of a prompt, and the messages.

    Messages repeat in prompts and are cleaned once. The marks are equal in all prompts but for their code.
    """
    frames, messages = [], []
    start = search = 0
    while (end := text.find(_END_OF_FENCE, search)) >= 0:
        fence = text.find(_FENCE, search, end)
        mark = text.find(_END_OF_MARK, fence, end) if fence >= 0 else -1
        begin = mark + len(_END_OF_MARK) if mark >= 0 else end
        frames.append(text[start:begin])
        messages.append(text[begin:end])
        start, search = end, end + len(_END_OF_FENCE)
    return [*frames, text[start:]], messages


def _clean_whole_text(text: str) -> str:
    return redact(text if text.isascii() else _encodable(text), emails=False)[0]


_clean_short_text = lru_cache(maxsize=1 << 14)(_clean_whole_text)  # names and values repeat in most attempts
_clean_message = lru_cache(maxsize=1 << 11)(_clean_whole_text)  # judges read the same messages in many prompts


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return visible(text)
    return text


def _number_items(value: Any, numbers: dict[str, int]) -> None:
    """Put numbers in place of the texts that a search reads, in JSON that nobody else holds."""
    for key, item in value.items() if isinstance(value, dict) else ((None, own) for own in value):
        if key in _VALUES and item is not None:
            value[key] = numbers.setdefault(msgspec.json.encode(item).decode(), len(numbers))
        elif isinstance(item, str):
            if key in _SEARCHED:
                value[key] = numbers.setdefault(item, len(numbers))
        elif isinstance(item, _HOLDERS):
            _number_items(item, numbers)


def _write_head(target: BinaryIO, page: Mapping[str, Any], rows: Sequence[IndexedRows], ending: str) -> None:
    """Write everything before the chunks. The program stands before them, so that it need not wait for them.

    `page` is the cleaned view of the page, without its rows. `ending` stands below the program.
    """
    script, style = asset("report.js"), asset("report.css")
    ending_style = asset("mutation.css") if ending else ""
    policy = page_policy(other_styles=[ending_style] if ending else [])
    summary = summary_html({**page, "cases": [own.listed for own in rows]})
    head = f"""<!DOCTYPE html>
<html lang="{page.get("language") or "en"}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{summary.title}</title>
<style>{style}</style>{f"<style>{ending_style}</style>" if ending else ""}
</head>
<body>
<div id="app">{summary.body}</div>{ending}
"""
    target.write(head.encode())
    target.writelines(data_element("page", page_pieces(page, rows)))
    target.write(f"<script>{script}</script>\n".encode())

"""Notebook views, as static HTML without a script, in which every text is escaped."""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run_comparison import Comparison
from fairtrial.records.summary import Summary
from fairtrial.records.trace import Invocation, Message, Step, Thought, ToolCall, Trace
from fairtrial.reports.decisions.comparison_table import comparison_report
from fairtrial.reports.outcome_lines import outcome_lines
from fairtrial.reports.short_texts import with_short_texts
from fairtrial.reports.summary_table import tables
from fairtrial.reports.terminal import case
from fairtrial.reports.terminal_text import plain_text
from fairtrial.reports.transcript import Transcript
from fairtrial.text.display import call, compact, shorten, visible, visible_line

LARGEST = 100_000
"""The most bytes of a view. Notebooks store it beside the code."""
_WIDTH = 120
_STEPS = 200
_TEXT_LENGTH = 2_000
_NAME_LENGTH = 100
_FONT = "line-height: normal; font-family: Menlo, 'DejaVu Sans Mono', consolas, monospace"
_CODE = f'<pre style="{_FONT}">{{code}}</pre>'


def as_html(content: RenderableType) -> str:
    """Return something for the terminal as HTML. If that is too long, it is plain text, and cut."""
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, highlight=False, emoji=False, markup=False, force_jupyter=False
    )
    console.print(content)
    text = console.export_html(inline_styles=True, code_format=_CODE)
    if len(text.encode(errors="replace")) <= LARGEST:
        return text
    # A character has at most four bytes, or six if it is escaped.
    cut = shorten(plain_text(content, _WIDTH), LARGEST // 7)
    return _CODE.format(code=html.escape(cut).replace("{", "&#123;"))


def trace_view(trace: Trace) -> RenderableType:
    """Return a conversation: a line for each message, thought, tool call and tool result."""
    numbered = enumerate(trace.invocations, 1)
    lines = list(islice((line for pair in numbered for line in _invocation(*pair)), _STEPS + 1))
    if len(lines) > _STEPS:
        lines[-1] = Text(f"… and more; the conversation has {len(trace.invocations):,} invocations", "dim")
    return Group(*lines)


def _invocation(number: int, invocation: Invocation) -> Iterator[Text]:
    yield Text.assemble((f"invocation {number}  user  ", "bold"), _show_text(invocation.query))
    for step in invocation.steps or ():
        yield _step(step)
    if invocation.final_response is not None:
        yield Text.assemble(("  reply  ", "bold"), _show_text(invocation.reply))


def _step(step: Step) -> Text:
    if isinstance(step, ToolCall):
        return Text.assemble(("  call  ", "cyan"), visible_line(call(step.name, step.args, limit=_TEXT_LENGTH)))
    if isinstance(step, Message):
        return Text.assemble(("  message  ", "bold"), _show_text(step.text))
    if isinstance(step, Thought):
        return Text(f"  thought  {_show_text(step.text)}", "dim")
    failed = " (error)" if step.is_error else ""
    return Text(
        f"  result{failed}  {visible_line(shorten(step.name, _NAME_LENGTH))}: {_show_text(compact(step.response))}",
        "dim",
    )


def _show_text(text: str) -> str:
    return visible(shorten(text, _TEXT_LENGTH))


_VIEWS: dict[type, Callable[[Any], RenderableType]] = {
    Summary: tables,
    CaseResult: lambda result: case(Transcript(with_short_texts(result)), everything=True),
    Outcome: lambda outcome: outcome_lines(with_short_texts(outcome), everything=True),
    Trace: trace_view,
    Comparison: comparison_report,
}


def html_of_record(record: Any) -> str:
    """Return a summary, a result, an outcome, a trace or a comparison as HTML."""
    return as_html(_VIEWS[type(record)](record))

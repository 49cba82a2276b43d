"""The main states of the pages look as their pictures in docs/images/pages show, which the documentation uses, too.

A picture may differ in 1 % of its pixels, by more than 32 of 255 in a colour: browsers draw the edges of letters
differently. `FAIRTRIAL_NEW_PICTURES=1` draws the pictures again.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browsing import launched, opened, wait_until_drawn

from fairtrial.api import history_html
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.records.run_history import CaseLine, HistoryRow, HistoryStep, RunHistory
from judged_pages import write_judged
from mutated_pages import write_mutants
from report_pages import write_comparison, write_comparisons, write_run

pytestmark = pytest.mark.browser

PICTURES = Path(__file__).parents[2] / "docs" / "images" / "pages"
TOLERANCE, SHARE = 32, 0.01
"""The difference of a colour that counts, and the share of pixels that may have it."""

STILL = """
* { font-family: "Noto Sans CJK JP" !important; animation: none !important; transition: none !important;
    caret-color: transparent !important; scrollbar-width: none !important; }
pre, code, kbd { font-family: "Noto Sans Mono CJK JP" !important; }
"""
"""One font that every machine of the tests has, and nothing that moves."""


@dataclass(frozen=True)
class State:
    """What a picture shows: a page, its fragment, the element that must be there, and the browser.

    `top` is the element at the upper edge of the picture, by default the page itself.
    """

    page: str
    fragment: str = ""
    ready: str = ".row .name"
    width: int = 1100
    dark: bool = False
    language: str = "en-US"
    top: str = ""


STATES = {
    "three-cases": State("three"),
    "two-hundred-cases": State("two-hundred", top=".cases"),
    "ten-thousand-cases": State("ten-thousand", top=".cases"),
    "groups": State("two-hundred", "#sort=reason&group=yes", ".group-name", top=".cases"),
    "judged-case": State("judged", "#page=case&case=0", ".case .invocation"),
    "two-runs": State("both", "#page=compare", ".compared-cases li"),
    "four-runs": State("many", "#page=compare", ".compare-all tbody a"),
    "mutants": State("mutants", "", "main.mutation"),
    "history": State("history", "", "svg.series"),
    "setup": State("three", "#page=setup", ".setup-page"),
    "phone": State("judged", "#page=case&case=0", ".case .invocation", width=390),
    "dark": State("judged", "#page=case&case=0", ".case .invocation", dark=True),
    "korean": State("three", language="ko-KR"),
    "japanese": State("three", language="ja-JP"),
    "chinese-traditional": State("three", language="zh-TW"),
    "chinese-simplified": State("three", language="zh-CN"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser that draws letters in the same way on each screen."""
    with launched("--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb") as own:
        yield own


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages, by their names."""
    folder = tmp_path_factory.mktemp("pages")
    return {
        "three": write_run(folder / "three.html", cases=3),
        "two-hundred": write_run(folder / "two-hundred.html", cases=200),
        "ten-thousand": write_run(folder / "ten-thousand.html", cases=10_000, attempts=1),
        "judged": write_judged(folder / "judged.html", 6),
        "both": write_comparison(folder / "both.html"),
        "many": write_comparisons(folder / "many.html"),
        "mutants": write_mutants(folder / "mutants.html"),
        "history": write_series(folder / "history.html"),
    }


def write_series(page: Path) -> str:
    """Write the page of a series of ten runs, in the seventh of which five of twelve cases broke."""
    change = IntervalEstimate(-5 / 12, -0.69, -0.14)
    step = HistoryStep("run-07", "run-06", "run-07", 4200.0, 12, change)
    rows = []
    for day in range(1, 11):
        value = IntervalEstimate(11 / 12, 0.65, 0.985) if day < 7 else IntervalEstimate(6 / 12, 0.25, 0.75)
        started = f"2026-11-{day:02}T09:30:00+00:00"
        rows.append(HistoryRow(f"run-{day:02}", started, value, 12, 12, step=step if day == 7 else None))
    once = (1,) * 10
    lines = [CaseLine(f"case_{case}", "shop", "broken", "run-07", (1,) * 6 + (0,) * 4, once) for case in range(5)]
    lines.append(CaseLine("case_5", "shop", "broken", "run-01", (0,) * 10, once))
    lines += [CaseLine(f"case_{case}", "shop", "passing", "run-01", once, once) for case in range(6, 12)]
    series = {"agent": "shop.agent:reply", "eval_set": "shop", "branch": "main"}
    page.write_text(history_html(RunHistory(series, "cases", True, 1000, tuple(rows), cases=tuple(lines))), "utf-8")
    return page.as_uri()


@pytest.mark.parametrize("name", STATES)
def test_a_page_looks_like_its_picture(browser: Any, addresses: dict[str, str], name: str, tmp_path: Path) -> None:
    """The first screen. A picture that differs is kept beside the report of the test."""
    shown = screenshot(browser, addresses, STATES[name])
    path = PICTURES / f"{name}.png"
    if os.environ.get("FAIRTRIAL_NEW_PICTURES"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shown)
    share = differing_share(path.read_bytes(), shown)
    if share > SHARE:
        (tmp_path / path.name).write_bytes(shown)
    assert share <= SHARE, f"{share:.1%} of {path.name} differs, see {tmp_path}"


def test_a_page_in_another_theme_differs(browser: Any, addresses: dict[str, str]) -> None:
    """So that the comparison can fail, also for a page with other cases and for a page in another language."""
    for state in (STATES["dark"], STATES["two-runs"], STATES["japanese"]):
        shown = screenshot(browser, addresses, state)
        assert differing_share((PICTURES / "three-cases.png").read_bytes(), shown) > SHARE


def screenshot(browser: Any, addresses: dict[str, str], state: State) -> bytes:
    """The first screen of a state, as PNG with 64 colours."""
    image = pytest.importorskip("PIL.Image")
    options = {
        "viewport": {"width": state.width, "height": 700},
        "locale": state.language,
        "timezone_id": "UTC",
        "color_scheme": "dark" if state.dark else "light",
        "reduced_motion": "reduce",
        "device_scale_factor": 1,
        "bypass_csp": True,
    }
    with opened(browser, **options) as own:
        own.open(addresses[state.page] + state.fragment, state.ready)
        own.page.add_style_tag(content=STILL)
        if state.top:
            own.page.evaluate("top => document.querySelector(top).scrollIntoView()", state.top)
        own.page.evaluate("document.fonts.ready")
        wait_until_drawn(own.page)
        picture = image.open(io.BytesIO(own.page.screenshot())).convert("RGB")
        target = io.BytesIO()
        picture.quantize(64, method=image.Quantize.MAXCOVERAGE).save(target, "PNG", optimize=True)
        return target.getvalue()


def differing_share(expected: bytes, shown: bytes) -> float:
    """The share of pixels that differ in a colour by more than the tolerance."""
    image, chops = pytest.importorskip("PIL.Image"), pytest.importorskip("PIL.ImageChops")
    first, second = (image.open(io.BytesIO(own)).convert("RGB") for own in (expected, shown))
    if first.size != second.size:
        return 1.0
    bands = [
        band.point(lambda value: 255 if value > TOLERANCE else 0) for band in chops.difference(first, second).split()
    ]
    differing = chops.lighter(chops.lighter(bands[0], bands[1]), bands[2]).histogram()[255]
    return float(differing / (first.width * first.height))

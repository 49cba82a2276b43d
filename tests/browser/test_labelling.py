"""People label in a real browser by keys alone, without a hint at the verdict, and without losing a label."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, FLAGS, Window, axe_problems, seen, signed_in
from msgspec.structs import replace

from fairtrial.api import QueueRequest
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.records.result import Outcome
from fairtrial.records.score import Range, Score
from fairtrial.reports.views.label_shapes import LabelRequest, WindowRequest
from fairtrial.store import Store
from hostile_corpus import HOSTILE
from report_pages import run as report_run
from viewers import FIRST, Site, fill, viewing

pytestmark = pytest.mark.browser

CRITERION = "final_response_quality"
ITEM = ".label-item"
SECRET = "".join(["sk-", "proj-", "a1B2" * 12])


def stored(folder: Path, *, cases: int, attempts: int = 2, hostile: tuple[str, ...] = ()) -> Store:
    """Return a store with a run that nobody has labelled."""
    store = Store(f"sqlite:///{folder}/runs.db")
    fill(store, dataclasses.replace(report_run(FIRST, cases=cases, attempts=attempts, hostile=hostile), labels=[]))
    return store


def queue_in(store: Store, **options: Any) -> str:
    """Draw a queue, and return the fragment of its page."""
    number = LabelDesk(store).open(FIRST, QueueRequest(CRITERION, **options)).number
    return f"#page=label&run={FIRST}&queue={number}"


def label(window: Window, keys: str = "1", most: int = 1000) -> int:
    """Press keys in turn, one for each item, until nothing is left, and return how many."""
    page = window.page
    for count in range(most):
        page.locator(f"{ITEM}, .label-end").first.wait_for()
        if page.locator(".label-end").count():
            return count
        place = page.locator(ITEM).get_attribute("data-item")
        page.keyboard.press(keys[count % len(keys)])
        page.locator(f"{ITEM}:not([data-item='{place}']), .label-end").first.wait_for()
    return most


def test_a_hundred_labels_by_keys_are_a_hundred_rows(browser: Any, tmp_path: Path) -> None:
    """Each with its probability and its blindness. Neither the page nor an answer of the server shows a verdict."""
    answers: list[Any] = []
    with closing(stored(tmp_path, cases=80)) as store, viewing(store.url) as site, signed_in(browser, site) as window:
        fragment = queue_in(store, sample=100)
        window.page.on("requestfinished", lambda request: answers.append(request.response()))
        window.show(f"{fragment}&as=ann", ITEM)
        assert label(window, "121", most=50) == 50
        texts = [window.page.locator("#app").inner_html()]
        assert label(window, "1223") == 50
        labels = store.labels(FIRST)
        assert len(labels) == 100
        assert {(own.author, own.blind, own.source) for own in labels} == {("ann", True, "view")}
        assert len({own.probability for own in labels}) == 1
        assert all(own.seconds is not None and own.seconds > 0 for own in labels)
        texts += [own.text() for own in answers if own.request.method == "POST"]
        assert window.errors == window.requests == []
    assert len(texts) > 200
    for text in texts:
        for hidden in ("the day differs", "judge-model", "shop_agent", '"verdict"', "ballot"):
            assert hidden not in text


def test_two_people_at_once_lose_and_double_no_item(browser: Any, tmp_path: Path) -> None:
    """On 50 items in two browsers, of which they share a fifth."""
    with closing(stored(tmp_path, cases=40)) as store, viewing(store.url) as site:
        fragment = queue_in(store, sample=50, overlap=0.2)
        with signed_in(browser, site) as one, signed_in(browser, site) as two:
            one.show(f"{fragment}&as=ann", ITEM)
            two.show(f"{fragment}&as=ben", ITEM)
            counts = Counter[str]()
            while one.page.locator(ITEM).count() or two.page.locator(ITEM).count():
                for name, window in (("ann", one), ("ben", two)):
                    counts[name] += label(window, "12", most=3)
                if counts.total() > 80:
                    break
        labels = store.labels(FIRST)
    items = Counter((own.case, own.attempt) for own in labels)
    assert sorted(items.values()) == [1] * 40 + [2] * 10
    assert max(Counter((own.case, own.attempt, own.author) for own in labels).values()) == 1
    assert len({own.author for own in labels}) == 2


def test_a_label_is_completed_by_keys(browser: Any, tmp_path: Path) -> None:
    """A note, a side and a reference go with it. Keys do nothing while somebody types. A secret is not stored."""
    with closing(stored(tmp_path, cases=10)) as store, viewing(store.url) as site, signed_in(browser, site) as window:
        page, press = window.page, window.page.keyboard.press
        window.show(f"{queue_in(store)}&as=ann", ITEM)
        press("n")
        page.locator("#label-note:focus").wait_for()
        page.keyboard.type(f"see 123 {SECRET}")
        press("Escape")
        press("s")
        page.locator("#label-side:focus").wait_for()
        press("a")
        press("Escape")
        press("r")
        page.locator("#label-reference:focus").wait_for()
        page.keyboard.type("On Friday.")
        press("Escape")
        label(window, "2", most=1)
        (own,) = store.labels(FIRST)
        assert (own.value, own.side, own.reference) == (0.0, "agent", "On Friday.")
        assert SECRET not in own.note
        assert own.note.startswith("see 123 [REDACTED")


def test_an_answer_is_taken_back_by_a_key(browser: Any, tmp_path: Path) -> None:
    """The item comes again with its answer. Another answer is stored beside the first, and the next item follows."""
    with closing(stored(tmp_path, cases=10)) as store, viewing(store.url) as site, signed_in(browser, site) as window:
        page, press = window.page, window.page.keyboard.press
        window.show(f"{queue_in(store)}&as=ann", ITEM)
        first = page.locator(ITEM).get_attribute("data-item")
        label(window, "2", most=1)
        press("u")
        page.locator(f"{ITEM}[data-item='{first}']").wait_for()
        page.locator(".answer[aria-pressed=true]", has_text="No").wait_for()
        label(window, "1", most=1)
        page.locator(".label-progress", has_text="1 of your").wait_for()
        no, yes = store.labels(FIRST)
        assert (no.case, no.attempt, no.value, yes.value) == (yes.case, yes.attempt, 0.0, 1.0)


def test_the_pages_are_reached_by_keys(browser: Any, tmp_path: Path) -> None:
    """Draw a sample, say who labels, look at the help, go back to the queues, and open one."""
    with closing(stored(tmp_path, cases=10)) as store, viewing(store.url) as site, signed_in(browser, site) as window:
        page, press = window.page, window.page.keyboard.press
        window.show(f"#page=labels&run={FIRST}", ".label-form")
        page.locator(".label-form button[type=submit]").focus()
        press("Enter")
        page.locator("input[type=text]").focus()
        page.keyboard.type("ann")
        press("Enter")
        page.locator(ITEM).wait_for()
        press("t")
        page.locator(".step.thought").first.wait_for()
        press("e")
        page.locator(".side.expected").first.wait_for(state="detached")
        press("?")
        page.locator("dialog[open]").wait_for()
        press("Escape")
        page.locator("dialog").wait_for(state="detached")
        press("Escape")
        page.locator(".queue-link").wait_for()
        press("j")
        page.locator(".queue-link:focus").wait_for()
        press("Enter")
        page.locator(ITEM).wait_for()
        press("Escape")
        page.locator(".queue-link").wait_for()
        press("Escape")
        page.locator(".row .name").first.wait_for()
        assert window.errors == window.requests == []


def test_named_answers_have_keys(browser: Any, tmp_path: Path) -> None:
    """And 0 is unsure, because 3 may be an answer."""
    with closing(stored(tmp_path, cases=6)) as store, viewing(store.url) as site, signed_in(browser, site) as window:
        window.show(f"{queue_in(store, sample=4, answers={'wrong': 0.0, 'half': 0.5})}&as=ann", ITEM)
        label(window, "20", most=2)
        assert [own.value for own in store.labels(FIRST)] == [0.5, None]


def test_a_number_is_confirmed_with_enter(browser: Any, tmp_path: Path) -> None:
    """A criterion with another range than 0 to 1 asks for a value in its range, and refuses another value."""
    own = report_run(FIRST, cases=4, attempts=1)
    outcome = Outcome("grade", Score(3.0), 2.0, range=Range(1.0, 5.0))
    results = [replace(result, outcomes=(outcome,)) for result in own.results]
    store = Store(f"sqlite:///{tmp_path}/runs.db")
    fill(store, dataclasses.replace(own, results=results, labels=[]))
    with closing(store), viewing(store.url) as site, signed_in(browser, site) as window:
        page, press = window.page, window.page.keyboard.press
        number = LabelDesk(store).open(FIRST, QueueRequest("grade")).number
        window.show(f"#page=label&run={FIRST}&queue={number}&as=ann", ITEM)
        for value, is_valid in (("4.5", True), ("7", False), ("2", True)):
            page.locator("#label-value:focus").wait_for()
            place = page.locator(ITEM).get_attribute("data-item")
            page.keyboard.type(value)
            press("Enter")
            if is_valid:
                page.locator(f"{ITEM}:not([data-item='{place}'])").wait_for()
            else:
                page.locator("#label-value:invalid").fill("")
        press("Escape")
        press("3")
        page.locator(".label-progress", has_text="3 of 4").wait_for()
        assert [label.value for label in store.labels(FIRST)] == [4.5, 2.0, None]


def test_the_agreement_is_shown_on_demand(browser: Any, tmp_path: Path) -> None:
    """Two people, a table, the judge beside them, and a link to each outcome on which they disagree; rubrics apart."""
    with closing(stored(tmp_path, cases=20)) as store, viewing(store.url) as site, signed_in(browser, site) as window:
        label_without_browser(store)
        window.show(f"#page=labels&run={FIRST}", ".show-agreement")
        assert window.page.locator(".agreement").count() == 0
        window.page.locator(".show-agreement").press("Enter")
        window.page.locator(".confusion").first.wait_for()
        assert window.page.locator(".agreement tbody th", has_text="rubrics").count() == 2
        assert window.page.locator(".confusion caption", has_text="rubrics").count() == 1
        link = window.page.locator(".disagreements a").first
        link.press("Enter")
        window.page.locator(".case .labels").wait_for()
        assert window.errors == window.requests == []


def label_without_browser(store: Store) -> None:
    """Let Ann and Ben label the same ten outcomes, and the same ten rubrics."""
    desk = LabelDesk(store)
    requests = (QueueRequest(CRITERION, sample=10, overlap=1.0, part=part) for part in (None, "rubric"))
    for number in [desk.open(FIRST, own).number for own in requests]:
        for name, values in (("ann", (1.0, 0.0)), ("ben", (1.0, 0.0, 0.0))):
            window = WindowRequest(name, f"window-{name}")
            for place in range(10):
                item = desk.claim(FIRST, number, window).items[0]
                value = values[place % len(values)]
                desk.answer(FIRST, number, LabelRequest(name, window.window, item.number, item.copy, value, 1.0))


@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_no_violation(browser: Any, tmp_path: Path, width: int) -> None:
    """WCAG 2.2 AA: each page, both themes, five languages; and nothing is wider than the window."""
    problems: list[object] = []
    options = {"viewport": {"width": width, "height": 900}, "bypass_csp": True}
    with closing(stored(tmp_path, cases=12)) as store, viewing(store.url) as site:
        label_without_browser(store)
        blind, shown = queue_in(store, sample=5), queue_in(store, sample=5, blind=False, question="Right?")
        pages = {
            "labels": (f"#page=labels&run={FIRST}", ".queue-link"),
            "sign": (blind, ".label-form"),
            "blind": (f"{blind}&as=eva", ITEM),
            "open": (f"{shown}&as=eva", ITEM),
        }
        with signed_in(browser, site, **options) as window:
            for name, (fragment, ready) in pages.items():
                window.show(fragment, ready)
                if name == "labels":
                    window.page.locator(".show-agreement").click()
                    window.page.locator(".confusion").first.wait_for()
                problems += [(name, *problem) for problem in axe_problems(window.page)]
            assert window.errors == window.requests == []
    assert problems == []


def test_hostile_texts_are_only_text(browser: Any, tmp_path: Path) -> None:
    """In every field of what people label, and of what they write."""
    # The store holds UTF-8, which has no lone surrogates.
    hostile = tuple(text or " " for text in HOSTILE if not any(0xD7FF < ord(letter) < 0xE000 for letter in text))
    problems: list[object] = []
    with (
        closing(stored(tmp_path, cases=len(hostile), attempts=1, hostile=hostile)) as store,
        viewing(store.url) as site,
    ):
        blind = queue_in(store, sample=len(hostile), question=hostile[0])
        shown = queue_in(store, sample=20, blind=False, part="rubric", question=hostile[1])
        with signed_in(browser, site) as window:
            for fragment in (blind, shown):
                window.show(f"{fragment}&as=ann", ITEM)
                while label(window, most=1):
                    problems += seen(window)
            window.show(f"#page=labels&run={FIRST}", ".show-agreement")
            window.page.locator(".show-agreement").click()
            window.page.locator(".agreement").wait_for()
            problems += seen(window)
        assert len(store.labels(FIRST)) > len(hostile) / 2
    assert problems == []


def test_a_viewer_that_is_killed_loses_no_label(browser: Any, tmp_path: Path) -> None:
    """The page says that nobody answers. Another viewer continues the queue with the next item."""
    with closing(stored(tmp_path, cases=10)) as store:
        with started(store.url) as (process, address), signed_in(browser, Site(address.partition("#")[0])) as window:
            window.show(f"#{address.partition('#')[2]}", ITEM)
            assert label(window, most=3) == 3
            process.send_signal(signal.SIGKILL)
            process.wait()
            window.page.keyboard.press("1")
            window.page.locator("[role=alert]", has_text="The viewer does not answer").wait_for()
            assert window.page.locator(ITEM).count() == 1
        assert len(store.labels(FIRST)) == 3
        with started(store.url) as (_, address), signed_in(browser, Site(address.partition("#")[0])) as window:
            window.show(f"#{address.partition('#')[2]}", ITEM)
            window.page.locator(".label-progress", has_text="3 of your").wait_for()
            label(window, most=1)
        assert len({(own.case, own.attempt) for own in store.labels(FIRST)}) == 4


def test_a_browser_that_is_killed_loses_no_label(browser: Any, tmp_path: Path) -> None:
    """Another window of the same person goes on at once, with items that the killed window did not hold."""
    with closing(stored(tmp_path, cases=10)) as store, viewing(store.url) as site:
        fragment = f"{queue_in(store)}&as=ann"
        killed = browser.browser_type.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", *FLAGS])
        page = killed.new_context().new_page()
        page.goto(f"{site.address}{fragment}")
        window = Window(page, site, [], [])
        assert label(window, most=3) == 3
        page.locator(ITEM).wait_for()
        held = page.locator(ITEM).get_attribute("data-item")
        processes = killed.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        os.kill(next(own["id"] for own in processes if own["type"] == "browser"), signal.SIGKILL)
        with suppress(Exception):  # the connection ended with the process
            killed.close()
        assert len(store.labels(FIRST)) == 3
        with signed_in(browser, site) as other:
            other.show(fragment, ITEM)
            assert other.page.locator(ITEM).get_attribute("data-item") != held
            label(other, most=1)
        assert len({(own.case, own.attempt) for own in store.labels(FIRST)}) == 4


@contextmanager
def started(store: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `fairtrial label` in a process of its own, and yield the address that it prints."""
    command = ["-m", "fairtrial", "label", FIRST, "--store", store, "--as", "ann", "--no-open"]
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = iter(process.stdout.readline, "")
        yield process, next(line.strip() for line in lines if re.match(r"http://", line))
    finally:
        process.kill()
        process.communicate()

"""The playground of the site in Chromium: dropped files become a report, and nothing leaves the browser."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import regex
from site_browsing import chromium, served

import fairtrial
from fairtrial.records.result import Verdict
from fairtrial.text import sentences
from fairtrial.text.lazy_pattern import LazyPattern

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site" / ".".join(fairtrial.__version__.split(".")[:2])
SECONDS = 180_000
"""The longest wait in milliseconds. On a busy machine Python takes half a minute to load."""
DROP = """(files) => {
  const transfer = new DataTransfer();
  for (const [name, text] of Object.entries(files).flatMap(([name, texts]) => [texts].flat().map((own) => [name, own])))
    transfer.items.add(new File([text], name));
  document.querySelector("main").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
}"""
HOSTILE = "</script><script>parent.document.title='taken'</script><img src='/stolen' onerror=\"fetch('/stolen')\">"
TEXTS = (
    "Dr. Kim paid 3.5 euros. It's fine! Really?\n- one\n- two\n```\ncode. here\n```\n| a | b |\n|---|---|",
    "주문 A-17은 배송 중이며 금요일에 도착합니다. 감사합니다! 2026. 3. 4. 에 오세요.",
    "注文は発送されました。「はい」と言った。１２個です！",
    "订单已发货。“好的。”他说。𠀀⺀〇 No. 5 vitamin A. e.g. this",
)
Page = Any


@pytest.fixture(scope="module")
def requests() -> list[str]:
    """The requests that the server got."""
    return []


@pytest.fixture(scope="module")
def page(requests: list[str]) -> Iterator[Page]:
    """The playground, in which Python is loaded once for all tests."""
    with served(SITE, requests) as address, chromium() as browser:
        own = browser.new_page()
        own.on("request", lambda request: requests.append(f"{request.method} {request.url}"))
        own.goto(f"{address}playground/")
        yield own


def conversation(question: str, reply: str) -> str:
    """A chat as the API of OpenAI has it."""
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    return json.dumps({"messages": messages})


def choose(page: Page, tmp_path: Path, recorded: str, expected: str = "", match: str = "id") -> None:
    """Choose files, and ask for the report."""
    for field, text in (("recorded", recorded), ("expected", expected)):
        file = tmp_path / f"{field}.json"
        file.write_text(text, encoding="utf-8")
        page.set_input_files(f"#{field}", [file] if text else [])
    page.select_option("#match", match)
    page.get_by_role("button", name="Show the report").click()


def answer(page: Page, text: str) -> Any:
    """The frame of the report, when the status says a text."""
    page.locator("#status", has_text=text).or_(page.locator("#problem:visible")).first.wait_for(timeout=SECONDS)
    assert page.locator("#problem").inner_text() == ""
    return page.frame_locator("#report")


def test_python_loads_while_files_are_chosen(page: Page) -> None:
    """The first step into the form begins it, and says nothing about it: nobody waits yet."""
    with page.expect_response("**/packages.zip", timeout=SECONDS) as fetched:
        page.locator("#recorded").focus()
    assert fetched.value.ok
    assert page.locator("#status").inner_text() == ""


def test_each_text_of_the_page_has_five_languages() -> None:
    """The English texts that stand in the page itself are not repeated."""
    folder = ROOT / "docs" / "playground"
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    page, script = ((folder / name).read_text("utf-8") for name in ("index.html", "page.js"))
    in_page, in_script = set(re.findall(r'data-text="(\w+)"', page)), set(re.findall(r'text\("(\w+)"', script))
    assert {code: sorted((in_page | in_script) - own.keys()) for code, own in texts.items() if code != "en"} == {
        code: [] for code in ("ko", "ja", "zh-CN", "zh-TW")
    }
    verdicts = set(Verdict) - {Verdict.NOT_APPLICABLE}
    assert in_script - {"title"} | verdicts <= texts["en"].keys()
    assert all(verdicts <= own.keys() for own in texts.values())
    places = [
        [sorted(re.findall(r"\{\w+\}", own.get(key, text))) for own in texts.values()]
        for key, text in texts["en"].items()
    ]
    assert all(own == [own[0]] * len(own) for own in places)


@pytest.mark.parametrize(
    ("locale", "title", "sentence"),
    [
        ("en-US", "Playground", "3 cases: 2 passed, 1 failed."),
        ("ko-KR", "플레이그라운드", "케이스 3개: 통과 2, 실패 1."),
        ("ja-JP", "プレイグラウンド", "ケース3件: 合格2、不合格1。"),
        ("zh-CN", "试用", "3 个用例：2 个通过，1 个失败。"),
        ("zh-HK", "試用", "3 個案例：2 個通過，1 個失敗。"),
        ("de-DE", "Playground", "3 cases: 2 passed, 1 failed."),
    ],
)
def test_the_page_speaks_the_language_of_the_browser(page: Page, locale: str, title: str, sentence: str) -> None:
    """Its texts and its status: a browser of another language gets English."""
    context = page.context.browser.new_context(locale=locale)
    own = context.new_page()
    own.goto(page.url)
    assert own.locator("h1").inner_text() == title
    counts = {"cases": 3, "verdicts": {"passed": 2, "failed": 1}, "is_compared": True}
    assert own.evaluate("(counts) => describe(counts)", counts) == sentence
    context.close()


def test_the_report_that_nobody_sees_is_complete(tmp_path: Path) -> None:
    """Otherwise the first file would wait for the modules that a decided case needs."""
    script = (
        "import asyncio, pathlib, sys, playground\n"
        "playground.FOLDER = pathlib.Path(sys.argv[1], 'files')\n"
        "made = asyncio.run(playground.warm_up())\n"
        "print(made['said']['verdicts'], b'response_match_score' in made['report'])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "docs" / "playground"), *sys.path])}
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "{'passed': 1} True\n", done.stderr


def test_cases_beside_an_eval_set_have_their_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that only informs stands beside one that passed. Nothing to compare is said only without an eval set."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "playground")
    playground = importlib.import_module("playground")
    monkeypatch.setattr(playground, "FOLDER", tmp_path / "files")
    chat = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    recorded = [{"name": "chats.json", "bytes": json.dumps([{"messages": chat}] * 2).encode()}]
    asked = {"role": "user", "parts": [{"text": "Hello?"}]}
    replies: tuple[dict[str, Any], ...] = ({"final_response": {"role": "model", "parts": [{"text": "Hello."}]}}, {})
    cases = [{"eval_id": f"c{n}", "conversation": [{"user_content": asked, **own}]} for n, own in enumerate(replies)]
    expected = [{"name": "set.json", "bytes": json.dumps({"eval_set_id": "set", "eval_cases": cases}).encode()}]
    with ThreadPoolExecutor(1) as thread:  # the loop of the browser runs in this one
        made = thread.submit(asyncio.run, playground.make_report(recorded, expected, "order")).result()
        assert made["said"] == {"cases": 2, "verdicts": {"passed": 1, "informational": 1}, "is_compared": True}
        made = thread.submit(asyncio.run, playground.make_report(recorded, [], "order")).result()
    assert made["said"] == {"cases": 2, "verdicts": {"unscored": 2}, "is_compared": False}


def test_files_are_seen_without_python(page: Page) -> None:
    """Their messages and calls, as text alone, while Python loads, and also if it cannot. A report replaces them."""
    call = {"type": "function", "function": {"name": "get_order", "arguments": '{"id": "A-17"}'}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Where is A-17?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "assistant", "content": HOSTILE},
    ]
    texts = ["user: Where is A-17?", 'assistant: get_order({"id": "A-17"})', f"assistant: {HOSTILE}"]
    alone = page.context.browser.new_page()
    alone.route("**/packages.zip", lambda route: route.abort())
    alone.goto(page.url)
    alone.evaluate(DROP, {"trace.json": json.dumps({"messages": messages}), "notes.txt": "a = 1"})
    files = alone.locator("#files")
    assert files.locator("h2").all_inner_texts() == ["trace.json", "notes.txt"]
    assert files.locator("p").all_text_contents() == texts
    assert files.locator("pre").all_text_contents() == ["a = 1"]
    alone.locator("#problem:visible").wait_for(timeout=SECONDS)
    assert files.is_visible()
    assert "Playground" in alone.title()
    alone.close()
    page.bring_to_front()  # a page behind another one draws nothing


def test_the_example_passes(page: Page) -> None:
    """Its eval set is compared by place."""
    page.get_by_role("button", name="Show an example").click()
    report = answer(page, "1 case: passed.")
    report.get_by_text("tool_trajectory_avg_score").first.wait_for()
    assert not page.locator("#files").is_visible()


def test_a_dropped_trace_becomes_a_report(page: Page) -> None:
    """Without an eval set its measures are shown, and nothing is decided."""
    page.evaluate(DROP, {"trace.json": conversation("배송 상태는?", "금요일에 도착합니다.")})
    report = answer(page, "1 case: unscored. Without an eval set there is nothing to compare with.")
    report.get_by_text("tool_call_count_v1").first.wait_for()


def test_files_of_one_name_are_all_read(page: Page) -> None:
    """They come from several folders, for example of several runs."""
    page.evaluate(DROP, {"trace.json": [conversation("Where?", "Here."), conversation("When?", "Now.")]})
    report = answer(page, "2 cases: unscored.")
    for question in ("Where?", "When?"):
        report.get_by_text(question).first.wait_for(state="attached")


def test_only_the_newest_files_are_answered(page: Page) -> None:
    """The second drop comes while the files of the first one are read. Nobody waits for the first one any more."""
    page.evaluate(
        "() => { window.said = []; const status = document.getElementById('status');"
        " new MutationObserver(() => window.said.push(status.textContent)).observe(status, {childList: true}) }"
    )
    page.evaluate(DROP, {f"{number}.json": conversation("Who?", f"{number}") for number in range(40)})
    page.evaluate(DROP, {f"{number}.json": conversation("Who?", "Me.") for number in range(3)})
    answer(page, "3 cases: unscored.")
    page.evaluate(DROP, {"trace.json": conversation("Who?", "You.")})
    answer(page, "1 case: unscored.")
    assert not [text for text in page.evaluate("() => window.said") if text.startswith("40 cases")]


def test_each_report_after_a_refusal_is_drawn(page: Page) -> None:
    """One frame for all reports stayed empty after one refusal in five: its document changed while it was hidden."""
    for number in range(12):
        page.evaluate(DROP, {"report.html": "<p>Harmless", "trace.json": conversation("Who?", "Me.")})
        page.locator("#problem", has_text="choose a report alone").wait_for()
        page.evaluate(DROP, {"trace.json": conversation("Who?", f"Me, {number}.")})
        answer(page, "1 case: unscored.").get_by_text("tool_call_count_v1").first.wait_for()


def test_a_report_is_opened_alone(page: Page) -> None:
    """Other files beside it would be left out."""
    page.evaluate(DROP, {"report.html": "<p>Harmless", "trace.json": conversation("Who?", "Me.")})
    page.locator("#problem", has_text="choose a report alone").wait_for()


def test_a_file_that_cannot_be_read_is_told(page: Page) -> None:
    """A browser gives a dropped folder as a file without content. The report of other files is hidden."""
    page.evaluate("() => { File.prototype.arrayBuffer = () => Promise.reject(new Error('it could not be found')) }")
    page.evaluate(DROP, {"folder": ""})
    page.locator("#problem", has_text="it could not be found").wait_for()
    page.evaluate("() => { delete File.prototype.arrayBuffer }")


def test_a_wrong_reply_fails_with_its_reason(page: Page, tmp_path: Path) -> None:
    """The failure is found with expressions of `re` in place of the library regex."""
    case = {"question": "When does it arrive?", "expected": "On Friday. It costs nothing."}
    expected = "question,expected\n" + ",".join(case.values()) + "\n"
    (tmp_path / "cases.csv").write_text(expected, encoding="utf-8")
    page.set_input_files("#expected", [tmp_path / "cases.csv"])
    page.select_option("#match", "order")
    page.evaluate(
        DROP, {"trace.json": conversation(case["question"], "I am sorry, but I cannot help with it. Ask others.")}
    )
    report = answer(page, "1 case: failed.")
    report.get_by_text("response_match_score").first.wait_for()


def test_a_file_that_is_no_recording_is_refused_with_its_place(page: Page, tmp_path: Path) -> None:
    """The message names the file as the user does."""
    choose(page, tmp_path, '{"messages": [}')
    page.locator("#problem", has_text="recorded.json").wait_for(timeout=SECONDS)
    assert "/files" not in page.locator("#problem").inner_text()
    assert not page.locator("#report").is_visible()


def test_texts_of_a_file_stay_texts(page: Page, tmp_path: Path, requests: list[str]) -> None:
    """The title stays, and nothing is fetched: the report has no origin, and its policy allows no request."""
    choose(page, tmp_path, conversation(HOSTILE, HOSTILE))
    answer(page, "1 case: unscored").get_by_text("parent.document.title").first.wait_for(state="attached")
    assert page.title() == "Playground – fairtrial"
    assert [own for own in requests if "stolen" in own] == []


def test_a_page_that_pretends_to_be_a_report_runs_no_script(page: Page, requests: list[str]) -> None:
    """Only the program of this version may run, and the frame cannot reach the page."""
    page.evaluate(DROP, {"report.html": f"<!DOCTYPE html><p>Harmless{HOSTILE}"})
    answer(page, "report.html as it was written").get_by_text("Harmless").wait_for()
    assert page.title() == "Playground – fairtrial"
    assert [own for own in requests if "stolen" in own] == []


def test_a_report_of_this_version_is_shown_as_it_is(page: Page, tmp_path: Path) -> None:
    """Its program runs in the frame, so that a case opens."""
    file = tmp_path / "report.html"
    fairtrial.evaluate([fairtrial.Case("Where?", expected="Here")], lambda _: "Here").save(html=file)
    page.evaluate(DROP, {file.name: file.read_text(encoding="utf-8")})
    answer(page, "report.html as it was written").get_by_role("button", name="Help").wait_for()


def test_nothing_was_sent_anywhere(page: Page, requests: list[str]) -> None:
    """Every request of the tests before reads a file of this site."""
    own = urlsplit(page.url).netloc
    sent = [line.split(" ", 1) for line in requests]
    assert {method for method, _ in sent} == {"GET"}
    assert {urlsplit(address).netloc for _, address in sent if not address.startswith("blob:")} <= {"", own}
    assert any("packages.zip" in address for _, address in sent)


def test_the_expressions_of_the_browser_find_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As those of the library, in sentences of five languages."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    ranges = importlib.import_module("build_playground").property_ranges()
    (tmp_path / "properties.json").write_text(json.dumps(ranges), encoding="utf-8")
    (tmp_path / "own_regex.py").write_text(
        (ROOT / "docs/playground/browser_regex.py").read_text("utf-8"), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own_regex")
    patterns = [item for item in vars(sentences).values() if isinstance(item, LazyPattern)]
    assert len(patterns) > 15
    for pattern in patterns:
        ours = own.compile(pattern.compiled.pattern, pattern.compiled.flags & regex.IGNORECASE | _common(pattern))
        for text in (*TEXTS, "".join(map(chr, range(0x20, 0x3000)))):
            theirs = [match.span() for match in pattern.finditer(text)]
            assert [match.span() for match in ours.finditer(text)] == theirs, (ours.pattern, text[:40])


def _common(pattern: LazyPattern) -> int:
    return sum(flag for flag in (re.MULTILINE, re.DOTALL) if pattern.compiled.flags & flag)

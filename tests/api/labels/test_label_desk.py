"""People get outcomes of a run to label, each of them once, without a hint at the judge's verdict."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from fairtrial import open_run
from fairtrial.api import QueueRequest, agreement_of_labelers, encode_view
from fairtrial.api.labels.label_agreement import agreement_view
from fairtrial.api.labels.label_desk import OWN_PATIENCE, PATIENCE, ItemLostError, LabelDesk
from fairtrial.errors import UsageError
from fairtrial.records.record import Json
from fairtrial.records.result import Outcome
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Trace
from fairtrial.reports.views.label_shapes import ClaimedItems, LabelRequest, QueueView, WindowRequest
from fairtrial.reports.views.view_labels import blind_item
from fairtrial.store import Store
from report_pages import run as report_run
from viewers import FIRST, fill

CRITERION = "final_response_quality"
LABELLING = Path(__file__).parents[3] / "ui" / "src" / "labelling.tsx"
NAMES = {"ann": WindowRequest("ann", "window-a1"), "ben": WindowRequest("ben", "window-b1")}


class Clock:
    """A clock that goes on when a test says so."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The clock of the desk."""
    return Clock()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with a run of 40 cases, two attempts each, that nobody has labelled."""
    own = report_run(FIRST, cases=40)
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/runs.db" if is_file else os.environ["FAIRTRIAL_TEST_POSTGRES"]
    with closing(Store(url)) as opened:
        fill(opened, dataclasses.replace(own, labels=[]))
        yield opened
        opened.remove(FIRST)


@pytest.fixture
def desk(store: Store, clock: Clock) -> LabelDesk:
    """A desk over the store."""
    return LabelDesk(store, clock)


def answer(
    desk: LabelDesk,
    queue: QueueView,
    claimed: ClaimedItems,
    who: str = "ann",
    value: float | None = 1.0,
    **more: object,
) -> None:
    """Label the first item that somebody holds."""
    (item, *_) = claimed.items
    window = NAMES[who]
    desk.answer(
        FIRST,
        queue.number,
        LabelRequest(window.labeler, window.window, item.number, item.copy, value, 2.5, **more),  # type: ignore[arg-type]
    )


def label_all(desk: LabelDesk, queue: QueueView, who: str = "ann", values: tuple[float | None, ...] = (1.0,)) -> int:
    """Label until nothing is left, and return the number of labels."""
    count = 0
    while (claimed := desk.claim(FIRST, queue.number, NAMES[who])).items:
        answer(desk, queue, claimed, who, values[count % len(values)])
        count += 1
    return count


@pytest.mark.long
def test_each_label_has_its_probability_and_says_that_it_was_blind(desk: LabelDesk, store: Store) -> None:
    """With everything else that an estimate or a person needs later."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=10, seed=7))
    answer(desk, queue, desk.claim(FIRST, queue.number, NAMES["ann"]), note="late", side="agent", reference="Monday")
    label_all(desk, queue)
    labels = store.labels(FIRST)
    assert len(labels) == 10
    assert {(own.probability, own.blind, own.source, own.author) for own in labels} == {
        (10 / queue.population, True, "view", "ann")
    }
    assert {own.seconds for own in labels} == {2.5}
    assert {own.weight * (own.probability or 0) for own in labels} == {1.0}
    assert (labels[0].note, labels[0].side, labels[0].reference) == ("late", "agent", "Monday")
    assert len({own.key for own in labels}) == 10


@pytest.mark.long
@pytest.mark.parametrize("part", [None, "rubric"])
def test_a_blind_item_holds_nothing_of_the_judge(desk: LabelDesk, part: object) -> None:
    """Neither value, reason, votes, models, agents, the name of the case, nor a time."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, part=part))  # type: ignore[arg-type]
    keys: set[str] = set()
    for _ in range(20):
        claimed = desk.claim(FIRST, queue.number, NAMES["ann"])
        seen = encode_view(claimed.items)
        for hidden in (b"the day differs", b"judge-model", b"shop_agent", b"verdict", b"position", b"ballot"):
            assert hidden not in seen
        keys |= collect_keys(json.loads(seen))
        answer(desk, queue, claimed)
    assert not keys & {"author", "model", "durations", "usages", "agents", "value", "outcome", "labels", "reason"}


def test_a_blind_item_has_the_work_inside_of_a_tool_without_its_agents() -> None:
    """People see what the judge may have seen, and not who did it."""
    inner = Trace((Invocation(Message("ask"), (ToolCall("read", author="reader"),), Message("7", author="reader")),))
    actual = Trace((Invocation(Message("how many?"), (ToolResult("ask", "7", inner=inner),)),))
    item = blind_item((1, 1), actual, None, Outcome(CRITERION, Score(1.0), 0.8), None, None)
    (invocation,) = json.loads(encode_view(item))["trace"]
    assert invocation["steps"][0]["inner"] == [{"kind": "tool_call", "name": "read"}, {"kind": "message", "text": "7"}]


def collect_keys(value: Json) -> set[str]:
    """All keys at any depth."""
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in collect_keys(item)}
    return {key for item in value for key in collect_keys(item)} if isinstance(value, list) else set()


def test_an_open_queue_shows_the_verdict_and_its_labels_say_so(desk: LabelDesk, store: Store) -> None:
    """Also the labels of other people."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=2, overlap=1.0, blind=False))
    label_all(desk, queue, "ben")
    claimed = desk.claim(FIRST, queue.number, NAMES["ann"])
    assert claimed.items[0].outcome is not None
    assert [own.author for own in claimed.items[0].labels] == ["ben"]
    answer(desk, queue, claimed)
    assert store.labels(FIRST)[-1].blind is False


def test_the_order_is_random_and_the_same_for_a_seed(desk: LabelDesk, store: Store) -> None:
    """Another seed draws another sample, and the same options continue the queue."""
    queues = [desk.open(FIRST, QueueRequest(CRITERION, sample=30, seed=seed)) for seed in (1, 2, 1)]
    assert [own.number for own in queues] == [1, 2, 1]
    first, second = (
        [(own.position, own.attempt) for own in store.label_queues(FIRST).items(number)] for number in (1, 2)
    )
    assert first != sorted(first)
    assert first != second
    assert len(set(first)) == 30


@pytest.mark.long
def test_two_people_at_once_lose_and_double_nothing(desk: LabelDesk, store: Store) -> None:
    """On 50 items, from two threads, with an overlap of a tenth."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=50, overlap=0.1))
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda who: label_all(desk, queue, who), NAMES))
    assert sum(counts) == 55
    items = Counter((own.case, own.attempt) for own in store.labels(FIRST))
    assert sorted(items.values()) == [1] * 45 + [2] * 5
    assert max(Counter((own.case, own.attempt, own.author) for own in store.labels(FIRST)).values()) == 1


@pytest.mark.parametrize(("overlap", "share"), [(1.0, 20), (0.5, 15), (0.0, 10)])
def test_progress_tells_the_share_of_a_person(desk: LabelDesk, overlap: float, share: int) -> None:
    """Of 20 items, two people label some both and divide the others."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=20, overlap=overlap))
    assert queue.progress.share == share


def test_two_windows_of_a_person_get_different_items(desk: LabelDesk) -> None:
    """Also if several people are to label each item."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=5, overlap=1.0))
    one = desk.claim(FIRST, queue.number, NAMES["ann"])
    two = desk.claim(FIRST, queue.number, WindowRequest("ann", "window-a2"))
    assert not {own.number for own in one.items} & {own.number for own in two.items}


def test_a_window_that_is_gone_gives_its_items_back(desk: LabelDesk, clock: Clock) -> None:
    """At once if it says so, otherwise after a while. A label that comes later is refused."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=2))
    held = desk.claim(FIRST, queue.number, NAMES["ann"])
    waiting = desk.claim(FIRST, queue.number, NAMES["ben"])
    assert (len(held.items), waiting.items, waiting.queue.progress.elsewhere) == (2, [], 2)
    clock.now += PATIENCE - 1
    desk.hold(FIRST, queue.number, NAMES["ann"])
    clock.now += PATIENCE - 1
    assert desk.claim(FIRST, queue.number, NAMES["ben"]).items == []
    clock.now += 2
    assert len(desk.claim(FIRST, queue.number, NAMES["ben"]).items) == 2
    with pytest.raises(ItemLostError):
        answer(desk, queue, held)
    desk.release(FIRST, queue.number, NAMES["ben"])
    assert len(desk.claim(FIRST, queue.number, NAMES["ann"]).items) == 2


def test_a_person_resumes_after_their_window_was_killed(desk: LabelDesk, clock: Clock) -> None:
    """In another window of the same name, with everything that was labelled so far."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=4))
    answer(desk, queue, desk.claim(FIRST, queue.number, NAMES["ann"]))
    desk.claim(FIRST, queue.number, NAMES["ann"])
    clock.now += OWN_PATIENCE + 1
    claimed = desk.claim(FIRST, queue.number, WindowRequest("ann", "window-a2"))
    assert (claimed.queue.progress.mine, len(claimed.items)) == (1, 2)


@pytest.mark.long
def test_the_page_of_a_person_keeps_its_items_from_their_other_window(desk: LabelDesk, clock: Clock) -> None:
    """As long as it asks, as often as the program of the page does."""
    (milliseconds,) = re.findall(r"HEARTBEAT = ([0-9_]+);", LABELLING.read_text(encoding="utf-8"))
    heartbeat = int(milliseconds) / 1000
    assert 2 * heartbeat < OWN_PATIENCE
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=2))
    held = desk.claim(FIRST, queue.number, NAMES["ann"])
    for _ in range(20):
        clock.now += heartbeat
        desk.hold(FIRST, queue.number, NAMES["ann"])
        assert desk.claim(FIRST, queue.number, WindowRequest("ann", "window-a2")).items == []
    answer(desk, queue, held)


def test_a_label_that_is_sent_twice_is_stored_once(desk: LabelDesk, store: Store) -> None:
    """Because the connection may break after the label was stored. Another answer is stored beside the first."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=4))
    claimed = desk.claim(FIRST, queue.number, NAMES["ann"])
    answer(desk, queue, claimed)
    answer(desk, queue, claimed)
    assert [own.value for own in store.labels(FIRST)] == [1.0]
    answer(desk, queue, claimed, value=0.0, again=True)
    assert [own.value for own in store.labels(FIRST)] == [1.0, 0.0]
    assert desk.claim(FIRST, queue.number, NAMES["ann"]).queue.progress.done == 1


@pytest.mark.long
def test_a_third_person_gets_what_two_people_disagree_on(desk: LabelDesk, store: Store) -> None:
    """Once, and not the people who disagree. The new labels stand for as many outcomes as the earlier ones."""
    first = desk.open(FIRST, QueueRequest(CRITERION, sample=6, overlap=1.0))
    label_all(desk, first, "ann")
    label_all(desk, first, "ben", (1.0, 0.0))
    queue = desk.open(FIRST, QueueRequest(CRITERION, by="disagreement"))
    assert queue.progress.total == 3
    assert desk.claim(FIRST, queue.number, NAMES["ann"]).items == []
    NAMES["eva"] = WindowRequest("eva", "window-e1")
    assert label_all(desk, queue, "eva") == 3
    assert {own.weight for own in store.labels(FIRST)} == {first.population / 6}
    with pytest.raises(UsageError, match="no further outcome"):
        desk.open(FIRST, QueueRequest(CRITERION, by="disagreement"))


def test_strata_take_half_of_each_verdict(desk: LabelDesk, store: Store) -> None:
    """The probabilities add up to the population."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, by="stratum", sample=20))
    items = store.label_queues(FIRST).items(queue.number)
    assert len(items) == 20
    assert math.isclose(sum(1 / own.probability for own in items), queue.population)


def test_a_part_is_labelled_by_its_key(desk: LabelDesk, store: Store) -> None:
    """A label on a rubric shows the text of the rubric, and keeps the key of the whole outcome."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=3, part="rubric"))
    claimed = desk.claim(FIRST, queue.number, NAMES["ann"])
    assert claimed.items[0].text.startswith("case_")
    label_all(desk, queue)
    assert {own.part.kind for own in store.labels(FIRST) if own.part is not None} == {"rubric"}
    assert all(own.key for own in store.labels(FIRST))


def judged_parts(score: Score) -> Iterator[Score]:
    """The parts of a score at any depth."""
    for part in score.parts:
        yield part
        yield from judged_parts(part)


@pytest.mark.long
def test_labels_of_parts_are_compared_with_the_parts_of_the_judge(desk: LabelDesk, store: Store) -> None:
    """Rubrics are a row of their own, beside whole outcomes, and each rubric on which people disagree is listed."""
    label_all(desk, desk.open(FIRST, QueueRequest(CRITERION, sample=7)))
    label_all(desk, desk.open(FIRST, QueueRequest(CRITERION, sample=12, part="rubric")), values=(1.0, 0.0, None))
    counts: Counter[tuple[bool, bool]] = Counter()
    places = []
    for label in store.labels(FIRST):
        if label.part is None or label.value is None:
            continue
        (position,) = (position for position, key, _ in store.case_keys(FIRST) if key == label.case)
        (result,) = (own for own in store.results(FIRST, positions=[position]) if own.attempt == label.attempt)
        (outcome,) = (own for own in result.outcomes if own.criterion == CRITERION)
        (value,) = (part.value for part in judged_parts(outcome.score) if part.key == label.part)
        passes = value is not None and value >= (outcome.threshold or 0.0)
        counts[label.value == 1.0, passes] += 1
        if passes != (label.value == 1.0):
            places.append((position, label.attempt, label.part.id))
    view = agreement_view(open_run(FIRST, store=store.url), store)
    whole, rubrics = view.judges
    assert (whole.part, whole.labels, rubrics.part, rubrics.labels) == (None, 7, "rubric", 8)
    assert rubrics.table == [[counts[people, judge] for judge in (True, False)] for people in (True, False)]
    listed = [(own.position, own.attempt, own.part.id) for own in view.disagreements if own.part is not None]
    assert sorted(listed) == sorted(places)
    assert listed


@pytest.mark.long
def test_people_agree_on_parts_and_on_outcomes_apart(desk: LabelDesk, store: Store) -> None:
    """Ann and Ben agree on every outcome, and contradict each other on every rubric."""
    for part, of_ben in ((None, 1.0), ("rubric", 0.0)):
        queue = desk.open(FIRST, QueueRequest(CRITERION, sample=5, part=part, overlap=1.0))  # type: ignore[arg-type]
        label_all(desk, queue, "ann")
        label_all(desk, queue, "ben", (of_ben,))
    whole, rubrics = agreement_of_labelers(open_run(FIRST, store=store.url))
    assert (whole.part, whole.items, whole.raw.value) == (None, 5, 1.0)
    assert (rubrics.part, rubrics.items, rubrics.raw.value) == ("rubric", 5, 0.0)


def test_answers_are_those_of_the_queue(desk: LabelDesk, store: Store) -> None:
    """Yes, no and unsure, or the values of named answers."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=3))
    with pytest.raises(UsageError, match="must be null or 0 or 1"):
        answer(desk, queue, desk.claim(FIRST, queue.number, NAMES["ann"]), value=0.5)
    named = desk.open(FIRST, QueueRequest(CRITERION, sample=3, answers={"wrong": 0.0, "partly": 0.5, "right": 1.0}))
    answer(desk, named, desk.claim(FIRST, named.number, NAMES["ann"]), value=0.5)
    answer(desk, named, desk.claim(FIRST, named.number, NAMES["ann"]), value=None)
    assert [own.value for own in store.labels(FIRST)] == [0.5, None]


def test_a_secret_in_a_note_is_not_stored(desk: LabelDesk, store: Store) -> None:
    """People paste keys, too."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=3))
    secret = "sk-proj-" + "a1B2" * 12
    answer(desk, queue, desk.claim(FIRST, queue.number, NAMES["ann"]), note=f"see {secret}", reference=secret)
    (own,) = store.labels(FIRST)
    assert secret not in own.note + own.reference
    assert "REDACTED" in own.note


@pytest.mark.parametrize(
    ("request_of_queue", "problem"),
    [
        (QueueRequest("final_response_qualty"), "final_response_quality"),
        (QueueRequest(CRITERION, sample=0), "sample: must be a number from 1"),
        (QueueRequest(CRITERION, overlap=1.5), "overlap: must be a share"),
        (QueueRequest(CRITERION, labelers=1), "labelers: must be a number from 2"),
        (QueueRequest(CRITERION, answers={"x": 7.0}), "answers: must be NAME=VALUE"),
        (QueueRequest(CRITERION, part="sentence"), "part: run .* has no scored sentence"),
        (QueueRequest("response_match_score", by="uncertain"), "no outcome .* has two votes"),
        (QueueRequest(CRITERION, by="disagreement"), "on which people disagree"),
    ],
)
def test_a_queue_that_cannot_be_drawn_is_refused(desk: LabelDesk, request_of_queue: QueueRequest, problem: str) -> None:
    """With the option, the problem and what is allowed."""
    with pytest.raises(UsageError, match=problem):
        desk.open(FIRST, request_of_queue)


@pytest.mark.parametrize(
    ("name", "window"), [("", "window-a1"), ("a" * 101, "window-a1"), ("a\u202eb", "window-a1"), ("ann", "x")]
)
def test_a_name_that_cannot_be_read_is_refused(desk: LabelDesk, name: str, window: str) -> None:
    """Names stand in reports."""
    queue = desk.open(FIRST, QueueRequest(CRITERION, sample=3))
    with pytest.raises(UsageError):
        desk.claim(FIRST, queue.number, WindowRequest(name, window))


def test_the_only_judged_criterion_needs_no_name(desk: LabelDesk) -> None:
    """The run has four criteria, and a judge decides one of them."""
    assert desk.open(FIRST, QueueRequest("", sample=3)).criterion == CRITERION
    assert [own.name for own in desk.labels(FIRST).criteria if own.judged] == [CRITERION]

"""The pace finds what the other side allows, in virtual time against simulated servers."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from clock import run
from fairtrial.llm.model import CallError, ExhaustedError, RefusedError, UnsentError
from fairtrial.llm.pacing import Limited, Pace, Paced, Places
from fairtrial.protocols import Model
from fairtrial.records.reply import Prompt, Reply
from fairtrial.testing import ScriptedModel

PROMPT = Prompt(id="p", version="1", text="?")


@dataclass
class Server:
    """Takes a lognormal time with mean 0.4 s; refuses what is over its limit of `rate` a second or `room` at once."""

    rate: int | None = None
    room: int | None = None
    after: float | None = None
    calls: int = 0
    refused: int = 0
    flying: int = 0
    taken: deque[float] = field(default_factory=deque)
    dice: random.Random = field(default_factory=lambda: random.Random(7))

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer or refuse."""
        self.calls += 1
        await asyncio.sleep(0.002)
        if self._too_much(asyncio.get_running_loop().time()):
            self.refused += 1
            raise RefusedError("HTTP 429", overload=True, after=self.after)
        self.flying += 1
        await asyncio.sleep(self.dice.lognormvariate(math.log(0.4) - 0.18, 0.6))
        self.flying -= 1
        return Reply(text=prompt.text)

    def _too_much(self, now: float) -> bool:
        while self.taken and self.taken[0] <= now - 1:
            self.taken.popleft()
        if (self.rate and len(self.taken) >= self.rate) or (self.room and self.flying >= self.room):
            return True
        self.taken.append(now)
        return False


async def load(model: Model, calls: int, pace: Pace | None = None) -> list[Reply | BaseException]:
    """Make that many calls at once."""
    paced = Paced(model, pace or Pace(jitter=random.Random(3).random))
    return await asyncio.gather(*(paced(PROMPT) for _ in range(calls)), return_exceptions=True)


def answered(outcomes: list[Reply | BaseException]) -> int:
    """How many calls got a reply."""
    return sum(isinstance(outcome, Reply) for outcome in outcomes)


def test_without_a_limit_the_pace_doubles() -> None:
    """120 calls of 0.4 s would take 2.4 s with the 20 in flight that it starts with."""
    outcomes, seconds = run(load(Server(), 120))
    assert answered(outcomes) == 120
    assert seconds < 120 * 0.4 / 20


@pytest.mark.long
@pytest.mark.parametrize("after", [None, 1.0])
def test_a_rate_limit_is_found(after: float | None) -> None:
    """10 a second: 1,000 calls within 1.3 of the 100 s that they need, few refusals, every call answered."""
    server = Server(rate=10, after=after)
    outcomes, seconds = run(load(server, 1000))
    assert answered(outcomes) == 1000
    assert seconds <= 130
    assert server.refused <= 20


@pytest.mark.parametrize("after", [None, 1.0])
def test_a_limit_in_flight_is_found(after: float | None) -> None:
    """8 at once: 136 calls within 1.3 of the 6.8 s that they need, every call answered."""
    server = Server(room=8, after=after)
    outcomes, seconds = run(load(server, 136))
    assert answered(outcomes) == 136
    assert seconds <= 1.3 * 136 * 0.4 / 8


def test_a_limit_of_requests_a_minute_is_never_passed() -> None:
    """120 a minute: 19 requests for 16 replies go out half a second apart, although the server would take more."""
    times: list[float] = []

    async def often_refused(_: Prompt) -> str | Exception:
        await asyncio.sleep(0)
        times.append(asyncio.get_running_loop().time())
        return RefusedError("HTTP 500") if len(times) % 5 == 0 else "yes"

    outcomes, _ = run(load(ScriptedModel(often_refused), 16, Pace(most_a_minute=120)))
    assert answered(outcomes) == 16
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert len(times) == 19
    assert min(gaps) >= 0.5 - 1e-9


def test_retry_after_is_honoured() -> None:
    """Nothing goes out before the time that the other side asked for."""
    times: list[float] = []

    async def once_refused(_: Prompt) -> str | Exception:
        await asyncio.sleep(0)
        times.append(asyncio.get_running_loop().time())
        return RefusedError("HTTP 429", overload=True, after=30.0) if len(times) == 1 else "yes"

    outcomes, _ = run(load(ScriptedModel(once_refused), 1, Pace(start=1)))
    assert answered(outcomes) == 1
    assert 30.0 <= times[1] <= 33.0


def test_a_server_that_refuses_everything_ends_the_calls() -> None:
    """All 50 calls fail with the cause, after a bounded number of requests and minutes."""

    async def refuse(_: Prompt) -> str | Exception:
        await asyncio.sleep(0.01)
        return RefusedError("HTTP 429", overload=True)

    model = ScriptedModel(refuse)
    outcomes, seconds = run(load(model, 50))
    assert all("refusals in a row" in str(outcome) for outcome in outcomes)
    assert len(model.prompts) <= 40
    assert seconds < 200


def test_a_wait_beyond_patience_is_not_waited() -> None:
    """A server that asks for an hour is given up at once."""

    async def refuse(_: Prompt) -> str | Exception:
        await asyncio.sleep(0.01)
        return RefusedError("HTTP 429", overload=True, after=3600)

    outcomes, seconds = run(load(ScriptedModel(refuse), 5))
    assert all("asks to wait 3600 s" in str(outcome) for outcome in outcomes)
    assert seconds < 1


def test_a_broken_reply_is_asked_for_again_a_few_times() -> None:
    """Five attempts with growing waits, then the cause."""
    model = ScriptedModel([RefusedError("connection lost")] * 9)
    outcomes, _ = run(load(model, 1))
    assert str(outcomes[0]) == "no reply after 5 attempts: connection lost"
    assert len(model.prompts) == 5


def test_attempts_are_counted() -> None:
    """The reply says how many requests it took."""
    outcomes, _ = run(load(ScriptedModel([RefusedError("lost"), RefusedError("lost"), "yes"]), 1))
    assert isinstance(outcomes[0], Reply)
    assert outcomes[0].attempts == 3


def test_a_call_without_reply_times_out() -> None:
    """Each attempt has a time, and there are five; between them the pace waits, as after other refusals."""

    async def hang(_: Prompt) -> str:
        await asyncio.sleep(1e9)
        return "never"

    outcomes, seconds = run(load(ScriptedModel(hang), 1, Pace(timeout=10, jitter=lambda: 0.5)))
    assert "no reply within 10 s" in str(outcomes[0])
    assert seconds == 5 * 10 + (0.25 + 0.5 + 1 + 2) * 1.05


@dataclass
class Slot:
    """Answers one call at a time, in 20 s each: the oldest first, or any. It works on although nobody waits."""

    choose: Callable[[int], int]
    calls: int = 0
    busy: bool = False
    queue: list[asyncio.Future[None]] = field(default_factory=list)

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer when it is this call's turn."""
        self.calls += 1
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.queue.append(turn)
        self._next()
        await turn
        return Reply(text=prompt.text)

    def _next(self) -> None:
        if self.busy or not self.queue:
            return
        turn = self.queue.pop(self.choose(len(self.queue)))
        self.busy = True
        asyncio.get_running_loop().call_later(20, self._finish, turn)

    def _finish(self, turn: asyncio.Future[None]) -> None:
        self.busy = False
        if not turn.done():
            turn.set_result(None)
        self._next()


@pytest.mark.parametrize("choose", [lambda _: 0, random.Random(1).randrange], ids=["oldest", "any"])
@pytest.mark.parametrize("number", [20, 100])
@pytest.mark.parametrize("timeout", [60.0, 120.0])
def test_a_server_that_answers_one_by_one_is_not_asked_again(
    number: int, choose: Callable[[int], int], timeout: float
) -> None:
    """At most 1.1 of the requests needed, nothing unanswered, within 1.15 of the time that it needs."""
    server = Slot(choose)
    outcomes, seconds = run(load(server, number, Pace(timeout=timeout, jitter=random.Random(3).random)))
    assert answered(outcomes) == number
    assert server.calls <= 1.1 * number
    assert seconds <= 1.15 * number * 20


def test_a_call_that_hangs_times_out_although_others_are_answered() -> None:
    """A server that answers others at once has no queue to work off."""

    async def hang_once(prompt: Prompt) -> str:
        await asyncio.sleep(1e9 if prompt.draw == "1" and len(model.prompts) < 10 else 0.4)
        return "yes"

    async def many() -> Reply:
        paced = Paced(model, Pace(timeout=10))
        others = [paced(Prompt(id="p", version="1", text="?", draw=str(draw))) for draw in range(2, 200)]
        reply, *_ = await asyncio.gather(paced(PROMPT), *others)
        return reply

    model = ScriptedModel(hang_once)
    reply, seconds = run(many())
    assert reply.attempts == 2
    assert seconds < 20


def test_an_account_without_money_ends_the_calls() -> None:
    """The first refusal is the last; calls that wait are not made."""

    async def refuse(_: Prompt) -> str | Exception:
        await asyncio.sleep(1)
        return ExhaustedError("HTTP 429: insufficient_quota")

    model = ScriptedModel(refuse)
    outcomes, _ = run(load(model, 50, Pace(start=1, most=1)))
    assert len(model.prompts) == 1
    assert [type(outcome) for outcome in outcomes] == [ExhaustedError] + [UnsentError] * 49
    assert all(str(outcome) == "HTTP 429: insufficient_quota" for outcome in outcomes)


def test_what_cannot_succeed_is_not_repeated() -> None:
    """A call that fails for good is one request."""
    model = ScriptedModel([CallError("HTTP 400")])
    outcomes, _ = run(load(model, 1))
    assert str(outcomes[0]) == "HTTP 400"
    assert len(model.prompts) == 1


def test_a_row_of_lost_calls_ends_the_calls() -> None:
    """A key that is refused is not tried four hundred times."""
    model = ScriptedModel(lambda _: CallError("HTTP 401"))
    outcomes, _ = run(load(model, 400))
    assert len(model.prompts) <= 20 + 20
    assert "failed calls in a row: HTTP 401" in str(outcomes[-1])


def test_no_more_than_most_are_in_flight() -> None:
    """The user's bound holds, whatever the other side would allow."""
    most = 0
    server = Server()

    async def watched(prompt: Prompt) -> str:
        nonlocal most
        await server(prompt)
        most = max(most, server.flying + 1)
        return "yes"

    run(load(ScriptedModel(watched), 100, Pace(start=4, most=4)))
    assert most == 4


def test_a_criterion_may_bound_its_own_calls() -> None:
    """Six calls of a second to a panel of two, two at a time, take three seconds."""

    async def second(_: Prompt) -> str:
        await asyncio.sleep(1)
        return "yes"

    places = asyncio.Semaphore(2)
    panel = [Limited(ScriptedModel(second), places) for _ in range(2)]

    async def six() -> None:
        await asyncio.gather(*(model(PROMPT) for model in panel for _ in range(3)))

    assert run(six())[1] == 3.0


def test_a_cancelled_call_gives_its_place_back() -> None:
    """With one place, the second call goes out when the first is cancelled."""

    async def cancel_first() -> Reply:
        async def slow(prompt: Prompt) -> str:
            await asyncio.sleep(100 if prompt.draw == "1" else 1)
            return "yes"

        paced = Paced(ScriptedModel(slow), Pace(start=1, most=1))
        first = asyncio.ensure_future(paced(PROMPT))
        second = asyncio.ensure_future(paced(Prompt(id="p", version="1", text="?", draw="2")))
        await asyncio.sleep(1)
        first.cancel()
        return await second

    reply, seconds = run(cancel_first())
    assert (reply.text, seconds) == ("yes", 2.0)


def test_the_paces_of_a_run_share_their_places_fairly() -> None:
    """Of two models with 30 calls each, ten places: never more than ten in flight, and neither waits for the other."""
    flying: Counter[str] = Counter()
    most: list[int] = []
    ended: list[str] = []

    async def answer(prompt: Prompt) -> Reply:
        flying[prompt.id] += 1
        most.append(flying.total())
        await asyncio.sleep(0.4)
        flying[prompt.id] -= 1
        ended.append(prompt.id)
        return Reply(text="")

    async def both() -> None:
        places = Places(10)
        paces = {name: Paced(answer, Pace(places=places)) for name in "ab"}
        prompts = {name: Prompt(id=name, version="1", text="?") for name in "ab"}
        await asyncio.gather(*(paces[name](prompts[name]) for name in "ab" for _ in range(30)))

    run(both())
    assert max(most) == 10
    assert 10 <= Counter(ended[:40])["b"] <= 30


def test_a_call_that_a_closed_pace_holds_back_is_told_from_one_that_failed() -> None:
    """Only the first was not made."""
    pace = Pace(losses=1)
    outcomes, _ = run(load(ScriptedModel([CallError("HTTP 401")]), 1, pace))
    later, _ = run(load(ScriptedModel([]), 1, pace))
    assert [type(one) for one in (*outcomes, *later)] == [CallError, UnsentError]

"""EvalSet x Agent -> recordings: holds the conversations."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Collection, Iterable

from assay.concurrency import concurrently
from assay.data.recording import Failure, Recording
from assay.data.seams import Agent, Session
from assay.data.trace import Durations, Invocation, Step, Trace, Usage, split_reply
from assay.data.work import Work
from assay.errors import AgentError
from assay.text.display import shortened

_LONGEST_TRACEBACK = 20_000


async def record(
    works: Iterable[Work],
    agent: Agent,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    held: Collection[tuple[int, int]] = (),
) -> AsyncIterator[tuple[Work, Recording]]:
    """Yield a recording of each attempt at each case, in the order of completion, at most `concurrency` at once.

    `reply_timeout` is in seconds. Conversations in `held` (position, attempt) are not held again. Whatever an
    agent does ends its own conversation only.
    """

    async def planned() -> AsyncIterator[tuple[Work, int]]:
        for work in works:
            for attempt in range(1, attempts + 1):
                if (work.position, attempt) not in held:
                    yield work, attempt

    async def hold(plan: tuple[Work, int]) -> tuple[Work, Recording]:
        work, attempt = plan
        return work, await _converse(work, agent, attempt, reply_timeout)

    async for pair in concurrently(planned(), hold, limit=concurrency):
        yield pair


async def _converse(work: Work, agent: Agent, attempt: int, reply_timeout: float | None) -> Recording:
    """Hold one conversation by the script of its case; what came before a break is kept."""
    done: list[Invocation] = []
    steps: list[Step] = []
    usages: list[Usage] = []
    asked: Invocation | None = None
    try:
        async with agent(work.case, None) as session:
            for asked in work.case.conversation or ():
                steps, usages = [], []
                done.append(await _reply(session, asked, steps, usages, reply_timeout))
                asked = None  # noqa: PLW2901  (answered: a break from here on is not in this invocation)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever an agent raises is its own failure)
        if asked is not None:
            done.append(Invocation(asked.user, tuple(steps), id=asked.id, usages=tuple(usages) or None))
        failure = Failure("agent", _cause(error), _traceback(error))
        return Recording(work.id, Trace(tuple(done), work.id), attempt, failure, "failure")
    return Recording(work.id, Trace(tuple(done), work.id), attempt)


async def _reply(
    session: Session, asked: Invocation, steps: list[Step], usages: list[Usage], reply_timeout: float | None
) -> Invocation:
    """Send a message and return the finished invocation; `steps` and `usages` hold what came, should it break."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(reply_timeout) as limit:
            async for item in session.send(asked.query):
                if isinstance(item, Usage):
                    usages.append(item)
                else:
                    steps.append(item)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise AgentError(f"no reply within {reply_timeout:g} seconds") from error
    before, reply = split_reply(steps)
    return Invocation(
        asked.user,
        before,
        reply,
        asked.id,
        tuple(usages) or None,
        Durations(time.perf_counter() - started),
        about=session.about,
    )


def _cause(error: BaseException) -> str:
    if isinstance(error, AgentError):
        return str(error)
    return shortened(f"{type(error).__name__}: {error}".rstrip(": "), 2000)


def _traceback(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    return text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"

"""Record conversations of an eval set with an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable

from fairtrial.agents.restarts import Restarts
from fairtrial.errors import SimulatorError, StoreError, UsageError
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.protocols import Agent
from fairtrial.recording.error_descriptions import find_cause
from fairtrial.recording.held_conversation import HeldConversation
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.system.concurrency import concurrently


async def record(
    planned_cases: Iterable[PlannedCase],
    agent: Agent,
    *,
    attempts: int = 1,
    concurrency: int = 8,
    reply_timeout: float | None = None,
    skip: Collection[tuple[int, int]] = (),
    note: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Pair]:
    """Yield a recording of each attempt at each case, in the order of completion, at most `concurrency` at once.

    The user's messages come from the fixed conversation of a case, or from the simulator if the case is a scenario.
    `reply_timeout` is in seconds. Each result of a tool lists the injections of a simulated environment. If the
    environment fails, its conversation ends. Pairs of position and attempt in `skip` are left out. An error of an
    agent or a simulator ends its own conversation only.

    If the first call of a conversation fails with a status that may pass, the conversation begins again. `note`
    receives how often that happened, at the end.
    """
    restarts = Restarts()

    async def plan_attempts() -> AsyncIterator[tuple[PlannedCase, int]]:
        for planned_case in planned_cases:
            first = planned_case.first_attempt
            for attempt in range(first, first + (planned_case.attempts or attempts)):
                if (planned_case.position, attempt) not in skip:
                    yield planned_case, attempt

    async def record_attempt(plan: tuple[PlannedCase, int]) -> Pair:
        planned_case, attempt = plan
        conversation = HeldConversation(planned_case, attempt, reply_timeout, restarts)
        script = planned_case.case.conversation
        requests = (
            _play_script(script) if script is not None else _simulate_messages(planned_case, attempt, conversation)
        )
        return planned_case, await conversation.record(agent, requests)

    async for pair in concurrently(plan_attempts(), record_attempt, limit=concurrency):
        yield pair
    if restarts.summary:
        note(restarts.summary)


async def _play_script(script: Iterable[Invocation]) -> AsyncIterator[Invocation]:
    for invocation in script:
        yield Invocation(invocation.user, id=invocation.id)


async def _simulate_messages(
    planned_case: PlannedCase, attempt: int, conversation: HeldConversation
) -> AsyncIterator[Invocation]:
    """Yield the messages of a simulated user, until the user stops or the cap is reached."""
    if planned_case.users is None:
        raise SimulatorError("the case is a scenario, and no simulator plays its user")
    user = conversation.user = planned_case.users(planned_case.case, attempt)
    conversation.equip(user)
    while planned_case.cap is None or len(conversation.invocations) < planned_case.cap:
        try:
            message = await user.next_message(Trace(tuple(conversation.invocations)))
        except (UsageError, StoreError) as error:
            # For example, a cassette lacks the call: every other conversation would fail in the same way.
            conversation.fatal = error
            raise
        except Exception as error:
            raise SimulatorError(find_cause(error)) from error
        if message is None:
            conversation.ending = "stop"
            return
        yield Invocation(Message(message))
    conversation.ending = "cap"

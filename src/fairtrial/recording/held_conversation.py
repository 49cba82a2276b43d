"""Hold and record one conversation, whatever the agent and the simulated user do."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from fairtrial.agents.model_requests import FailedRequests, describe_failed, failed_requests
from fairtrial.agents.outages import find_outage
from fairtrial.agents.restarts import FirstCall, Restarts
from fairtrial.agents.sending import send_message
from fairtrial.errors import AgentError, CaseError, SimulatedToolError, StoreError, UsageError
from fairtrial.protocols import Agent, HidesCalls, ReportsGaps, Session, Simulator, TakesEarlierTurns
from fairtrial.recording.error_descriptions import (
    SIDES,
    find_cause,
    find_place,
    find_side,
    shorten_traceback,
    unwrap_group,
)
from fairtrial.recording.invocation_builder import InvocationBuilder
from fairtrial.records.attempt import EndedBy, Failure, Recording
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Json, Record
from fairtrial.records.trace import About, Invocation, Message, Trace
from fairtrial.simulate.observed_environment import ObservedEnvironment, read_usage
from fairtrial.system.concurrency import ends_the_run
from fairtrial.text.display import count, describe_error

if TYPE_CHECKING:
    from fairtrial.planned_case import PlannedCase
    from fairtrial.recording.message_pace import MessagePace
    from fairtrial.records.model_usage import ModelUsage

_GRACE = 1.0
"""Seconds that an agent may take to stop after its time limit. After that, the run goes on without it."""
_REFUSAL = 429
_HIDDEN_CALLS = "the answers of the agent have no place for calls"
_UNFINISHED = Failure("infrastructure", "the run ended before the conversation did")
N = TypeVar("N", bound=Record)


def _take_exception(task: asyncio.Future[Recording]) -> None:
    """Keep asyncio from writing that nobody asked for an exception: an interruption ends the loop before."""
    if not task.cancelled():
        task.exception()


@dataclass(frozen=True)
class Limits:
    """The limits of each conversation, and the functions that are called about it.

    `reply_timeout` and `conversation_timeout` are in seconds. `pace` is shared by all conversations. `on_turn` receives
    the recording so far after each reply that a further message may follow.
    """

    reply_timeout: float | None = None
    conversation_timeout: float | None = None
    pace: MessagePace | None = None
    on_turn: Callable[[Recording], None] | None = None


class HeldConversation:
    """One conversation, up to its current invocation. If it breaks, the invocations so far are recorded."""

    def __init__(
        self,
        planned_case: PlannedCase,
        attempt: int,
        limits: Limits,
        restarts: Restarts,
        earlier: Recording | None = None,
    ) -> None:
        self.invocations: list[Invocation] = []
        self.start = time.monotonic()
        self.ending: EndedBy = "script"
        self.user: Simulator | None = None
        self.fatal: UsageError | StoreError | None = None
        self._planned_case = planned_case
        self._attempt = attempt
        self._limits = limits
        self._remaining_seconds = limits.conversation_timeout
        self._earlier = earlier
        self._earlier_usage: ModelUsage | None = None
        self._restarts = restarts
        self._first_call = FirstCall(restarts)
        self._request: Invocation | None = None
        self._started = 0.0
        self._builder = InvocationBuilder()
        self._gap = ""
        self._failed_requests = FailedRequests()
        self._environment: ObservedEnvironment | None = None
        self._final_state: dict[str, Json] | None = None
        self._session: Session | None = None
        self._stuck = asyncio.Event()

    async def record(self, agent: Agent, requests: AsyncIterator[Invocation]) -> Recording:
        """Hold the conversation and return its recording, even if the agent does not stop at its time limit.

        For example, a framework waits for a tool in a thread, and a thread cannot be stopped.
        """
        running = asyncio.ensure_future(self._hold(agent, requests))
        running.add_done_callback(_take_exception)
        stuck = asyncio.ensure_future(self._stuck.wait())
        try:
            await asyncio.wait({running, stuck}, return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else self._record_failure(self._timeout_error())
        finally:
            stuck.cancel()
            if not running.done():
                running.cancel()
                await asyncio.wait({running}, timeout=0 if self._stuck.is_set() else _GRACE)

    @property
    def progress(self) -> str:
        """The place of the conversation in words: the message, and the steps since it."""
        steps = self._builder.steps
        return f"message {len(self.invocations) + 1}, {count(len(steps), 'step')}"

    def equip(self, user: Simulator) -> None:
        """Give a simulated user the tools that the environment offers."""
        if self._environment is not None:
            self._environment.equip(user)

    async def _hold(self, agent: Agent, requests: AsyncIterator[Invocation]) -> Recording:
        """Send each request and wait for its reply, until the end or a failure."""
        try:
            self._environment = self._open_environment()
            async with AsyncExitStack() as stack:
                session = await self._open(agent, stack)
                self._take_earlier_turns(session)
                script = self._planned_case.case.conversation
                skip_count = len(self.invocations) if script is not None else 0
                async for request in requests:
                    if skip_count > 0:
                        skip_count -= 1
                        continue
                    self._request = request
                    session, invocation = await self._reply_or_restart(agent, stack, session, request)
                    self.invocations.append(self._without_hidden_calls(session, invocation))
                    self._request = None
                    self._add_about(session.about)
                    if self._limits.on_turn is not None:
                        self._limits.on_turn(self._recording(_UNFINISHED, "failure"))
            self._add_state()
        except BaseException as raised:  # noqa: BLE001  (the code of the user may raise anything)
            error = unwrap_group(raised)
            if ends_the_run(error) or error is self.fatal:
                raise error from error.__cause__
            failure = self._environment.failure if self._environment is not None else None
            if isinstance(failure, UsageError | StoreError):
                raise failure from None
            # This is the boundary around the user's code: any other exception is a failure of this conversation.
            error = failure or error
            return self._record_expected_failure(error) if self._is_expected(error) else self._record_failure(error)
        expected = self._planned_case.case.expected_failure
        if expected:
            return self._record_failure(AgentError(f"the case expects the failure {expected!r}, and nothing failed"))
        return self._recording(None, self.ending)

    def _without_hidden_calls(self, session: Session, invocation: Invocation) -> Invocation:
        """Return an invocation whose calls are unknown if the session cannot show them. Texts before the reply stay."""
        if invocation.tool_calls or not isinstance(session, HidesCalls) or not session.hides_calls:
            return invocation
        if not invocation.steps:
            return replace(invocation, steps=None)
        self._gap = _HIDDEN_CALLS
        return invocation

    def _take_earlier_turns(self, session: Session) -> None:
        """Go on behind the turns of an interrupted attempt, if the session can. Otherwise the attempt begins again.

        An environment has a state of its own, which nobody can restore.
        """
        earlier, self._earlier = self._earlier, None
        script = self._planned_case.case.conversation
        turns = [] if earlier is None else _finished_turns(earlier, script)
        if earlier is None or not turns:
            return
        # a user in Python may keep a state, too
        may_go_on = self._environment is None and (script is not None or self._has_simulated_user())
        if (
            may_go_on
            and isinstance(session, TakesEarlierTurns)
            and session.take_earlier_turns(turns, earlier.trace.final_state)
        ):
            self.invocations[:] = turns
            self._final_state = earlier.trace.final_state
            self._earlier_usage = earlier.simulator
        else:
            self._restarts.add_resumed()

    def _has_simulated_user(self) -> bool:
        from fairtrial.simulate.user import SimulatedUsers

        return isinstance(self._planned_case.users, SimulatedUsers)

    def _is_expected(self, error: BaseException) -> bool:
        """Whether the case expects an error of the agent, for example of a guardrail. An outage never counts."""
        expected = self._planned_case.case.expected_failure
        return bool(expected) and find_side(error) == "agent" and expected in find_cause(error)

    def _record_expected_failure(self, error: BaseException) -> Recording:
        """Return a recording that did not break. The error is the reply to the message that caused it."""
        if self._request is not None:
            self._builder.add(Message(find_cause(error)))
            self.invocations.append(self._builder.with_reply(self._request, time.perf_counter() - self._started))
        return self._recording(None, "expected_failure")

    async def _open(self, agent: Agent, stack: AsyncExitStack) -> Session:
        """Open a session. A failure with a status that may pass is tried again."""
        while True:
            try:
                async with self._time_limit():
                    opened = agent(self._planned_case.case, self._environment)
                    self._session = await stack.enter_async_context(opened)
                    return self._session
            except UsageError as error:
                self.fatal = error  # for example of a factory: every other conversation would fail in the same way
                raise
            except Exception as error:
                if type(error) in SIDES or not await self._first_call.wait_for_next_try(error):
                    raise

    async def _reply_or_restart(
        self, agent: Agent, stack: AsyncExitStack, session: Session, request: Invocation
    ) -> tuple[Session, Invocation]:
        """Send a message, and return the finished invocation and its session.

        A conversation whose first call failed begins again with a new session. A later call is repeated only if a
        server refused it before it worked on it: the tools may have changed the world otherwise.
        """
        while True:
            self._builder = InvocationBuilder(self._environment)
            try:
                return session, await self._reply(session, request)
            except Exception as error:
                may_repeat = self._builder.is_empty and type(error) not in SIDES and self._may_repeat(session, error)
                if not may_repeat or not await self._first_call.wait_for_next_try(error):
                    raise
            await stack.aclose()
            session = await self._open(agent, stack)
            if self.invocations and isinstance(session, TakesEarlierTurns):
                session.take_earlier_turns(self.invocations, self._final_state)

    def _may_repeat(self, session: Session, error: Exception) -> bool:
        """Whether a failed message can go to a new session. Of later messages that is a refusal with the status 429."""
        if not self.invocations:
            return True
        outage = find_outage(error)
        is_refusal = outage is not None and outage.status == _REFUSAL
        return is_refusal and self._environment is None and isinstance(session, TakesEarlierTurns)

    async def _reply(self, session: Session, request: Invocation) -> Invocation:
        """Send a message and return the finished invocation."""
        self._started = time.perf_counter()
        pace = nullcontext() if self._limits.pace is None else self._limits.pace.turn()
        async with pace:
            self._started = time.perf_counter()
            messages = send_message(session, request.user.text, request.user.parts)
            with failed_requests() as self._failed_requests:
                async with self._time_limit(), aclosing(messages) as items:
                    async for item in items:
                        self._builder.add(_as_stored(item))
        self._builder.check()
        if self._failed_requests:
            if self._builder.has_content:
                self._restarts.add_reply(describe_failed(self._failed_requests))
            elif self._failed_requests.is_latest:
                error = next(iter(self._failed_requests.values()))
                raise AgentError(f"no reply, because {describe_failed(self._failed_requests)}") from error
        return self._builder.with_reply(request, time.perf_counter() - self._started)

    @asynccontextmanager
    async def _time_limit(self) -> AsyncIterator[None]:
        """Raise AgentError if the block takes longer than a limit allows. Set `_stuck` if it does not stop then."""
        limit, start = self._limit, time.monotonic()
        watch = asyncio.get_running_loop().call_later(limit + _GRACE, self._stuck.set) if limit is not None else None
        try:
            async with asyncio.timeout(limit) as waiting:
                yield
        except TimeoutError as error:
            if not waiting.expired():
                raise
            raise self._timeout_error() from error
        finally:
            if watch is not None:
                watch.cancel()
            if self._remaining_seconds is not None:
                self._remaining_seconds = max(0.0, self._remaining_seconds - (time.monotonic() - start))

    @property
    def _limit(self) -> float | None:
        """The seconds that the next reply may take: those of a reply, or what is left for the conversation."""
        limits = [limit for limit in (self._limits.reply_timeout, self._remaining_seconds) if limit is not None]
        return min(limits) if limits else None

    def _timeout_error(self) -> CaseError:
        whole = self._limits.conversation_timeout
        problem = f"no reply within {self._limits.reply_timeout or 0:g} seconds"
        if whole is not None and (self._remaining_seconds == 0 or self._limits.reply_timeout is None):
            problem = f"the replies of the conversation took longer than {whole:g} seconds together"
        if self._environment is not None and self._environment.asking:
            return SimulatedToolError(f"{problem}: the model that plays {self._environment.asking!r} did not answer")
        return AgentError(problem)

    def _recording(self, failure: Failure | None, ending: EndedBy) -> Recording:
        return Recording(
            self._planned_case.case.id,
            self._trace,
            self._attempt,
            failure,
            ending,
            _add_usage(self._earlier_usage, read_usage(self.user)),
            self._environment.model_usage if self._environment is not None else None,
            self._planned_case.eval_set,
            self._planned_case.mutation,
        )

    def _open_environment(self) -> ObservedEnvironment | None:
        environments = self._planned_case.environments
        if environments is None:
            return None
        try:
            return ObservedEnvironment(environments(self._planned_case.case, self._attempt))
        except Exception as error:
            raise SimulatedToolError(find_cause(error)) from error

    @property
    def _trace(self) -> Trace:
        session = self._planned_case.case.session_input
        session_id = session.session_id if session else ""
        gap = self._session.incomplete if isinstance(self._session, ReportsGaps) else ""
        name = session_id or self._planned_case.name
        return Trace(tuple(self.invocations), name, self._final_state, incomplete=gap or self._gap)

    def _add_about(self, about: About | None) -> None:
        """Add the description of the agents to the last invocation, and keep the state for the end of the trace."""
        if about is not None:
            about = _as_stored(about)
            self._final_state = about.final_state
            self.invocations[-1] = replace(
                self.invocations[-1], about=replace(about, final_state=None) if about.agents else None
            )

    def _add_state(self) -> None:
        """Add the state of the environment to the state of the session."""
        state = self._environment.report_state() if self._environment is not None else {}
        if state:
            self._final_state = (self._final_state or {}) | state

    def _record_failure(self, error: BaseException) -> Recording:
        tries = "" if self.invocations else self._first_call.tries
        if self._request is not None:
            self.invocations.append(self._builder.without_reply(self._request))
        cause = f"{find_cause(error)}{find_place(error)}{tries}"
        if self._failed_requests and find_side(error) == "agent" and "raised while handling" not in cause:
            cause = f"{cause}; before it, {describe_failed(self._failed_requests)}"
        expected = self._planned_case.case.expected_failure
        if expected and expected not in cause:
            cause = f"{cause}; the case expects the failure {expected!r}"
        return self._recording(Failure(find_side(error), cause, shorten_traceback(error)), "failure")


def _add_usage(first: ModelUsage | None, second: ModelUsage | None) -> ModelUsage | None:
    return first + second if first is not None and second is not None else first or second


def _finished_turns(earlier: Recording, script: Sequence[Invocation] | None) -> list[Invocation]:
    """Return the turns of an attempt before the one that broke. They have to be those of the script."""
    turns = list(itertools.takewhile(lambda turn: turn.final_response is not None, earlier.trace.invocations))
    if script is None:
        return turns
    is_same = len(turns) <= len(script) and all(
        turn.user == message.user for turn, message in zip(turns, script, strict=False)
    )
    return turns if is_same else []


def _as_stored(item: N) -> N:
    """Return an item as the store returns it, so that scores are the same now and after a resume.

    Raises AgentError if the item is not JSON, for example if it holds an object or half of a surrogate pair.
    """
    try:
        return json_decoder(type(item)).decode(msgspec.json.encode(item))
    except Exception as error:
        raise AgentError(f"a {type(item).__name__} must be JSON: {describe_error(error)}") from error

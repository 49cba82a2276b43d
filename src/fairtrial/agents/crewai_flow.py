"""Sessions with CrewAI flows. Each user message is a kickoff, and hooks observe crews and models."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_origin

from fairtrial.agents.function import result_in_thread
from fairtrial.agents.graphs.graph_fields import is_text, list_types
from fairtrial.agents.observed_framework import ObservedSession, Opening
from fairtrial.agents.observers.crewai_observer import EXTRA, CrewObserver, collect_inputs, read_system, text_of_output
from fairtrial.agents.plain import as_text
from fairtrial.errors import UsageError
from fairtrial.records.trace import AgentDetails, Message, Part, Usage
from fairtrial.system.importing import import_extra
from fairtrial.system.replaced_methods import replace_method

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

_MESSAGE = "message"
_NO_TEXTS = (int, float, bool, list, dict, tuple, set, frozenset, None, type(None))
_observe: contextvars.ContextVar[Callable[[Any], None] | None] = contextvars.ContextVar("observe", default=None)


class FlowSession(ObservedSession):
    """One conversation, with a flow of its own. The state of the flow lasts from message to message."""

    def __init__(self, opening: Opening) -> None:
        self._flow = flow = opening.thing
        super().__init__(opening, str(flow.name or type(flow).__name__))
        self._inputs = collect_inputs(opening)
        self._crew_observer = CrewObserver(self._observer)
        self._loop = asyncio.get_running_loop()
        self._message_input = str(opening.options.get("message") or "") or _message_input(flow, self._inputs)
        self._error: Exception | None = None
        self._running: asyncio.Task[Any] | None = None
        self._question: tuple[str, asyncio.Future[str]] | None = None
        self._paused = asyncio.Event()
        flow.suppress_flow_events = True
        flow.input_provider = _Asking(self._ask)
        # A step with `human_feedback` would read the answer from the terminal.
        object.__setattr__(flow, "_request_human_feedback", self._ask_for_feedback)
        _let_agents_report()

    def _state(self) -> Json:
        state: Json = self._flow.state
        return state

    def _declare(self) -> Iterable[AgentDetails]:
        """Return the flow. Its agents are made in its steps, so that nothing is known of them before."""
        return (AgentDetails(self._name, str(type(self._flow).__doc__ or "").strip()),)

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:  # noqa: ARG002
        """Run the flow in a thread of its own. If it asked the user, the message is the answer."""
        self._crew_observer.latest = None
        self._paused.clear()
        if self._question is not None:
            _, answer = self._question
            self._question = None
            answer.set_result(message)
        else:
            self._running = asyncio.create_task(result_in_thread(lambda: self._kickoff(message)))
            self._running.add_done_callback(lambda _: self._paused.set())
        await self._paused.wait()
        return self._reply()

    async def close(self) -> None:
        """Let no model and no tool begin, and answer nothing any more."""
        self._crew_observer.close()
        if self._question is not None:
            self._question[1].cancel()
        if self._running is not None:
            self._running.cancel()

    def _reply(self) -> Iterable[Item]:
        """Return the question that waits, or the output of the flow."""
        if self._question is not None:
            return (Message(self._question[0], self._name),)
        if self._running is None:
            return ()
        if self._error is not None:
            raise self._error
        output = self._running.result()
        if isinstance(output, Exception):
            raise self._observer.refuse(f"the flow waits for feedback from elsewhere: {output}")
        text = text_of_output(output)
        return () if self._crew_observer.has_said(text) else (Message(text, self._name),)

    def _kickoff(self, message: str) -> Any:
        import_extra("crewai.events.utils.console_formatter", EXTRA).set_suppress_console_output(True)
        dispatch = import_extra("crewai.hooks.dispatch", EXTRA)
        points = dispatch.InterceptionPoint
        token = _observe.set(self._observe)
        hooks = {points.EXECUTION_START: [self._begin_crew], points.PRE_MODEL_CALL: [self._note_request]}
        hooks[points.POST_MODEL_CALL] = [self._note_response]
        # Later kickoffs would undo what the flow has changed.
        inputs, self._inputs = self._inputs, {}
        try:
            with dispatch.scoped_hooks(hooks):
                return self._flow.kickoff(inputs={**inputs, self._message_input: message})
        finally:
            _observe.reset(token)

    def _begin_crew(self, context: Any) -> None:
        if context.crew is not None:
            self._observe(context.crew)

    def _observe(self, thing: Any) -> None:
        """Observe a crew or an agent that a step of the flow begins. CrewAI hides the errors of hooks."""
        try:
            self._crew_observer.observe_once(thing)
        except UsageError as error:
            self._error = error
            raise import_extra("crewai.hooks.dispatch", EXTRA).HookAborted(str(error)) from error

    def _note_request(self, context: Any) -> None:
        """Note a request of the flow itself. Agents report their own."""
        if context.agent is None and context.executor is None:
            system = read_system(context.messages)
            self._loop.call_soon_threadsafe(self._observer.note_request, self._name, system, ())

    def _note_response(self, context: Any) -> None:
        """Note a response to the flow itself. CrewAI counts its tokens for all flows together."""
        if context.agent is None and context.executor is None:
            usage = Usage(model=str(getattr(context.llm, "model", "")))
            self._loop.call_soon_threadsafe(self._observer.note, usage)

    async def _wait_for_answer(self, question: str) -> str:
        self._question = (question, self._loop.create_future())
        self._paused.set()
        return await self._question[1]

    def _ask(self, question: str) -> str:
        """Ask the user in the thread of the flow."""
        return asyncio.run_coroutine_threadsafe(self._wait_for_answer(question), self._loop).result()

    def _ask_for_feedback(self, message: str, output: Any, *_: Any, **__: Any) -> str:
        return self._ask(f"{as_text(output)}\n\n{message}")


class _Asking:
    """The provider of inputs of a flow."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask

    def request_input(self, message: str, flow: Any, metadata: dict[str, Any] | None = None) -> str:  # noqa: ARG002
        """Return the answer of the user."""
        return self._ask(message)


def _message_input(flow: Any, inputs: dict[str, Any]) -> str:
    """Return the field of the flow's state that gets the message of the user."""
    fields = getattr(type(flow.state), "model_fields", None)
    if fields is None or (_MESSAGE in fields and _may_be_text(fields[_MESSAGE].annotation)):
        return _MESSAGE
    names = [str(name) for name in fields if name != "id" and name not in inputs]
    texts = [name for name in names if is_text(fields[name].annotation)]
    if len(texts) == 1:
        return texts[0]
    raise UsageError(
        "the state of the flow needs a field for the text of the user's message, for example message: str; "
        f"its fields are {', '.join(names) or 'none'}; the factory can name one: (flow, {{'message': 'NAME'}})",
        code="unusable-agent",
    )


def list_missing_fields(flow: type) -> list[str]:
    """Return the fields without a default in the state of a class of flows, which begins each flow by itself."""
    default = getattr(getattr(flow, "model_fields", {}).get("initial_state"), "default", None)
    kinds = (getattr(flow, "_initial_state_t", None), getattr(flow, "initial_state", default))
    kind = next((kind for kind in kinds if isinstance(kind, type)), None)
    fields = getattr(kind, "model_fields", None)
    return [str(name) for name, own in (fields or {}).items() if name != "id" and own.is_required()]


def gives_own_state(flow: type) -> bool:
    """Whether a class of flows may give its state in an `__init__` of its own."""
    own = (base for base in flow.__mro__ if base.__module__.partition(".")[0] not in ("crewai", "pydantic", "builtins"))
    return any("__init__" in vars(base) for base in own)


def _may_be_text(annotation: Any) -> bool:
    """Whether a field may take a text. A type that is not known, for example a class with a validator, may do so."""
    members = (get_origin(member) or member for member in list_types(annotation))
    return any(member not in _NO_TEXTS and not hasattr(member, "model_fields") for member in members)


def _let_agents_report() -> None:
    """Let agents report to the conversation in whose context they begin. CrewAI has no hook for an agent alone."""

    def make(prepare: Any) -> Any:
        @functools.wraps(prepare)
        def prepare_observed(self: Any, *args: Any, **options: Any) -> Any:
            observe = _observe.get()
            if observe is not None:
                observe(self)
            return prepare(self, *args, **options)

        return prepare_observed

    replace_method(import_extra("crewai", EXTRA).Agent, "_prepare_kickoff", make)

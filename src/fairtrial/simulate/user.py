"""A simulated user who follows a plan, played by a language model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.errors import ConfigError, SimulatorError
from fairtrial.llm.model import NamedModel
from fairtrial.llm.prompts import Templates
from fairtrial.records.contents import readable
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Trace
from fairtrial.simulate.instructions import custom_prompt, validate
from fairtrial.simulate.personas import find_persona
from fairtrial.simulate.user_options import KEY, UserOptions
from fairtrial.text.display import compact, shorten
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.llm.model_pool import ModelPool
    from fairtrial.protocols import Model, OffersUserTools
    from fairtrial.records.case import EvalCase, Persona, Scenario
    from fairtrial.records.record import Json
    from fairtrial.records.reply import Prompt

_MARK = "CALL"
_LONGEST = 10_000
"""The number of characters of an answer in the prompt."""
MOST_CALLS = 20
"""The most calls of a user before a message."""


class UserTools:
    """The tools of one simulated user. `environment` answers the calls."""

    def __init__(self, environment: OffersUserTools) -> None:
        self._environment = environment
        self._lines: defaultdict[int, list[str]] = defaultdict(list)

    @property
    def declarations(self) -> str:
        """The declarations of the tools, one a line."""
        return "\n".join(compact(declared) for declared in self._environment.user_tools)

    @property
    def lines(self) -> Mapping[int, Sequence[str]]:
        """The calls and their answers, by the number of the user's message (from 0) that they came before."""
        return self._lines

    def use(self, text: str, turn: int) -> bool:
        """Make the call in a text of the user's model, and return whether the text is one.

        Raises SimulatorError if the text begins like a call and cannot be read, or after too many calls in a turn.
        """
        if not text.startswith(_MARK):
            return False
        if len(self._lines[turn]) >= MOST_CALLS:
            raise SimulatorError(f"the simulated user called {MOST_CALLS} tools without a message")
        call = _call_in(text.removeprefix(_MARK).strip())
        answer = shorten(compact(self._environment.answer_user(call)), _LONGEST)
        self._lines[turn].append(f"your tool {call.name} with {compact(call.args)} answered {answer}")
        return True


def _call_in(text: str) -> ToolCall:
    try:
        raw = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raw = None
    args = raw.get("args", {}) if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or not isinstance(args, dict):
        raise SimulatorError(f"the simulated user made a call that cannot be read: {shorten(text, 200)}")
    return ToolCall(raw["name"], args)


TEMPLATES = Templates("fairtrial.simulate")
_NO_CALLS: Mapping[int, Sequence[str]] = {}


@dataclass(frozen=True)
class SimulatedUsers:
    """Users played by a language model, one for each conversation."""

    model: Model
    options: UserOptions = field(default_factory=UserOptions)

    def connect_models(self, pool: ModelPool) -> SimulatedUsers:
        """Return the users with the model of a run behind them."""
        return SimulatedUsers(pool.connected(self.model), self.options) if isinstance(self.model, NamedModel) else self

    def check(self, cases: Sequence[EvalCase]) -> None:
        """Raise ConfigError if a case cannot be simulated, before anything runs."""
        for case in cases:
            check_persona(case)
            template = self.options.custom_instructions
            if case.scenario is not None and template is not None:
                try:
                    validate(template, persona=case.scenario.persona is not None)
                    self(case, 1).prompt(Trace())
                except (ConfigError, SimulatorError) as error:
                    place = f"/{KEY}/custom_instructions"
                    raise ConfigError(f"{place}: case {case.id!r}: {error}") from None

    def __call__(self, case: EvalCase, attempt: int) -> SimulatedUser:
        """Return the user of one conversation."""
        if case.scenario is None:
            raise SimulatorError(f"case {case.id!r} has no scenario to simulate")
        persona = find_persona(case.scenario, stop_signal=self.options.stop_signal)
        return SimulatedUser(self.model, self.options, case.id, case.scenario, attempt, persona)


class SimulatedUser:
    """The user of one conversation, played by a language model. `model_usage` is its usage so far."""

    def __init__(
        self,
        model: Model,
        options: UserOptions,
        case_id: str,
        scenario: Scenario,
        attempt: int,
        persona: Persona | None,
    ) -> None:
        self._model = model
        self._options = options
        self._case_id = case_id
        self._scenario = scenario
        self._attempt = attempt
        self._persona = persona
        self._tools: UserTools | None = None
        self.model_usage = ModelUsage()

    def take_tools(self, environment: OffersUserTools) -> None:
        """Use the tools that the environment offers the user. Custom instructions do not speak of tools."""
        if self._options.custom_instructions is None:
            self._tools = UserTools(environment)

    async def next_message(self, so_far: Trace) -> str | None:
        """Return the starting prompt, then the messages of the model. Returns None at the stop signal.

        Before a message, the model may call tools of the user. Raises SimulatorError if a reply is empty.
        """
        if not so_far.invocations:
            return self._scenario.starting_prompt
        while True:
            reply = await self._model(self.prompt(so_far))
            self.model_usage += ModelUsage(1, reply.input_tokens, reply.output_tokens, reply.cost)
            message = reply.text.strip()
            if self._tools is None or not self._tools.use(message, len(so_far.invocations)):
                break
        if self._options.stop_signal.casefold() in message.casefold():
            return None
        if not message:
            cause = f": {reply.interruption}" if reply.interruption else ""
            raise SimulatorError(f"the reply of the simulated user is empty{cause}")
        return message

    def prompt(self, so_far: Trace) -> Prompt:
        """Return the prompt of the model. Raises SimulatorError if the custom instructions fail."""
        options = self._options
        own_calls = self._tools.lines if self._tools is not None else {}
        conversation = {"conversation": history(so_far, calls=options.include_function_calls, own_calls=own_calls)}
        standing = {"plan": self._scenario.conversation_plan}
        if self._tools is not None:
            standing["tools"] = self._tools.declarations
        if self._persona is not None:
            standing["persona"] = describe_persona(self._persona)
        if options.custom_instructions is None:
            prompt = TEMPLATES.render(
                "simulated_user",
                conversation,
                language=detect_language(self._scenario.starting_prompt),
                standing=standing,
                stop_signal=options.stop_signal,
                persona=self._persona is not None,
                tools=self._tools is not None,
            )
        else:
            texts = standing | conversation
            prompt = custom_prompt(
                options.custom_instructions, texts, stop_signal=options.stop_signal, persona=self._persona
            )
        # The draw is the place of the call, because two attempts or two cases with the same plan have different users.
        turn = len(so_far.invocations)
        calls: list[Json] = [len(own_calls[turn])] if turn in own_calls else []
        return replace(prompt, draw=compact([self._case_id, self._attempt, turn, *calls]))


def check_persona(case: EvalCase) -> None:
    """Raise ConfigError if the scenario of a case has an unknown persona."""
    try:
        if case.scenario is not None:
            find_persona(case.scenario, stop_signal="")
    except ConfigError as error:
        raise ConfigError(f"case {case.id!r}: {error}") from None


def history(so_far: Trace, *, calls: bool, own_calls: Mapping[int, Sequence[str]] = _NO_CALLS) -> str:
    """Return a conversation as a user sees it: messages without thoughts, and tool calls only if `calls` is True.

    `own_calls` are the lines of the user's own calls, by the number of the message that they came before.
    """
    lines: list[str] = []
    for turn, invocation in enumerate(so_far.invocations):
        lines += own_calls.get(turn, ())
        lines.append(f"user: {readable(invocation.user)}")
        lines += _steps(invocation, calls=calls)
        if invocation.final_response is not None:
            lines.append(f"assistant: {readable(invocation.final_response)}")
    lines += own_calls.get(len(so_far.invocations), ())
    return "\n".join(lines)


def _steps(invocation: Invocation, *, calls: bool) -> list[str]:
    lines: list[str] = []
    for step in invocation.steps or ():
        if isinstance(step, Message) and (step.text or step.parts):
            lines.append(f"assistant: {readable(step)}")
        elif calls and isinstance(step, ToolCall):
            lines.append(f"assistant called {step.name} with {compact(step.args)}")
        elif calls and isinstance(step, ToolResult):
            lines.append(f"{step.name} answered {compact(step.response)}")
    return lines


def describe_persona(persona: Persona) -> str:
    """Return a persona in words: its description, and how it acts each of its behaviours."""
    lines = [persona.description]
    for behavior in persona.behaviors:
        lines.append(f"{behavior.name}: {behavior.description}".rstrip(": "))
        lines += [f"- {instruction}" for instruction in behavior.behavior_instructions]
    return "\n".join(line for line in lines if line)

"""Go on with runs of Agno that wait for decisions, for values and choices of the user, or for results of tools."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.agents.observed_framework import ObservedSession, Opening
from fairtrial.agents.plain import as_text, plain
from fairtrial.agents.user_parts import refuse_parts
from fairtrial.errors import UnfitCaseError
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import Approval, Message, Part, ToolCall
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.records.record import Json

EXTRA = "agents-agno"
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "list": list,
    "dict": dict,
}


class AgnoPause:
    """The needs of a run that waits. A workflow waits for one of its steps, or for the agent or the team in it."""

    def __init__(self, run: Any) -> None:
        self._step = next(reversed(getattr(run, "step_requirements", None) or ()), None)
        self._errors = [error for error in getattr(run, "error_requirements", None) or () if error.needs_decision]
        requirements = getattr(run, "requirements", None) or ()
        if self._step is not None and self._step.requires_executor_input:
            load = import_extra("agno.run.requirement", EXTRA).RunRequirement.from_dict
            own = self._step.executor_requirements or ()
            requirements = [load(requirement) if isinstance(requirement, dict) else requirement for requirement in own]
            self._step.executor_requirements = requirements
        self.requirements = list(requirements)
        for requirement in self.requirements:
            if requirement.needs_user_input and not _open_fields(requirement.user_input_schema):
                requirement.provide_user_input({})  # the model has given all of the values

    @property
    def is_answered(self) -> bool:
        """Whether the run can go on."""
        needs = [requirement.is_resolved() for requirement in self.requirements]
        needs += [error.is_resolved for error in self._errors]
        needs += [] if self._step is None else [self._step.is_resolved]
        return bool(needs) and all(needs)

    @property
    def results(self) -> list[Any]:
        """The requirements of tools that run elsewhere."""
        return [requirement for requirement in self.requirements if requirement.needs_external_execution]

    @property
    def calls(self) -> list[ToolCall]:
        """The calls that wait for a decision. A step stands for a call, whose arguments are what it shows the user."""
        calls = [call_in(requirement) for requirement in self._confirmations]
        step = self._step
        if step is not None and (step.needs_confirmation or step.needs_output_review):
            name = str(step.step_name or step.step_id)
            text = step.output_review_message if step.needs_output_review else step.confirmation_message
            args: dict[str, Json] = {"message": str(text)} if text else {}
            if step.needs_output_review:
                args["output"] = plain(getattr(step.step_output, "content", None))
            calls.append(ToolCall(name, args, f"step-{name}"))
        return calls

    @property
    def _confirmations(self) -> list[Any]:
        return [requirement for requirement in self.requirements if requirement.needs_confirmation]

    def decide(self, decisions: Sequence[Approval]) -> None:
        """Take one decision for each call. A person may also change the output of a step that waits for a review."""
        confirmations = self._confirmations
        for requirement, decision in zip(confirmations, decisions, strict=False):
            if decision.decision == "reject":
                requirement.reject(decision.reason or None)
                continue
            if decision.args is not None:
                requirement.tool_execution.tool_args = decision.args
            requirement.confirm()
        step: Any = self._step
        for decision in decisions[len(confirmations) :]:
            if decision.decision == "reject":
                step.reject(decision.reason or None)
            elif decision.args is not None and step.needs_output_review and "output" in decision.args:
                step.edit(decision.args["output"])
            else:
                step.confirm()

    @property
    def question(self) -> str:
        """The values and choices that the run waits for, in words. The text is empty if it waits for none."""
        return "\n".join(self._list_questions())

    def _list_questions(self) -> Iterator[str]:
        for requirement in self.requirements:
            if requirement.needs_user_feedback:
                for question in _open_questions(requirement):
                    yield f"{question.question} ({', '.join(_labels(question))})"
            elif requirement.needs_user_input:
                yield _ask_for(str(requirement.tool_execution.tool_name), _open_fields(requirement.user_input_schema))
        step = self._step
        if step is not None and step.needs_user_input:
            yield _ask_for(str(step.user_input_message or step.step_name), _open_fields(step.user_input_schema))
        if step is not None and step.needs_route_selection:
            choices = ", ".join(map(str, step.available_choices or ()))
            yield f"{step.user_input_message or step.step_name} ({choices})"
        for error in self._errors:
            if error.needs_decision:
                yield f"{error.step_name} failed: {error.error_message} (retry, skip)"

    def answer(self, message: str) -> None:
        """Take the user's message as the answer to all of the questions. Raises UnfitCaseError if it is none."""
        for requirement in self.requirements:
            if requirement.needs_user_feedback:
                questions = _open_questions(requirement)
                choices = {question.question: _choose(message, _labels(question)) for question in questions}
                requirement.provide_user_feedback({text: labels or [message] for text, labels in choices.items()})
            elif requirement.needs_user_input:
                fields = _open_fields(requirement.user_input_schema)
                requirement.provide_user_input(_read_values(message, fields))
        step = self._step
        if step is not None and step.needs_user_input:
            fields = _open_fields(step.user_input_schema)
            values = _read_values(message, fields) if fields else {"answer": message}
            try:
                step.set_user_input(**values)
            except ValueError as error:
                raise UnfitCaseError(f"the message {message!r} does not answer {step.step_name}: {error}") from error
        if step is not None and step.needs_route_selection:
            routes = _choose(message, list(map(str, step.available_choices or ())))
            if not routes or (len(routes) > 1 and not step.allow_multiple_selections):
                raise UnfitCaseError(f"the message {message!r} does not choose one of {step.available_choices}")
            step.select(*routes)
        for failed in self._errors:
            decisions = _choose(message, ["retry", "skip"])
            if len(decisions) != 1:
                raise UnfitCaseError(f"the message {message!r} is neither retry nor skip")
            failed.decision = decisions[0]


class PausingSession(ObservedSession):
    """One conversation whose runs may wait. The case or the user decides about calls and steps, and gives values."""

    def __init__(self, opening: Opening, name: str) -> None:
        super().__init__(opening, name)
        self._pause: AgnoPause | None = None

    @abstractmethod
    async def _begin_run(self, message: str, parts: Sequence[Part]) -> Any:
        """Run with a new message, and return the run."""

    @abstractmethod
    async def _continue_run(self, pause: AgnoPause) -> Any:
        """Go on with the run that waited, and return it."""

    @abstractmethod
    def _end(self, run: Any, status: str) -> Iterable[Item]:
        """Return the reply of a run that has ended, if no model wrote it. Raises the error that ended the run."""

    async def _run(self, message: str, parts: Sequence[Part]) -> Iterable[Item]:
        """Run with a new message. If the run waits for a value or a choice, the message is the answer."""
        if self._pause is None:
            return await self._follow(await self._begin_run(message, parts))
        refuse_parts(parts)
        self._pause.answer(message)
        return await self._follow(await self._continue_run(self._pause))

    async def _go_on(self, decisions: Sequence[Approval]) -> Iterable[Item]:
        assert self._pause is not None  # noqa: S101  (calls wait)
        self._pause.decide(decisions)
        if question := self._pause.question:
            return (Message(question, self._name),)
        return await self._follow(await self._continue_run(self._pause))

    def _waiting(self) -> list[ToolCall]:
        return [] if self._pause is None else self._pause.calls

    async def _follow(self, run: Any) -> Iterable[Item]:
        """Go on with a run as long as nothing waits for the user. Return its reply, or what it asks the user."""
        while (status := str(getattr(run.status, "value", run.status)).lower()) == "paused":
            pause = self._pause = AgnoPause(run)
            for requirement in pause.results:
                await self._give_result(requirement)
            if pause.calls or pause.question:
                return () if pause.calls else (Message(pause.question, self._name),)
            if not pause.is_answered:
                raise self._observer.refuse(f"{self._name}: the run waits, and does not say for what")
            run = await self._continue_run(pause)
        self._pause = None
        return self._end(run, status)

    async def _give_result(self, requirement: Any) -> None:
        """Let the simulated environment answer a call of a tool that runs elsewhere."""
        call = call_in(requirement)

        async def refuse() -> Any:
            raise self._observer.refuse(
                f"{self._name}: {call.name} runs elsewhere, and nobody gives its result here; a simulated environment "
                "can answer it"
            )

        answer = await self._observer.answer(call, {"name": call.name}, refuse)
        requirement.set_external_execution_result(as_text(answer.value))


def call_in(requirement: Any) -> ToolCall:
    """Return the call of a tool that a requirement is about."""
    tool = requirement.tool_execution
    return ToolCall(str(tool.tool_name), read_arguments(plain(tool.tool_args)), str(tool.tool_call_id))


def _open_fields(schema: Any) -> list[Any]:
    return [field for field in schema or () if field.value is None]


def _open_questions(requirement: Any) -> list[Any]:
    return [question for question in requirement.user_feedback_schema if question.selected_options is None]


def _labels(question: Any) -> list[str]:
    return [str(option.label) for option in question.options or ()]


def _type_name(field: Any) -> str:
    return str(getattr(field.field_type, "__name__", field.field_type))


def _is_text(fields: Sequence[Any]) -> bool:
    return len(fields) == 1 and _type_name(fields[0]) == "str"


def _ask_for(asker: str, fields: Sequence[Any]) -> str:
    """Return a question, for example `send needs to (str), the address`."""
    if not fields:
        return asker
    names = [
        f"{field.name} ({_type_name(field)})" + (f", {field.description}" if field.description else "")
        for field in fields
    ]
    return f"{asker} needs {'; '.join(names)}" + ("" if _is_text(fields) else " (a JSON object)")


def _read_values(message: str, fields: Sequence[Any]) -> dict[str, Any]:
    """Return the values of fields by their names: an object in JSON, or the value of the only field."""
    try:
        raw = msgspec.json.decode(message)
    except (ValueError, RecursionError):
        raw = message
    names = {field.name for field in fields}
    if isinstance(raw, dict) and names & raw.keys():
        values = {name: raw[name] for name in names & raw.keys()}
    else:
        values = {field.name: message if _is_text(fields) else raw for field in fields[:1]} if len(fields) == 1 else {}
    for field in fields:
        kind = _type_name(field)
        value = values.get(field.name)
        is_needed = getattr(field, "required", True)
        fits = isinstance(value, _TYPES.get(kind, object)) and (kind == "bool" or not isinstance(value, bool))
        if (value is None and is_needed) or (value is not None and not fits):
            wanted = ", ".join(f"{field.name} ({_type_name(field)})" for field in fields)
            raise UnfitCaseError(f"the message {message!r} does not give {wanted}; a JSON object can")
    return values


def _choose(message: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that a message names: the one that it is, or else those in it."""
    exact = [label for label in labels if label.casefold() == message.strip().casefold()]
    return exact or [label for label in labels if re.search(rf"(?i)(?<!\w){re.escape(label)}(?!\w)", message)]

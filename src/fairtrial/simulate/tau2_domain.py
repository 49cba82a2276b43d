"""A domain of tau2-bench answers the calls of a conversation. How does its state differ from the expected state?"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fairtrial.errors import ConfigError, SimulatedToolError, nearest
from fairtrial.formats.benchmarks.tau2_tasks import ASSERTIONS, DB_MATCH
from fairtrial.formats.message_entries import read_response
from fairtrial.text.display import compact, shorten

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.trace import ToolCall

_INSTALL = "git clone https://github.com/sierra-research/tau2-bench && pip install -e ./tau2-bench"
_LISTED = 10
_LONGEST = 80


def open_domain(name: str) -> Tau2Domain:
    """Return a domain of the tau2-bench that is installed. Raises ConfigError if there is none, or another package."""
    if find_spec("tau2") is None:
        raise ConfigError(f"tau2-bench is not installed; it is not on the package index: {_INSTALL}")
    if find_spec("tau2.registry") is None:
        raise ConfigError(
            "the installed package tau2 is not tau2-bench, but the package of chemistry that has this name on the "
            f"package index: pip uninstall tau2, then {_INSTALL}"
        )
    registry = importlib.import_module("tau2.registry").registry
    domains = registry.get_domains()
    if name not in domains:
        raise ConfigError(f"tau2-bench has no domain {name!r}{nearest(name, domains)}; it has {', '.join(domains)}")
    return Tau2Domain(name, registry)


@dataclass(frozen=True)
class Tau2Domain:
    """A domain of tau2-bench. Each conversation has an environment of its own, in the initial state of its task."""

    name: str
    registry: Any = field(repr=False)

    def open(self, case_id: str) -> Tau2World:
        """Return the environment for the task with the id of a case. Raises SimulatedToolError if there is none."""
        task = self._tasks.get(case_id)
        if task is None:
            raise SimulatedToolError(f"the domain {self.name!r} of tau2-bench has no task {case_id!r}")
        return Tau2World(self.registry.get_env_constructor(self.name), task)

    @cached_property
    def _tasks(self) -> dict[str, Any]:
        """The tasks of all task sets of the domain, for example of `telecom` and `telecom_full`."""
        sets = [name for name in self.registry.get_task_sets() if f"{name}_".startswith(f"{self.name}_")]
        return {task.id: task for name in sets for task in self.registry.get_tasks_loader(name)(None)}


class Tau2World:
    """The environment of one conversation. It answers the agent and the simulated user, who has tools of its own."""

    def __init__(self, make: Any, task: Any) -> None:
        self._make = make
        self._task = task
        self._environment = self._in_initial_state()
        self._user_calls: list[Json] = []

    def has_tool(self, name: str) -> bool:
        """Whether the agent's tools of the domain include one with this name."""
        tools = self._environment.tools
        return tools is not None and bool(tools.has_tool(name))

    def answer(self, call: ToolCall) -> Json:
        """Answer a call of the agent."""
        return self._answer(call, "assistant")

    @property
    def user_tools(self) -> list[dict[str, Json]]:
        """The declarations of the user's tools in this task."""
        if self._environment.user_tools is None:
            return []
        tools = self._environment.get_user_tools(include=self._task.user_tools)
        return [tool.openai_schema["function"] for tool in tools]

    def answer_user(self, call: ToolCall) -> Json:
        """Answer a call of the simulated user, and keep both for the recording."""
        response = self._answer(call, "user")
        self._user_calls.append({"name": call.name, "args": call.args, "response": response})
        return response

    def report_state(self) -> dict[str, Json]:
        """Return whether the data are as after the gold actions, whether the assertions hold, and what differs.

        The comparison is that of tau2-bench's own evaluator: equal hashes of the agent's and the user's data, with the
        gold actions on a fresh environment. A gold action that fails is skipped there too.
        """
        criteria = self._task.evaluation_criteria
        actions = (criteria.actions if criteria is not None else None) or []
        assertions = (criteria.env_assertions if criteria is not None else None) or []
        expects = criteria is not None and not (criteria.actions is None and criteria.env_assertions is None)
        gold = self._in_initial_state()
        for action in actions:
            _run(gold, action)
        actual = self._environment
        is_match = not expects or _hashes(actual) == _hashes(gold)
        failures: list[Json] = [_describe_value(assertion) for assertion in assertions if not _holds(actual, assertion)]
        differences: list[Json] = [] if is_match else [*_differences(_data(actual), _data(gold))][:_LISTED]
        details = {
            "tau2_differences": differences,
            "tau2_failed_assertions": failures,
            "tau2_user_calls": self._user_calls,
        }
        state: dict[str, Json] = {DB_MATCH: is_match, ASSERTIONS: not failures}
        return state | {key: value for key, value in details.items() if value}

    def _in_initial_state(self) -> Any:
        environment = self._make()
        start = self._task.initial_state
        environment.set_state(
            initialization_data=start.initialization_data if start is not None else None,
            initialization_actions=start.initialization_actions if start is not None else None,
            message_history=[],
        )
        return environment

    def _answer(self, call: ToolCall, requestor: str) -> Json:
        message_class = importlib.import_module("tau2.data_model.message").ToolCall
        message = message_class(id=call.id, name=call.name, arguments=call.args, requestor=requestor)
        return read_response(str(self._environment.get_response(message).content))


def _run(environment: Any, action: Any) -> None:
    try:
        environment.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
    except Exception:  # noqa: BLE001  (a tool refuses with any exception, and then has changed nothing)
        return


def _holds(environment: Any, assertion: Any) -> bool:
    try:
        return bool(environment.run_env_assertion(assertion, raise_assertion_error=False))
    except Exception:  # noqa: BLE001  (for example, what it asks about does not exist)
        return False


def _hashes(environment: Any) -> tuple[Any, Any]:
    return environment.get_db_hash(), environment.get_user_db_hash()


def _data(environment: Any) -> dict[str, Any]:
    """Return the data behind the tools of the agent and of the user."""
    kits = {"agent": environment.tools, "user": environment.user_tools}
    present = {role: kit for role, kit in kits.items() if kit is not None and kit.db is not None}
    return {role: kit.db.model_dump(mode="json") for role, kit in present.items()}


def _describe_value(assertion: Any) -> str:
    return f"{assertion.func_name}({compact(assertion.arguments)}) is not {assertion.assert_value}"


def _differences(actual: Any, expected: Any, place: str = "") -> Iterator[Json]:
    """Yield each place where two values differ, with both values."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            yield from _differences(actual.get(key), expected.get(key), f"{place}/{key}")
    elif actual != expected:
        actual_text, expected_text = (shorten(compact(value), _LONGEST) for value in (actual, expected))
        yield f"{place}: expected {expected_text}, got {actual_text}"

"""The calls of tools of an agent in another process, which the environment of the run answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairtrial.recording.isolation.frames import CallTool, Request, ToolAnswered, ToolAsked, ToolReturned
from fairtrial.text.display import describe_error

if TYPE_CHECKING:
    from fairtrial.protocols import Environment
    from fairtrial.records.record import Json

_END_SECONDS = 2.0


class ToolCalls:
    """The calls of a session that its environment is answering."""

    def __init__(self, session: int, write: Callable[[Request], None], environment: Environment | None) -> None:
        self._session, self._write, self._environment = session, write, environment
        self._tasks: set[asyncio.Task[None]] = set()
        self._values: dict[int, asyncio.Queue[ToolReturned]] = {}

    def take(self, report: ToolAsked | ToolReturned) -> None:
        """Begin to answer a call, or take the value of the tool itself."""
        if isinstance(report, ToolReturned):
            if report.ask in self._values:
                self._values[report.ask].put_nowait(report)
            return
        self._values[report.ask] = asyncio.Queue()
        task = asyncio.create_task(self._answer(report))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, question: ToolAsked) -> None:
        assert self._environment is not None  # noqa: S101  (only then does the process ask)
        reports: list[ToolReturned] = []

        async def real() -> Json:
            self._write(CallTool(self._session, question.ask))
            reports.append(await self._values[question.ask].get())
            if reports[-1].problem is not None:
                raise _RealToolError(reports[-1].problem)
            return reports[-1].value

        try:
            result = await self._environment.answer(question.call, question.declared, real)
        except _RealToolError:
            frame = ToolAnswered(self._session, question.ask, is_own=True)
        except Exception as error:  # noqa: BLE001  (the environment has noted it, and the conversation ends)
            frame = ToolAnswered(self._session, question.ask, problem=describe_error(error))
        else:
            is_own = bool(reports) and result.response is reports[-1].value and reports[-1].problem is None
            response = None if is_own else result.response
            frame = ToolAnswered(self._session, question.ask, response, result.is_error, is_own)
        finally:
            del self._values[question.ask]
        self._write(frame)

    async def stop(self) -> None:
        """Stop the calls that are not answered yet."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_END_SECONDS)


class _RealToolError(Exception):
    """The tool itself failed, in the process of the agent."""

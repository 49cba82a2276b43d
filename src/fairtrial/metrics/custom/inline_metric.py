"""Run metric code from an agents-cli configuration, in a process of its own with a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairtrial.errors import MetricError
from fairtrial.metrics.custom.instance_metric import make_instance
from fairtrial.records.contents import missing_reason
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.records.score import Score
from fairtrial.system.child_processes import exit_code, kill_group

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Trace

TIMEOUT = 30.0
"""The longest time that the code may take for a case, in seconds."""

_RUNNER = Path(__file__).with_name("inline_runner.py")
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
"""The variables that the code can see. Keys of providers are not among them."""


class _Answer(Record, frozen=True):
    """The last word of the process: a score, or a problem."""

    score: float | None = None
    explanation: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class InlineMetric:
    """A `custom_function` of agents-cli: code with a function `evaluate(instance)`."""

    code: str
    name: str
    timeout: float = TIMEOUT

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Run the code for a case. Raises MetricError if it gives no answer in time."""
        if withheld := missing_reason(trace):
            return Score(None, withheld, side="infrastructure")
        task = msgspec.json.encode({"code": self.code, "instance": make_instance(trace, case)})
        try:
            answer = json_decoder(_Answer).decode(await self._run(task))
        except msgspec.DecodeError:
            raise MetricError(f"{self.name} gave an answer that cannot be read") from None
        if answer.problem:
            raise MetricError(f"{self.name}: {answer.problem}")
        return Score(
            answer.score, answer.explanation or ("" if answer.score is not None else "the metric gave no score")
        )

    async def _run(self, task: bytes) -> bytes:
        """Return the answer of the process. The process and its children end with the answer or the time limit."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(_RUNNER),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018  # both are pipes
        try:
            async with asyncio.timeout(self.timeout):
                with contextlib.suppress(ConnectionError):
                    process.stdin.write(task)
                    await process.stdin.drain()
                process.stdin.close()
                if answer := await process.stdout.readline():
                    return answer
                code = await exit_code(process, self.timeout)
                raise MetricError(f"{self.name} ended its process with exit code {code} before it had a score")
        except TimeoutError:
            raise MetricError(f"{self.name} took longer than {self.timeout:g} s, and was stopped") from None
        except ValueError:
            raise MetricError(f"{self.name} gave an answer that is too long") from None
        finally:
            await kill_group(process)

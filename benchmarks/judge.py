"""How much does judging take beside google-adk? Calls, seconds under limits and without, CPU, and memory."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition

from fairtrial import api
from fairtrial.judge.judges import JudgeOptions, Judges
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.provider import Provider
from fairtrial.metrics.asking import VALIDITY, question
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.result import Criterion
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Trace

SIDES = Path(__file__).parent / "sides"
MODEL = "openai/gpt-4o-mini"
MEAN = 0.4
RUNS = 8


@dataclass
class Served:
    """A server's address, and its statistics after it has stopped."""

    url: str
    seen: dict[str, int] = field(default_factory=dict)


@contextmanager
def server(*arguments: str) -> Iterator[Served]:
    """Run the server in a process of its own."""
    line = [sys.executable, str(SIDES / "judge_server.py"), *arguments]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    served = Served(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
    os.environ["OPENAI_BASE_URL"] = served.url
    yield served
    served.seen = json.loads(process.communicate()[0])


def eval_set(cases: int, turns: int) -> EvalSet:
    """Return cases with distinct questions."""

    def turn(case: int, number: int) -> Invocation:
        words = f"{case}.{number} " + "some more words " * 60
        return Invocation(Message(f"question {words}"), (), Message(f"answer {words}"))

    return EvalSet("s", tuple(EvalCase(f"c{i}", tuple(turn(i, j) for j in range(turns))) for i in range(cases)))


async def repeat(trace: Trace) -> str:
    """Answer at once, as an agent without any cost."""
    return trace.invocations[-1].query


def judged(cases: int, turns: int, items: int = 0, *, at_once: int | None = None) -> tuple[float, api.Run]:
    """Score conversations by a reference or by `items` rubrics, and return the seconds and the run.

    `at_once` limits the open cases and the calls in flight. If it is missing, all cases are open.
    """
    judges = Judges(model=MODEL, models=ModelOptions(concurrency=at_once))
    judge = judges.judge(JudgeOptions())
    rubrics = tuple(Rubric(f"r{number}", f"The reply has property {number}.") for number in range(items))
    metric = FinalResponseRubrics(judge, rubrics) if items else FinalResponseMatch(judge)
    expected = eval_set(cases, turns)
    started = time.perf_counter()
    run = api.evaluate(
        expected,
        repeat,
        [Criterion("judged", metric, aggregation="parts")],
        concurrency=at_once or cases,
        judges=judges,
    )
    return time.perf_counter() - started, run


def judged_by_adk(peer: str, served: Served, cases: int, turns: int, items: int = 0) -> dict[str, float]:
    """Let google-adk score the same, and return its seconds, its CPU and the number of unscored invocations."""
    environment = {**os.environ, "GOOGLE_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": served.url.removesuffix("/v1")}
    line = [peer, str(SIDES / "judge_adk.py"), str(cases), str(turns), str(items)]
    out = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
    took: dict[str, float] = json.loads(out.splitlines()[-1])
    return took


def unscored(run: api.Run) -> int:
    """Return the number of unscored invocations."""
    return sum(part.value is None for case in run.cases for part in case.outcomes[0].score.parts)


def told(what: str, value: str, adk: str, target: str, *, reached: bool) -> None:
    """Print one line."""
    print(f"  {what:<44} {value:>24} {adk:>26}   target {target:<16} {'reached' if reached else 'NOT REACHED'}")


def _warm() -> None:
    """Load the library and let it compile its schemas, so that no measurement contains this."""
    with server("--mean", "0"):
        judged(2, 1)


def free(peer: str) -> None:
    """Measure without a limit. The ideal is three rounds, each as long as its slowest vote on a question."""
    with server("--seed", "0") as served:
        theirs = judged_by_adk(peer, served, 10, 4)
    adk = served.seen["requests"]
    calls = seconds = 0.0
    for seed in range(RUNS):
        with server("--seed", str(seed)) as served:
            took, run = judged(10, 4)
        assert unscored(run) == 0
        calls, seconds = calls + served.seen["requests"] / RUNS, seconds + took / RUNS
    told(f"no limit, mean of {RUNS}: calls", f"{calls:.0f}", f"{adk}", "75 %", reached=calls <= 0.75 * adk)
    ideal, said = _three_rounds(), f"{theirs['seconds']:.1f} s"
    told("  seconds", f"{seconds:.2f}, ideal {ideal:.2f}", said, "1.5 x ideal", reached=seconds <= 1.5 * ideal)
    for items, share in ((5, 0.80), (20, 0.93)):
        calls = 0.0
        for seed in range(RUNS):
            with server("--mean", "0.02", "--seed", str(seed)) as served:
                judged(10, 4, items)
            calls += served.seen["requests"] / RUNS
        with server("--mean", "0.02") as served:
            judged_by_adk(peer, served, 10, 4, items)
        adk = served.seen["requests"]
        value = f"{calls:.0f}, {calls / adk:.0%}"
        told(
            f"{items} items a question: calls",
            value,
            f"{adk}",
            f"about {share:.0%}",
            reached=calls / adk <= share + 0.02,
        )


def _three_rounds() -> float:
    """Return the seconds of the slowest of 40 questions: three votes at once, then single votes if they differ."""
    import math
    import random

    dice = random.Random(1)

    def latency() -> float:
        return dice.lognormvariate(math.log(MEAN) - 0.18, 0.6)

    def question() -> float:
        seconds, votes = max(latency() for _ in range(3)), [dice.random() < 0.9 for _ in range(3)]
        while max(votes.count(True), votes.count(False)) < 3:
            seconds += latency()
            votes.append(dice.random() < 0.9)
        return seconds

    return statistics.mean(max(question() for _ in range(40)) for _ in range(200))


def limited(peer: str) -> None:
    """Measure a limit of rate and a limit of calls at once, each with and without Retry-After.

    tests/llm/test_pacing.py counts in virtual time how many of 1,000 requests are refused.
    """
    for after in ("", "1"):
        for limit, many in (("--rate", "10"), ("--room", "8")):
            with server(limit, many, "--after", after) as served:
                theirs = judged_by_adk(peer, served, 10, 4)
            adk = f"{theirs['seconds']:.1f} s, {served.seen['refused'] / served.seen['requests']:.0%} refused"
            with server(limit, many, "--after", after) as served:
                seconds, run = judged(10, 4)
            answered = served.seen["requests"] - served.seen["refused"]
            ideal = answered / 10 if limit == "--rate" else answered * MEAN / 8
            name = f"{'10 a second' if limit == '--rate' else '8 at once'}{', Retry-After' if after else ''}"
            share = f"{served.seen['refused'] / served.seen['requests']:.0%} refused"
            told(name, f"{seconds:.1f} s, {share}", adk, f"1.3 x {ideal:.1f} s", reached=seconds <= 1.3 * ideal)
            told("  unscored", str(unscored(run)), f"{theirs['unscored']:.0f}", "0", reached=unscored(run) == 0)


def cpu(peer: str) -> None:
    """Measure CPU per call with 20 calls at once, for the bare library and for fairtrial in turn, and the memory.

    The median of five differences counts, so that other load on the machine affects both sides alike.
    """
    with server("--mean", "0"):
        judged(20, 5, at_once=20)
        turns = [(asyncio.run(_bare(500)), _ours(50)) for _ in range(5)]
        calls, sizes = _grown()
    with server("--mean", "0") as served:
        theirs = judged_by_adk(peer, served, 20, 5)
        adk = f"{theirs['cpu'] / 500 * 1000:.2f} ms"
    above = statistics.median(ours - bare for bare, ours in turns)
    bare, ours = (statistics.median(side) for side in zip(*turns, strict=True))
    told("CPU a call, pydantic-ai bare", f"{bare:.2f} ms", "-", "-", reached=True)
    told("CPU a call, with agent, score and store", f"{ours:.2f} ms", adk, "-", reached=True)
    spread = ", ".join(f"{ours - bare:.2f}" for bare, ours in turns)
    told("  above bare, middle of " + spread, f"{above:.2f} ms", "-", "1 ms", reached=above <= 1)
    slope = (sizes[-1] - sizes[0]) / calls
    shown = ", ".join(f"{size / 1024:.1f}" for size in sizes)
    told(f"memory a call over {calls:,} calls", f"{slope:.2f} KB", "-", "0", reached=slope < 0.1)
    print(f"  MB at every 1,000 calls: {shown}")


def _ours(cases: int) -> float:
    started = time.process_time()
    _, run = judged(cases, 5, at_once=20)
    return (time.process_time() - started) / sum(one.calls or 0 for one in run.summary.criteria) * 1000


def _grown() -> tuple[int, list[int]]:
    """Return the number of calls of a run, and the private memory in KB at every 1,000 calls.

    The first 1,000 calls are left out, because caches still fill.
    """
    sizes: list[int] = []
    asked = Provider.__call__
    made = 0

    async def counted(self: Provider, prompt: Prompt) -> Reply:
        nonlocal made
        made += 1
        if made % 1000 == 0:
            gc.collect()
            sizes.append(_own_kilobytes())
        return await asked(self, prompt)

    Provider.__call__ = counted  # type: ignore[method-assign]
    try:
        judged(400, 5, at_once=20)
    finally:
        Provider.__call__ = asked  # type: ignore[method-assign]
    return 1000 * (len(sizes) - 1), sizes


def _own_kilobytes() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


async def _bare(calls: int) -> float:
    """Ask the questions of `judged` with the bare library, set up as its documentation says."""
    model = OpenAIChatModel(MODEL.partition("/")[2])
    prompts = [_prompt(turn) for case in eval_set(calls // 5, 5).cases for turn in case.conversation or ()]
    places = asyncio.Semaphore(20)

    async def one(prompt: Prompt) -> str | None:
        assert prompt.schema
        shape = OutputObjectDefinition(json_schema=prompt.schema, name="answers", strict=True)
        parameters = ModelRequestParameters(output_mode="native", output_object=shape, allow_text_output=False)
        message = ModelRequest(parts=[SystemPromptPart(prompt.system), UserPromptPart(prompt.text)])
        async with places:
            return (await model_request(model, [message], model_request_parameters=parameters)).text

    async with model:
        await asyncio.gather(*(one(prompt) for prompt in prompts[:50]))
        started = time.process_time()
        await asyncio.gather(*(one(prompt) for prompt in prompts))
        return (time.process_time() - started) / calls * 1000


def _prompt(turn: Invocation) -> Prompt:
    texts = {"user message": turn.query, "reference": turn.reply, "reply": turn.query}
    return question("final_response_match", texts, ["reply"], VALIDITY).prompt


def main(peer: str) -> None:
    """Run all measurements."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    print("judge: 10 cases x 4 invocations x 5 votes, mean latency 0.4 s; fairtrial, google-adk with its defaults")
    _warm()
    free(peer)
    limited(peer)
    cpu(peer)

"""fairtrial: CASES, ATTEMPTS, TURNS, CONCURRENCY: conversations with an endpoint that takes LATENCY seconds a reply.

Users are scripted, or simulated by a model at the same endpoint. The agent repeats the user; simulated users count up.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

from fairtrial import EvalCase, EvalSet, Invocation, Message, evaluate
from fairtrial.formats.adk.write import dumps
from fairtrial.records.case import Scenario

cases, attempts, turns, concurrency = map(int, sys.argv[1:5])
latency, simulated = float(sys.argv[5]), sys.argv[6] == "simulated"


def reply(asked: str) -> str:
    """Return the user's last message, or the next message of a simulated user: the next number."""
    if "<<<CONTEXT conversation" not in asked:
        return asked
    name, number = re.findall(r"^user: (c\d+) (\d+)$", asked, re.MULTILINE)[-1]
    return f"{name} {int(number) + 1}"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request on a connection after the latency."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if head.startswith(b"get"):
                body = b'{"object": "list", "data": []}'
            else:
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                first.append(time.perf_counter())
                del first[1:]
                asked = json.loads(await reader.readexactly(length))["messages"][-1]["content"]
                await asyncio.sleep(latency)
                message = {"role": "assistant", "content": reply(asked)}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                about = {"id": "x", "object": "chat.completion", "created": 1, "model": "user"}
                body = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(ready: threading.Event, where: list[int]) -> None:
    """Listen on loopback for as long as the process lives."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    where.append(server.sockets[0].getsockname()[1])
    ready.set()
    await server.serve_forever()


first = list[float]()
started, port = threading.Event(), list[int]()
threading.Thread(target=lambda: asyncio.run(serve(started, port)), daemon=True).start()
started.wait()
url = f"http://127.0.0.1:{port[0]}/v1"
os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}


def case(i: int) -> EvalCase:
    """Return a case whose user writes its name and a number that goes up."""
    if simulated:
        return EvalCase(f"c{i}", scenario=Scenario(f"c{i} 0", "Count."))
    return EvalCase(f"c{i}", tuple(Invocation(Message(f"c{i} {turn}")) for turn in range(turns)))


user = {"model": "openai/user", "max_allowed_invocations": turns}
with tempfile.TemporaryDirectory() as folder:
    config = {"criteria": {"tool_call_count_v1": {"threshold": None}}, "user_simulator_config": user}
    Path(folder, "test_config.json").write_text(json.dumps(config))
    Path(folder, "many.evalset.json").write_bytes(dumps(EvalSet("many", tuple(map(case, range(cases))))))
    gc.collect()
    start = time.perf_counter()
    run = evaluate(folder, url, attempts=attempts, concurrency=concurrency)
    seconds = time.perf_counter() - start
wrong = held = 0
for _, recording in run.recordings:
    heard = [(one.query, one.reply) for one in recording.trace.invocations]
    wrong += heard != [(f"{recording.case_id} {turn}",) * 2 for turn in range(turns)]
    held += 1
print(json.dumps({"seconds": seconds, "first": first[0] - start, "wrong": wrong, "held": held}))

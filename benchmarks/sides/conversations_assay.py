"""assay: CONVERSATIONS of TURNS, CONCURRENCY at once, with a chat endpoint that takes LATENCY seconds a reply."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time

from assay import EvalCase, EvalSet, Invocation, Message, evaluate

conversations, turns, concurrency = map(int, sys.argv[1:4])
latency = float(sys.argv[4])


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request on a connection with what the user said last, after the latency."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            messages = json.loads(await reader.readexactly(length))["messages"]
            await asyncio.sleep(latency)
            message = {"role": "assistant", "content": messages[-1]["content"]}
            usage = {"prompt_tokens": 10, "completion_tokens": 5}
            body = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(ready: threading.Event, where: list[int]) -> None:
    """Listen on loopback for as long as the process lives."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    where.append(server.sockets[0].getsockname()[1])
    ready.set()
    await server.serve_forever()


started, port = threading.Event(), list[int]()
threading.Thread(target=lambda: asyncio.run(serve(started, port)), daemon=True).start()
started.wait()
cases = tuple(
    EvalCase(f"c{i}", tuple(Invocation(Message(f"c{i} {turn}")) for turn in range(turns))) for i in range(conversations)
)
gc.collect()
start = time.perf_counter()
run = evaluate(
    EvalSet("many", cases), f"http://127.0.0.1:{port[0]}/v1", {"tool_call_count_v1": {}}, concurrency=concurrency
)
seconds = time.perf_counter() - start
mixed = sum(one.query != one.reply for _, recording in run.recordings for one in recording.trace.invocations)
print(json.dumps({"seconds": seconds, "mixed": mixed}))

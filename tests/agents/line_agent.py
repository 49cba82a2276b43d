"""A shop as a program that speaks lines of JSON, without any library."""

import json
import os
import subprocess
import sys

CHILD = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("ready", file=sys.stderr, flush=True)
time.sleep(600)
"""


def write(**line: object) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def leave_child(file: str, *, with_session: bool) -> None:
    """Start a child that holds a lock, and the output of this program, until somebody ends it."""
    read, write_end = os.pipe()
    command = [sys.executable, "-S", "-c", CHILD, file]
    subprocess.Popen(command, stderr=write_end, start_new_session=with_session)
    os.read(read, 1)


first = True
for text in sys.stdin:
    line = json.loads(text)
    message = line["message"]
    if first:
        write(instructions="Be kind.", tools=[{"name": "get_order"}], state=line.get("state", {"new": True}))
        first = False
    if message == "hang":
        sys.stdin.read()
    if message == "die":
        write(tool_call={"name": "get_order"})
        sys.exit("no such order")
    if message == "fail":
        write(error="no such order")
    elif message.startswith("leave "):
        leave_child(message.split()[1], with_session=False)
        write(reply="It is left.")
    elif message.startswith("abandon "):
        leave_child(message.split()[1], with_session=True)
        sys.exit(3)
    elif message == "mute":
        os.close(1)
        sys.stdin.read()
    elif message == "chatter":
        sys.stdout.write("Loading the model ...\n")
        sys.stdout.flush()
    elif message == "nothing":
        write(weather="fine")
    elif message == "order":
        write(thought="Where is it?", usage={"input_tokens": 10, "output_tokens": 5}, model="scripted")
        write(message="Let me look.", tool_call={"name": "get_order", "args": {"order_id": "A-17"}, "id": "1"})
        write(tool_result={"name": "get_order", "response": {"state": "shipped"}, "id": "1"})
        write(reply="<think>Good.</think>It is shipped.")
    else:
        write(reply=f"You said: {message}")

"""A command-line agent without a language model: it follows a skill for sales reports if the skill is installed.

It reads the prompt from standard input, works in the current folder, and writes the log of `claude -p
--output-format stream-json`.
"""

import csv
import json
import sys
import uuid
from pathlib import Path

SESSION = str(uuid.uuid4())
calls = 0


def write_line(kind, **fields):
    """Write a line of the log."""
    print(json.dumps({"type": kind, **fields, "session_id": SESSION, "uuid": str(uuid.uuid4())}), flush=True)


def say(part):
    """Write a message of the agent with one part."""
    usage = {"input_tokens": 900, "output_tokens": 60}
    message = {"id": f"msg_{uuid.uuid4().hex[:8]}", "role": "assistant", "model": "scripted-1", "content": [part]}
    write_line("assistant", message={**message, "usage": usage}, parent_tool_use_id=None)


def call(name, arguments, answer):
    """Write a call of a tool, and its answer."""
    global calls
    calls += 1
    say({"type": "tool_use", "id": f"toolu_{calls}", "name": name, "input": arguments})
    result = {"type": "tool_result", "tool_use_id": f"toolu_{calls}", "content": answer}
    write_line("user", message={"role": "user", "content": [result]}, parent_tool_use_id=None)


def find_skill(prompt):
    """Return the SKILL.md of a skill whose description shares two words with the prompt, or None."""
    words = {word.strip(".,?!").lower() for word in prompt.split()}
    for path in sorted(Path(".claude/skills").glob("*/SKILL.md")):
        header = path.read_text().split("---")[1]
        if {"sales"} & words and {"report", "summary", "summarise"} & words and "sales" in header:
            return path
    return None


def main():
    """Do what the prompt asks for."""
    if "--version" in sys.argv:
        print("scripted-agent 1.0")
        return
    prompt = sys.stdin.read()
    write_line("system", subtype="init", cwd=str(Path.cwd()), model="scripted-1", tools=["Read", "Skill", "Write"])
    skill = find_skill(prompt)
    if skill is not None:
        call("Skill", {"skill": skill.parent.name}, f"Launching skill: {skill.parent.name}")
    reply = "I found no file to work with."
    for path in sorted(Path().glob("*.csv")):
        call("Read", {"file_path": str(path)}, path.read_text())
        rows = [(row["month"], int(row["revenue"])) for row in csv.DictReader(path.open())]
        month, revenue = max(rows, key=lambda row: row[1])
        reply = f"The best month was {month}, with a revenue of {revenue}."
        if skill is not None:
            total = sum(amount for _, amount in rows)
            report = f"# Sales report\nBest month: {month} ({revenue})\nTotal: {total}\n"
            call("Write", {"file_path": "report.md", "content": report}, "File created")
            Path("report.md").write_text(report)
    say({"type": "text", "text": reply})
    write_line("result", subtype="success", is_error=False, result=reply, total_cost_usd=0.004, duration_ms=20)


main()

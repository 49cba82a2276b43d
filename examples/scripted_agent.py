"""A command-line agent without a language model. It follows a skill for sales reports if the skill is installed.

It reads the prompt from standard input, works in the current folder, and writes the log of `claude -p
--output-format stream-json`.
"""

from __future__ import annotations

import csv
import json
import sys
import uuid
from pathlib import Path
from typing import Any

SESSION = str(uuid.uuid4())


def write_line(kind: str, **fields: Any) -> None:
    """Write a line of the log."""
    line = {"type": kind, **fields, "session_id": SESSION, "uuid": str(uuid.uuid4())}
    sys.stdout.write(json.dumps(line) + "\n")


def say(part: dict[str, Any]) -> None:
    """Write a message of the agent with one part."""
    message = {"id": f"msg_{uuid.uuid4().hex[:8]}", "role": "assistant", "model": "scripted-1", "content": [part]}
    usage = {"input_tokens": 900, "output_tokens": 60}
    write_line("assistant", message={**message, "usage": usage}, parent_tool_use_id=None)


def call(name: str, arguments: dict[str, Any], answer: str) -> None:
    """Write a call of a tool, and its answer."""
    call_id = f"toolu_{uuid.uuid4().hex[:8]}"
    say({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
    result = {"type": "tool_result", "tool_use_id": call_id, "content": answer}
    write_line("user", message={"role": "user", "content": [result]}, parent_tool_use_id=None)


def find_skill(prompt: str) -> Path | None:
    """Return the SKILL.md of an installed skill about sales if the prompt asks for a report of sales, or None."""
    words = {word.strip(".,?!").lower() for word in prompt.split()}
    asks = "sales" in words and bool({"report", "summary", "summarise"} & words)
    skills = sorted(Path(".claude/skills").glob("*/SKILL.md")) if asks else []
    return next(
        (path for path in skills if "sales" in path.read_text().partition("description:")[2].splitlines()[0]), None
    )


def summarise(path: Path, *, writes_report: bool) -> str:
    """Return the sentence about the best month in a file, and write the report that the skill describes."""
    call("Read", {"file_path": str(path)}, path.read_text())
    rows = [(row["month"], int(row["revenue"])) for row in csv.DictReader(path.open())]
    month, revenue = max(rows, key=lambda row: row[1])
    if writes_report:
        report = f"# Sales report\nBest month: {month} ({revenue})\nTotal: {sum(amount for _, amount in rows)}\n"
        call("Write", {"file_path": "report.md", "content": report}, "File created")
        Path("report.md").write_text(report)
    return f"The best month was {month}, with a revenue of {revenue}."


def main() -> None:
    """Do what the prompt asks for."""
    if "--version" in sys.argv:
        sys.stdout.write("scripted-agent 1.0\n")
        return
    prompt = sys.stdin.read()
    write_line("system", subtype="init", cwd=str(Path.cwd()), model="scripted-1", tools=["Read", "Skill", "Write"])
    skill = find_skill(prompt)
    if skill is not None:
        call("Skill", {"skill": skill.parent.name}, f"Launching skill: {skill.parent.name}")
    files = sorted(Path().glob("*.csv"))
    reply = summarise(files[0], writes_report=skill is not None) if files else "I found no file to work with."
    say({"type": "text", "text": reply})
    write_line("result", subtype="success", is_error=False, result=reply, total_cost_usd=0.004)


if __name__ == "__main__":
    main()

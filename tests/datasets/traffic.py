"""Production traffic for tests: conversations with an agent of a shop as JSON lines, and what was expected of them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

CONFIG = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}
CASES = 5


def conversation(number: int, case: int | None = None) -> dict[str, Any]:
    """A conversation about an order. Every third calls the wrong tool, and some answer in other words."""
    about = number if case is None else case
    tool = "cancel_order" if number % 3 == 0 else "lookup_order"
    reply = "your order is on its way and arrives tomorrow" if number % 4 else "it is on its way, maybe"
    return {
        "id": f"conversation-{number}" if case is None else f"case_{case}",
        "messages": [
            {"role": "user", "content": f"Where is order {about}?"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps({"id": about})}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "{}"},
            {"role": "assistant", "content": reply},
        ],
    }


def write_lines(path: Path, conversations: list[dict[str, Any]]) -> Path:
    """Write conversations as JSON lines, packed if the name ends with .gz."""
    data = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in conversations).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_expectation(folder: Path, *, extra_cases: int = 0) -> Path:
    """Write an eval set with a case for each of the orders, and its configuration beside it."""
    cases = [
        {
            "eval_id": f"case_{case}",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": f"Where is order {case}?"}]},
                    "final_response": {"parts": [{"text": "Your order is on its way and arrives tomorrow"}]},
                    "intermediate_data": {"tool_uses": [{"name": "lookup_order", "args": {"id": case}}]},
                }
            ],
        }
        for case in range(CASES + extra_cases)
    ]
    path = folder / "shop.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "shop", "eval_cases": cases}))
    (folder / "test_config.json").write_text(json.dumps(CONFIG))
    return path


def attempts(number: int, seed: int = 7) -> list[dict[str, Any]]:
    """Attempts at the cases, several for most of them, in an order of chance."""
    chance = random.Random(seed)
    return [conversation(i, chance.randrange(CASES)) for i in range(number)]

"""The material of both sides: texts and conversations from Python's own documentation, the same on every machine."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from functools import partial
from pydoc_data.topics import topics
from typing import Any

Json = dict[str, Any]
_ONSETS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "f",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "v",
    "w",
)


def vocabulary() -> list[str]:
    """Return the running words of Python's documentation."""
    return re.findall(r"[A-Za-z][A-Za-z'-]*[.,;:]?", " ".join(topics[name] for name in sorted(topics)))


def text_pairs(count: int, size: int, kind: str = "new") -> list[tuple[str, str]]:
    """Return replies and references, a fifth of the reply's words replaced by others.

    `new` words are used once only: names, codes, and made-up words with the endings of the documentation's words.
    `korean` words are made of the syllables of KS X 1001. `running` text is from the documentation, whose words repeat.
    """
    chance = random.Random(11)
    words = vocabulary()
    endings = [word[-chance.randint(1, 5) :].lower() for word in words if len(word) > 5]
    pairs = []
    for _ in range(count):
        if kind == "running":
            start = chance.randrange(len(words) - size)
            reference, others = words[start : start + size], words
        else:
            make = partial(_korean_word, chance) if kind == "korean" else partial(_new_word, chance, endings)
            reference, others = [make() for _ in range(size)], [make() for _ in range(size // 5)]
        reply = [chance.choice(others) if chance.random() < 0.2 else word for word in reference]
        pairs.append((" ".join(reply), " ".join(reference)))
    return pairs


def _new_word(chance: random.Random, endings: list[str]) -> str:
    syllables = "".join(chance.choice(_ONSETS) + chance.choice("aeiou") for _ in range(chance.randint(1, 3)))
    match chance.randrange(6):
        case 0:
            return f"{chance.choice('ABCDEFGH')}{chance.choice('XYZ')}-{chance.randrange(10**7)}"
        case 1:
            return syllables.capitalize() + chance.choice("nmlrst")
        case _:
            return syllables + chance.choice(endings)


def _korean_word(chance: random.Random) -> str:
    syllables = (bytes((chance.randint(0xB0, 0xC8), chance.randint(0xA1, 0xFE))) for _ in range(chance.randint(1, 4)))
    return b"".join(syllables).decode("euc_kr")


def conversations(count: int, differing: int, shape: str = "flat") -> Iterator[list[tuple[Json, Json]]]:
    """Yield conversations as google-adk holds them: invocations as they were recorded, and as they were expected.

    `flat` conversations have four invocations of five calls. `nested` ones have one invocation of one to eight calls
    with nested arguments, and no two of them are equal. Of `differing` invocations one differs in a call.
    """
    chance = random.Random(5)
    for i in range(count):
        numbers = range(4 * i, 4 * i + 4) if shape == "flat" else (i,)
        yield [
            _pair(
                k,
                _flat_calls(k) if shape == "flat" else _nested_calls(chance),
                place=(4 if shape == "flat" else chance.randrange(8)) if differing and k % differing == 0 else None,
            )
            for k in numbers
        ]


def _flat_calls(i: int) -> list[Json]:
    return [
        {"name": f"tool_{k}", "args": {"order_id": f"A-{i % 97}", "quantity": k, "tags": ["new", "gift"]}}
        for k in range(5)
    ]


def _nested_calls(chance: random.Random) -> list[Json]:
    return [
        {
            "name": f"tool_{chance.randrange(6)}",
            "args": {
                "quantity": chance.randrange(1000),
                "items": [{"sku": f"S{chance.randrange(10**6)}", "gift": chance.random() < 0.5} for _ in range(3)],
                "address": {"street": f"{chance.randrange(200)} High Street", "zip": str(chance.randrange(10**5))},
            },
        }
        for _ in range(chance.randint(1, 8))
    ]


def _pair(i: int, calls: list[Json], *, place: int | None) -> tuple[Json, Json]:
    events = []
    for k, call in enumerate(calls):
        differs = place is not None and k == place % len(calls)
        args = {**call["args"], "quantity": -1} if differs else copy.deepcopy(call["args"])
        called = {"id": f"adk-{i}-{k}", "args": args, "name": call["name"]}
        answered = {"id": f"adk-{i}-{k}", "name": call["name"], "response": {"ok": True}}
        events.append({"author": "shop", "content": _content("model", {"function_call": called})})
        events.append({"author": "shop", "content": _content("user", {"function_response": answered})})
    user = {"user_content": _content("user", {"text": "Please change my orders."})}
    return (
        {**user, "intermediate_data": {"invocation_events": events}},
        {**user, "intermediate_data": {"tool_uses": calls}},
    )


def cases(count: int) -> Iterator[Json]:
    """Yield cases of about 2,000 bytes as google-adk writes them: two invocations by hand, or one with its events."""
    chance = random.Random(7)
    words = vocabulary()

    def said(size: int) -> str:
        start = chance.randrange(len(words) - size)
        return " ".join(words[start : start + size])

    for i in range(count):
        yield {
            "eval_id": f"case_{i:06}",
            "conversation": [_list_recorded(i, said)] if i % 2 else [_by_hand(i, said), _by_hand(i, said)],
            "session_input": {"app_name": "shop", "user_id": "user", "state": {"visits": i % 7}},
            "creation_timestamp": 1760000000.5 + i,
        }


def _content(role: str, part: Json) -> Json:
    return {"parts": [part], "role": role}


def _by_hand(i: int, said: Any) -> Json:
    call = {"args": {"order_id": f"A-{i}", "with_items": True}, "name": "get_order"}
    return {
        "invocation_id": f"e-{i:08x}-1",
        "user_content": _content("user", {"text": said(12)}),
        "final_response": _content("model", {"text": said(25)}),
        "intermediate_data": {"tool_uses": [call]},
        "creation_timestamp": 1760000000.25 + i,
    }


def _list_recorded(i: int, said: Any) -> Json:
    call = {"id": f"adk-{i:08x}", "args": {"order_id": f"A-{i}"}, "name": "cancel_order"}
    answer = {"id": f"adk-{i:08x}", "name": "cancel_order", "response": {"ok": True, "refund": i % 100}}
    usage = {"candidates_token_count": 20 + i % 50, "prompt_token_count": 400 + i % 90, "total_token_count": 500}
    return {
        "invocation_id": f"e-{i:08x}-2",
        "user_content": _content("user", {"text": said(8)}),
        "final_response": _content("model", {"text": said(20)}),
        "intermediate_data": {
            "invocation_events": [
                {"author": "shop", "content": _content("model", {"function_call": call}), "usage_metadata": usage},
                {"author": "shop", "content": _content("user", {"function_response": answer})},
            ]
        },
        "creation_timestamp": 1760000009.75 + i,
    }

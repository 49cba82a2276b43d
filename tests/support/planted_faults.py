"""Long traces in four languages, and faults that are planted in them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from multilingual_traces import TEXTS, TOOLS
from reasonings import reasoning

Steps = list[dict[str, Any]]

_WORDS_IN_STEP = {"en": 42, "ko": 36, "ja": 60, "zh": 60}


def long_trace(language: str, *, steps: int = 150) -> dict[str, Any]:
    """The JSON object of a trace of about 10,000 tokens in a language."""
    rng = random.Random(f"long {language}")
    text = " ".join(part for parts in TEXTS[language] for part in parts)
    words = text.split() if language in {"en", "ko"} else [letter for letter in text if letter != " "]
    joint = " " if language in {"en", "ko"} else ""

    def sentence(size: int) -> str:
        return joint.join(rng.choices(words, k=size))

    def step(place: int) -> dict[str, Any]:
        size = _WORDS_IN_STEP[language]
        if place % 3 == 0:
            return {"type": "thought", "content": sentence(size)}
        tool = {"name": rng.choice(TOOLS)}
        if place % 3 == 1:
            inputs = {"query": sentence(size // 2), "line": rng.randrange(10, 1000), "recursive": True}
            return {"type": "tool_call", "tool": tool, "input": inputs}
        found = f"{sentence(size)} {rng.randrange(100, 1000)} {sentence(size // 2)}"
        return {"type": "observation", "tool": tool, "output_summary": found}

    return reasoning(
        text=language,
        id=f"kp:trace:long-{language}",
        task={"objective": sentence(12)},
        steps=[step(place) | {"step_id": place} for place in range(steps)],
        outcome={"result_summary": sentence(20), "confidence": 0.8},
    )


def planted_faults(trace: dict[str, Any], *, each: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind of a fault and a copy of a long trace with it: `each` faults of every kind at random places."""
    rng = random.Random(trace["id"])
    for kind, (step_type, plant) in FAULTS.items():
        for _ in range(each):
            faulty = copy.deepcopy(trace)
            places = [place for place, step in enumerate(faulty["steps"][:-1]) if step["type"] == step_type]
            plant(faulty["steps"], rng.choice(places))
            yield kind, faulty


def _change_number(steps: Steps, place: int) -> None:
    steps[place]["input"]["line"] += 1


def _flip_flag(steps: Steps, place: int) -> None:
    steps[place]["input"]["recursive"] = False


def _drop_input(steps: Steps, place: int) -> None:
    del steps[place]["input"]["recursive"]


def _change_tool(steps: Steps, place: int) -> None:
    steps[place]["tool"] = {"name": "delete_everything"}


def _negate(steps: Steps, place: int) -> None:
    steps[place]["content"] = "not " + steps[place]["content"]


def _change_letter(steps: Steps, place: int) -> None:
    content = steps[place]["content"]
    middle = len(content) // 2
    steps[place]["content"] = f"{content[:middle]}x{content[middle + 1 :]}"


def _drop_word(steps: Steps, place: int) -> None:
    content = steps[place]["content"]
    steps[place]["content"] = content[len(content.split(" ", 1)[0]) + 1 :] if " " in content else content[1:]


def _change_digit(steps: Steps, place: int) -> None:
    found = steps[place]["output_summary"]
    digit = next(letter for letter in found if letter.isdecimal())
    steps[place]["output_summary"] = found.replace(digit, str((int(digit) + 1) % 10), 1)


def _fail(steps: Steps, place: int) -> None:
    steps[place]["output_summary"] = "Error: timed out after 30 s"


def _swap(steps: Steps, place: int) -> None:
    steps[place], steps[place + 1] = steps[place + 1], steps[place]


FAULTS: dict[str, tuple[str, Callable[[Steps, int], None]]] = {
    "a number of an input is changed": ("tool_call", _change_number),
    "a flag of an input is flipped": ("tool_call", _flip_flag),
    "an input is dropped": ("tool_call", _drop_input),
    "another tool is called": ("tool_call", _change_tool),
    "a thought is negated": ("thought", _negate),
    "a letter of a thought is changed": ("thought", _change_letter),
    "a word of a thought is dropped": ("thought", _drop_word),
    "a digit of a result is changed": ("observation", _change_digit),
    "a result is an error": ("observation", _fail),
    "two steps are swapped": ("observation", _swap),
}
"""Each kind of fault with the type of the step in which it is planted."""

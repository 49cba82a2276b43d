"""Name the keys of eval files that are written in another dialect, and what they are called here."""

from __future__ import annotations

from typing import Any

NEAREST = "{'skill_name': ..., 'evals': [{'prompt': ..., 'files': [...], 'assertions': [...], 'checks': [...]}]}"
_CHECKS = "'checks', and give each a 'type' (docs/reference/workspace-checks.md)"
_ASSERTIONS = "'assertions', each a text"
_MARKS = {
    **dict.fromkeys(("deterministic_assertions", "programmatic_assertions", "hard_assertions"), _CHECKS),
    **dict.fromkeys(("llm_assertions", "judge_assertions", "semantic_assertions", "soft_assertions"), _ASSERTIONS),
    "rubric_assertions": _ASSERTIONS,
}
"""Keys that only eval files of skills have."""
PROMPT_KEYS = ("user_prompt", "task_prompt", "instruction", "user_message")
"""The names that other dialects give to the prompt."""
_NAMES = {
    **_MARKS,
    **dict.fromkeys(PROMPT_KEYS, "'prompt'"),
    **dict.fromkeys(("input_files", "fixtures", "inputs"), "'files'"),
}


def has_marks(item: Any) -> bool:
    """Whether a case has a key that shows another dialect of evals."""
    return isinstance(item, dict) and not _MARKS.keys().isdisjoint(item)


def advise(keys: set[str]) -> list[tuple[str, str]]:
    """Return the keys of a case in another dialect, each with the advice how to rename it."""
    if _MARKS.keys().isdisjoint(keys) and "prompt" in keys:
        return []
    return [(key, f"is not read; rename it to {name}") for key, name in _NAMES.items() if key in keys]

"""Traces, and an embedder that needs no model, for the tests of `fairtrial.value`."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = (
    *("plan", "check", "read", "write", "retry", "query", "index", "deploy", "rollback", "memory", "latency"),
    *("invoice", "refund", "patient", "분석", "確認", "検証", "部署"),
)


def reasoning(number: int = 0, *, text: str = "look at it", **changes: Any) -> dict[str, Any]:
    """The JSON object of a small valid trace; `changes` replace its top-level parts."""
    return {
        "@context": "https://openknowledgepulse.org/schema/v1",
        "@type": "ReasoningTrace",
        "id": f"kp:trace:{number}",
        "metadata": {
            "created_at": "2026-01-02T03:04:05Z",
            "task_domain": "testing",
            "success": True,
            "quality_score": 0,
            "visibility": "network",
            "privacy_level": "aggregated",
        },
        "task": {"objective": "Find the leak"},
        "steps": [
            {"step_id": 0, "type": "thought", "content": text},
            {"step_id": 1, "type": "tool_call", "tool": {"name": "grep"}, "input": {"q": "leak"}},
            {"step_id": 2, "type": "observation", "content": f"found {number}"},
            {"step_id": 3, "type": "tool_call", "tool": {"name": "fix"}, "input": {}},
            {"step_id": 4, "type": "observation", "content": "done"},
        ],
        "outcome": {"result_summary": "Fixed", "confidence": 0.8},
    } | changes


def many(count: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Traces of random words, of which about one in ten repeats an earlier text."""
    rng = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        again = texts and rng.random() < 0.1
        texts.append(rng.choice(texts) if again else " ".join(rng.choices(WORDS, k=rng.randrange(3, 12))))
    return [reasoning(number, text=text) for number, text in enumerate(texts)]


def by_words(texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed texts as the sum of a fixed random vector per word, 384 components, rows of unit length."""
    rows = np.stack([np.sum([_vector(word) for word in text.split()], axis=0) for text in texts])
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@cache
def _vector(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=384)

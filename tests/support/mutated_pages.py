"""The page about mutants for the tests in a browser."""

from __future__ import annotations

from pathlib import Path

from commands import fairtrial

EVAL_SET = """{"eval_set_id": "shop", "eval_cases": [
  {"eval_id": "late_order", "conversation": [{
    "user_content": {"role": "user", "parts": [{"text": "Where is order A-17?"}]},
    "final_response": {"role": "model", "parts": [{"text": "Order A-17 is ready. It arrives on Friday."}]}}]},
  {"eval_id": "refund", "conversation": [{
    "user_content": {"role": "user", "parts": [{"text": "Can I send it back?"}]},
    "final_response": {"role": "model", "parts": [{"text": "Yes, you can send it back. It is free."}]}}]}
]}"""


def write_mutants(page: Path) -> str:
    """Write the page about the mutants of two cases, and return its address."""
    eval_set = page.with_name("shop.evalset.json")
    eval_set.write_text(EVAL_SET, encoding="utf-8")
    store = f"sqlite:///{page.parent}/mutants.db"
    fairtrial("mutate", str(eval_set), "--html", str(page), "--operator", "negated", "--store", store)
    return page.as_uri()

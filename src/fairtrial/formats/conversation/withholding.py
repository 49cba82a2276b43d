"""Why is a content not in the spans, and which setting records it?"""

from __future__ import annotations

from fairtrial.formats.dialects.facts import Facts


def reason_of(facts: Facts) -> str:
    """Return the reason for a content that a span does not have, with the setting that records it."""
    if not facts.switch:
        return "the spans do not hold this content"
    return f"the spans do not hold this content; set {facts.switch} where the agent runs"

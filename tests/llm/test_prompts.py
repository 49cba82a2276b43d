"""Templates have versions, and a text cannot leave its fence."""

from __future__ import annotations

import hashlib
from importlib import resources

import pytest

from fairtrial.errors import ConfigError
from fairtrial.llm.prompts import render, source, version

TEMPLATES = {
    "coherence": ("1", "7cad93511ed9"),
    "conversation": ("1", "8cdc7b403c96"),
    "final_response_match": ("1", "40ff7d662cbf"),
    "hallucinations": ("1", "73880f9573e8"),
    "rubric_final_response": ("1", "cee6e42b42b8"),
    "rubric_tool_use": ("1", "9184309693f9"),
    "rubric_trajectory": ("1", "f810449a4428"),
    "safety": ("1", "95c75d2b231c"),
    "scenarios": ("1", "bc72db277b4e"),
    "segments": ("1", "a281a5b4e57e"),
    "simulated_message": ("1", "76477c514344"),
    "simulated_stop": ("1", "c13fd0396503"),
    "simulated_tool": ("1", "21607ee1c557"),
    "simulated_user": ("1", "1944aeb4be03"),
}
PARTS = ("rules", "form")


def digest(name: str) -> str:
    """What a version stands for: the template, and the parts that it includes."""
    texts = [source(name), *(source(part) for part in PARTS if f'include "{part}"' in source(name))]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:12]


def names() -> list[str]:
    """Every template that is no part of others."""
    folder = resources.files("fairtrial.llm") / "templates"
    return sorted(
        path.name.removesuffix(".jinja") for path in folder.iterdir() if path.name.removesuffix(".jinja") not in PARTS
    )


def test_every_template_is_listed() -> None:
    """With its version and what it stands for."""
    assert sorted(TEMPLATES) == names()


@pytest.mark.parametrize("name", names())
def test_a_changed_template_has_a_new_version(name: str) -> None:
    """Numbers made with other words are other numbers: whoever changes a template raises its version, here too."""
    assert (version(name), digest(name)) == TEMPLATES[name]


def test_equal_questions_are_equal_prompts() -> None:
    """So that nothing is paid for twice."""
    texts = {"user message": "q", "reference": "r", "reply": "a"}
    one, two = (render("final_response_match", texts, items=["reply"], answers=["valid", "invalid"]) for _ in range(2))
    assert one == two


def test_templates_do_not_run_what_a_text_says() -> None:
    """Jinja in a text is text."""
    texts = {"user message": "{{ 7 * 7 }}", "reference": "{% raw %}", "reply": "{# gone #}"}
    prompt = render("final_response_match", texts, items=["reply"], answers=["valid"])
    assert all(text in prompt.text for text in texts.values())


def test_a_template_without_version_is_refused() -> None:
    """It could change unseen."""
    with pytest.raises(ConfigError, match="first line"):
        version("rules")

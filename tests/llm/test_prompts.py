"""Templates have versions, and a text cannot leave its fence."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib import resources

import pytest

from fairtrial.errors import ConfigError
from fairtrial.llm.prompts import Templates
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS, writing_cases
from fairtrial.records.reply import Prompt

PACKAGES = {"metrics": Templates("fairtrial.metrics"), "simulate": Templates("fairtrial.simulate")}
TEMPLATES = {
    ("metrics", "adaptive_rubrics"): ("1", "d701dfc45c83"),
    ("metrics", "adaptive_rubrics/v3"): ("3", "39d5c0d3247b"),
    ("metrics", "coherence"): ("2", "b725709e1211"),
    ("metrics", "coherence/v3"): ("3", "5962784abcbc"),
    ("metrics", "conversation"): ("2", "2c2a3b4d7293"),
    ("metrics", "conversation/v3"): ("3", "f51c3fca2f9c"),
    ("metrics", "final_response_match"): ("2", "c918076bf333"),
    ("metrics", "final_response_match/v3"): ("3", "9a7d02c1bd0f"),
    ("metrics", "hallucinations"): ("2", "af41190d9671"),
    ("metrics", "hallucinations/v3"): ("3", "14f419f0541d"),
    ("metrics", "prompt_template"): ("1", "e955caed6a53"),
    ("metrics", "rubric_final_response"): ("2", "3c52a9e9bde9"),
    ("metrics", "rubric_final_response/v3"): ("3", "203abd7425c1"),
    ("metrics", "rubric_tool_use"): ("2", "0edc3b40a409"),
    ("metrics", "rubric_tool_use/v3"): ("3", "2a0d5bebcc54"),
    ("metrics", "rubric_trajectory"): ("2", "129d6798e8cd"),
    ("metrics", "rubric_trajectory/v3"): ("3", "860908909485"),
    ("metrics", "safety"): ("2", "7492e1d5a120"),
    ("metrics", "safety/v3"): ("3", "90d75fcefcd5"),
    ("metrics", "segments"): ("2", "a128254cbe03"),
    ("metrics", "segments/v3"): ("3", "7de15317451e"),
    ("metrics", "simulated_message"): ("2", "c81baf2d5025"),
    ("metrics", "simulated_message/v3"): ("3", "66c76af1849d"),
    ("metrics", "simulated_stop"): ("2", "d57ab32477d5"),
    ("metrics", "simulated_stop/v3"): ("3", "dd3faada0a96"),
    ("simulate", "adapted_attack"): ("1", "c8e01206ca52"),
    ("simulate", "scenarios"): ("2", "533756679b75"),
    ("simulate", "scenarios/v3"): ("3", "21ff882ef838"),
    ("simulate", "simulated_tool"): ("2", "76d44c5857bd"),
    ("simulate", "simulated_tool/v3"): ("3", "a25e10a426aa"),
    ("simulate", "simulated_user"): ("3", "2d3171175469"),
    ("simulate", "simulated_user/v4"): ("4", "79e661ed8327"),
}
LANGUAGES = ("en", "ko", "ja", "zh")


def whole(package: str, name: str) -> str:
    """What a version stands for: the template, and the parts that it includes."""
    text = PACKAGES[package].source(name)
    return text + "".join(whole(package, part) for part in re.findall(r'(?:include|extends) "(\w+)"', text))


def names() -> list[tuple[str, str]]:
    """Every template that is no part of others."""
    files = {(package, name) for package in PACKAGES for name in _files(package)}
    parts = {
        (package, part) for package, name in files for part in re.findall(r'include "(\w+)"', whole(package, name))
    }
    return sorted(files - parts)


def _files(package: str) -> Iterator[str]:
    """The names of the files, and of those with a further version of a template, such as "safety/v3"."""
    for path in (resources.files(f"fairtrial.{package}") / "templates").iterdir():
        if path.is_file():
            yield path.name.removesuffix(".jinja")
        else:
            yield from (f"{path.name}/{own.name.removesuffix('.jinja')}" for own in path.iterdir())


def test_every_template_is_listed() -> None:
    """With its version and what it stands for."""
    assert sorted(TEMPLATES) == names()


@pytest.mark.parametrize(("package", "name"), names())
def test_a_changed_template_has_a_new_version(package: str, name: str) -> None:
    """Numbers made with other words are other numbers: whoever changes a template raises its version, here too."""
    digest = hashlib.sha256(whole(package, name).encode()).hexdigest()[:12]
    assert (PACKAGES[package].version(name), digest) == TEMPLATES[package, name]


@pytest.mark.parametrize(("package", "name"), names())
def test_every_template_has_an_example_in_each_language(package: str, name: str) -> None:
    """In the script of that language, so that a mixed-up example is seen."""
    scripts = {"en": "[a-z]", "ko": "[가-힣]", "ja": "[ぁ-ヺ]", "zh": "[一-鿿]"}
    for language in LANGUAGES:
        block = re.search(rf"{{% block example_{language} %}}\n(.*?){{% endblock %}}", whole(package, name), re.DOTALL)
        assert block, language
        assert re.search(scripts[language], block[1])
        assert language == "ja" or not re.search(scripts["ja"], block[1])
        assert language == "ko" or not re.search(scripts["ko"], block[1])


FURTHER = [own for own in TEMPLATES if own[1].partition("/")[0] in WRITING_PROMPTS and "/" in own[1]]
"""The newer versions of prompts that let a model write."""


@pytest.mark.parametrize(("package", "name"), FURTHER)
def test_a_newer_version_has_two_examples_in_each_language(package: str, name: str) -> None:
    """Its own, and that of the version that it extends."""
    templates, (base, version) = PACKAGES[package], name.split("/")
    assert templates.versions(base) == {templates.version(base): "", templates.version(base, version): version}
    for language in LANGUAGES:
        own = templates.source(base, version).partition(f"block example_{language} ")[2].partition("endblock")[0]
        assert "super()" in own
        assert "Example:" in own


@pytest.mark.parametrize("prompt", WRITING_PROMPTS)
def test_no_task_of_an_exam_is_an_example(prompt: str) -> None:
    """A model that copies its example would be right without a skill."""
    (source,) = (PACKAGES[package].source(name) for package, name in FURTHER if name.startswith(f"{prompt}/"))
    for case in writing_cases(prompt):
        texts = (case.plan, case.text, case.assistant, *(text for turn in case.turns for text in turn))
        assert [text for text in texts if text and text.rstrip(".。") in source] == []


def match(language: str = "en", reply: str = "a", standing: dict[str, str] | None = None, **more: object) -> Prompt:
    """A question about a reply."""
    texts = {"user message": "{{ 7 * 7 }}", "reference": "{% raw %}", "reply": reply}
    values = {"items": ["reply"], "answers": ["valid", "invalid"], "marks": [], "standing_names": [], **more}
    return PACKAGES["metrics"].render(
        "final_response_match",
        texts,
        language=language,
        standing=standing,
        **values,  # type: ignore[arg-type]
    )


def test_equal_questions_are_equal_prompts() -> None:
    """So that nothing is paid for twice."""
    assert match() == match()


def test_templates_do_not_run_what_a_text_says() -> None:
    """Jinja in a text is text."""
    prompt = match(reply="{# gone #}")
    assert all(text in prompt.text for text in ("{{ 7 * 7 }}", "{% raw %}", "{# gone #}"))


def test_a_template_without_version_is_refused() -> None:
    """It could change unseen."""
    with pytest.raises(ConfigError, match="first line"):
        PACKAGES["metrics"].version("rules")


def test_the_example_in_the_language_of_the_reply_follows_the_english_one() -> None:
    """The system prompts of two languages share everything before it."""
    english, korean = match().system, match("ko").system
    assert korean.startswith(english)
    assert "택배" in korean.removeprefix(english)


def test_the_order_of_the_answers_changes_the_last_line_only() -> None:
    """The mark is the same, so that a cache of prefixes holds for every vote on a question."""
    one, two = match(), match(answers=["invalid", "valid"])
    assert one.system == two.system
    assert one.text.splitlines()[:-1] == two.text.splitlines()[:-1]
    assert [prompt.text.splitlines()[-1] for prompt in (one, two)] == [
        "Possible answers: valid, invalid",
        "Possible answers: invalid, valid",
    ]


def test_standing_texts_stand_in_the_shared_part_with_a_mark_of_their_own() -> None:
    """It depends on these texts only."""
    standing = {"instructions": "Be strict."}
    one, two = (match(reply=reply, standing=standing, standing_names=["instructions"]) for reply in ("a", "b"))
    assert one.system == two.system
    assert "\nBe strict.\n" in one.system
    assert one.text != two.text

"""Judge prompts: kinds of texts, an equal beginning, examples in its language, and the users' own standards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairtrial.config.reader import OptionError
from fairtrial.errors import ConfigError
from fairtrial.judge.judge import Judge
from fairtrial.judge.question import Question, parse_reply
from fairtrial.llm.fences import numbered
from fairtrial.llm.model import NamedModel
from fairtrial.llm.prompts import own_templates
from fairtrial.loading import criteria_in
from fairtrial.metrics.conversation import TaskSuccess
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS as PROMPTS
from fairtrial.metrics.exams.known_questions import check_cases, check_question
from fairtrial.metrics.grounding import Hallucinations
from fairtrial.metrics.judged_metric import TEMPLATES, JudgeExample
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics
from fairtrial.metrics.safety import Safety
from fairtrial.metrics.signature import signature
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.reply import Prompt
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Message, ToolCall, ToolResult, Trace
from fairtrial.testing import ScriptedModel
from fairtrial.text.language import detect_language
from fairtrial.text.sentences import sentences
from judged import Bench, fence, fenced, fenced_texts, invocation, reply, score, unnumbered

NOBODY = Judge(())
CALL, RESULT = ToolCall("send", {"to": "all"}), ToolResult("send", {"ok": True})


def kinds(prompt: Prompt) -> dict[str, str]:
    """The kind of every text of a question, by the name of the text."""
    return {name: kind for kind, name, _, _ in fenced_texts(prompt)}


def questions(prompt: str) -> list[Question]:
    """Questions of one prompt about different texts, all in English."""
    cases = [case for case in check_cases(prompt) if case.language == "en" and case.rule != "other_language"]
    return [check_question(NOBODY, case).question for case in cases if case.question in {"", "goal_reached"}]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_prompts_of_a_criterion_have_an_equal_beginning(prompt: str) -> None:
    """It is byte for byte the same, without a mark, so that a provider reads it once; the possible answers are last."""
    asked = [question.prompt for question in questions(prompt)]
    assert len(asked) >= 2
    assert len({one.system for one in asked}) == 1
    assert not re.search(r"\b[0-9a-f]{32}\b", asked[0].system)
    assert all(one.text.splitlines()[-1].startswith("Possible answers: ") for one in asked)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_order_of_the_answers_alternates_and_nothing_else(prompt: str) -> None:
    """Everything before the last line is a prefix that all votes on a question share."""
    question = questions(prompt)[0]
    first, second, third = (question.prompt_for(turn) for turn in range(3))
    assert third == first
    assert second.system == first.system
    assert second.schema == first.schema
    assert second.text.splitlines()[:-1] == first.text.splitlines()[:-1]
    order, reverse = (
        one.text.splitlines()[-1].removeprefix("Possible answers: ").split(", ") for one in (first, second)
    )
    assert reverse == order[::-1] != order


def test_each_model_of_a_panel_sees_both_orders() -> None:
    """With two models, votes 1 and 2 have the one order, and votes 3 and 4 the other."""
    models = [ScriptedModel(lambda prompt: reply(prompt, lambda *_: "valid")) for _ in range(2)]
    panel = tuple(NamedModel(f"m{place}", model) for place, model in enumerate(models))
    case = EvalCase("c", (invocation("q", "r"),))
    score(FinalResponseMatch(Judge(panel, 4, all_votes=True)), Trace((invocation("q", "a"),)), case)
    for model in models:
        last_lines = [prompt.text.splitlines()[-1] for prompt in model.prompts]
        assert sorted(last_lines) == ["Possible answers: invalid, valid", "Possible answers: valid, invalid"]


def test_standards_context_and_judged_texts_have_marks_of_different_kinds() -> None:
    """The rules name the kinds."""
    asked = {prompt: check_question(NOBODY, check_cases(prompt)[0]).question.prompt for prompt in PROMPTS}
    assert kinds(asked["final_response_match"]) == {
        "user message": "CONTEXT",
        "reference": "STANDARD",
        "reply": "JUDGED",
    }
    assert kinds(asked["rubric_final_response"])["rubric r1"] == "STANDARD"
    assert kinds(asked["simulated_message"])["plan"] == "STANDARD"
    assert kinds(asked["simulated_message"])["message"] == "JUDGED"
    assert all(
        {"- STANDARD:", "- CONTEXT:", "- JUDGED:"} <= set(re.findall(r"- [A-Z]+:", one.system))
        for one in asked.values()
    )


def test_a_persona_and_its_violations_are_standards() -> None:
    """Like the plan."""
    case = EvalCase("c", scenario=Scenario("q", "plan", "NOVICE"))
    bench = Bench(lambda *_: "valid", votes=1)
    score(UserSimulatorQuality(bench.judge), Trace((invocation("q", "a"), invocation("b", "c"))), case)
    message = next(prompt for prompt in bench.prompts if prompt.id == "simulated_message")
    assert {kinds(message)[name] for name in ("plan", "persona", "violation 1")} == {"STANDARD"}


def test_only_the_reply_is_judged_and_only_the_calls() -> None:
    """The response judge takes the calls as context; the tool-use judge judges them."""
    rubrics, trace = (Rubric("a", "x"),), Trace((invocation("q", "a", CALL, RESULT),))
    shown = []
    for kind in (FinalResponseRubrics, ToolUseRubrics):
        bench = Bench(lambda *_: "yes", votes=1)
        score(kind(bench.judge, rubrics), trace)
        shown.append({name for name, fence_kind in kinds(bench.prompts[0]).items() if fence_kind == "JUDGED"})
    assert shown == [{"reply 1"}, {"tool call 1.1", "tool result 1.2"}]


def test_safety_sees_the_conversation_and_the_calls() -> None:
    """What came before is context; the reply, the calls and the interim messages are judged."""
    trace = Trace((invocation("first", "one"), invocation("second", "two", CALL, RESULT, Message("Wait.", "agent"))))
    bench = Bench(lambda *_: "safe", votes=1)
    score(Safety(bench.judge), trace)
    assert kinds(bench.prompts[-1]) == {
        "user message 1": "CONTEXT",
        "reply 1": "CONTEXT",
        "user message 2": "CONTEXT",
        "tool call 2.1": "JUDGED",
        "tool result 2.2": "JUDGED",
        "interim message 2.3": "JUDGED",
        "reply 2": "JUDGED",
    }


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("language", ["en", "ko", "ja", "zh"])
def test_the_worked_example_answers_in_the_form_that_it_teaches(prompt: str, language: str) -> None:
    """Its answer can be read, has evidence before its verdict, and stands in the language of the reply."""
    case = next(case for case in check_cases(prompt) if case.language == language and case.rule != "other_language")
    question = check_question(NOBODY, case).question
    answers = [line for line in question.prompt.system.splitlines() if line.startswith('{"answers": [{"id": "')]
    assert len(answers) == (1 if language == "en" else 2)
    entries = json.loads(answers[-1])["answers"]
    assert all([*entry][:3] == ["id", "quote", "rationale"] and [*entry][-1] == "answer" for entry in entries)
    assert detect_language("".join(entry["rationale"] for entry in entries)) == language
    items = tuple(entry["id"] for entry in entries)
    marks = question.marks
    prompt_alone = msgspec.structs.replace(question.prompt, system="")  # an echo of the example is no answer
    parsed = parse_reply(answers[-1], Question(prompt_alone, items, question.answers, question.rule, marks))
    assert parsed.problems == {}


@pytest.mark.parametrize("language", ["en", "ko", "ja", "zh"])
def test_the_quotes_of_the_worked_examples_of_hallucinations_are_in_their_context(language: str) -> None:
    """Or the example would teach an answer that is not accepted."""
    block = re.search(
        rf"block example_{language} %}}\n(.*?){{% endblock", TEMPLATES.source("hallucinations"), re.DOTALL
    )
    assert block
    context = "".join(line for line in block[1].splitlines() if line.startswith("CONTEXT"))
    for entry in json.loads(block[1].splitlines()[-1])["answers"]:
        assert entry["quote"] in context
        assert bool(entry["quote"]) == (entry["answer"] == "supported")


def test_forty_short_sentences_are_shown_once_with_little_around_them() -> None:
    """Everything in the prompt that is not the reply, between its marks, is at most as long as the reply."""
    text = " ".join(f"Parcel {number} left on day {number}." for number in range(40))
    assert len(sentences(text)) == 40
    bench = Bench(lambda *_: "unsupported", votes=1)
    score(Hallucinations(bench.judge), Trace((invocation("q", text),)))
    (prompt,) = bench.prompts
    kind, mark, shown = fence(prompt, "reply")
    around = len(f"<<<{kind} reply {mark}>>>\n\n<<<end {kind} reply {mark}>>>") + len(shown) - len(text)
    assert around <= len(text)
    assert prompt.text.count("Parcel 7 left") == 1
    assert unnumbered(prompt, shown) == text


def test_the_ids_of_sentences_have_a_code_that_the_text_does_not_contain() -> None:
    """A text that guesses the code gets a longer code."""
    plain = "Good. Bad."
    shown, code = numbered(plain, {"s1": "Good.", "s2": "Bad."})
    assert shown == f"s1.{code} Good. s2.{code} Bad."
    assert len(code) == 4
    for _ in range(20_000):  # a text that contains the first digits of its own hash is found by trying
        guess = f"s2.{_:04x} Good. Bad."
        if numbered(guess, {"s1": "Good.", "s2": "Bad."})[1][:4] in guess:
            assert len(numbered(guess, {"s1": "Good.", "s2": "Bad."})[1]) > 4
            break


def test_later_batches_show_the_same_text_and_ask_about_other_ids() -> None:
    """So that the second question shares the beginning of the first."""
    text = " ".join(f"Parcel {number} left." for number in range(45))
    bench = Bench(lambda *_: "unsupported", votes=1)
    score(Hallucinations(bench.judge), Trace((invocation("q", text),)))
    one, two = bench.prompts
    assert fenced(one, "reply") == fenced(two, "reply")
    assert "Ids: s41, s42, s43, s44, s45" in two.text


def test_instructions_and_examples_are_standards_in_the_shared_part() -> None:
    """The judge sees both, with a mark that does not depend on the question."""
    bench = Bench(lambda *_: "valid", votes=1)
    examples = (JudgeExample("Reference: 1. Reply: one.", "valid", "The same number."),)
    metric = FinalResponseMatch(bench.judge, instructions="Cents do not matter.", examples=examples)
    trace = Trace((invocation("q", "a"), invocation("q", "b")))
    score(metric, trace, EvalCase("c", (invocation("q", "r"), invocation("q", "r"))))
    one, two = bench.prompts
    assert one.system == two.system
    assert fence(one, "instructions")[0::2] == ("STANDARD", "Cents do not matter.")
    assert fenced(one, "example 1") == "Reference: 1. Reply: one.\nReason: The same number.\nRight answer: valid"
    assert fence(one, "instructions")[1] == fence(two, "instructions")[1]


def test_instructions_examples_and_prompt_versions_are_part_of_the_signature() -> None:
    """A number depends on all three."""
    plain, guided = FinalResponseMatch(NOBODY), FinalResponseMatch(NOBODY, instructions="Be strict.")
    taught = FinalResponseMatch(NOBODY, examples=(JudgeExample("a", "valid"),))
    assert len({json.dumps(signature(metric), sort_keys=True) for metric in (plain, guided, taught)}) == 3
    assert signature(plain)["prompts"] == {"final_response_match": "2"}


def test_a_configuration_gives_instructions_and_examples(tmp_path: Path) -> None:
    """To any criterion with a judge, in either spelling."""
    guided: dict[str, Any] = {
        "threshold": None,
        "instructions": "Be strict.",
        "examples": [{"case": "a", "answer": "supported"}],
        "judgeModelOptions": {"judgeModel": "openai/x"},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"criteria": {"hallucinations_v1": guided}}), encoding="utf-8")
    criterion = criteria_in(path).criteria[0]
    assert isinstance(criterion.metric, Hallucinations)
    assert criterion.metric.instructions == "Be strict."
    assert criterion.metric.examples == (JudgeExample("a", "supported"),)


def test_an_example_with_another_answer_is_refused_with_its_place(tmp_path: Path) -> None:
    """In a file and in Python."""
    bad: dict[str, Any] = {"threshold": None, "examples": [{"case": "a", "answer": "maybe"}]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"criteria": {"final_response_match_v2": bad}}), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"/criteria/final_response_match_v2/examples/0/answer: must be one of valid, inv"
    ):
        criteria_in(path)
    with pytest.raises(OptionError, match="examples/0/answer"):
        FinalResponseMatch(NOBODY, examples=(JudgeExample("a", "maybe"),))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("서울은 맑습니다.", "ko"),
        ("The city is called 서울 in Korean, and it is large.", "en"),
        ("API 호출이 실패했습니다: timeout", "ko"),
        ("東京は晴れです。", "ja"),
        ("今天天气很好。", "zh"),
        ("我喜欢任天堂的《ゼルダ》这款游戏，它的地图非常大，内容也很丰富，推荐给所有朋友。", "zh"),
        ("Bonjour, ça va ?", "en"),
        ("", "en"),
        ("123 😊", "en"),
        ("서울은 맑습니다. " * 300 + "sunny " * 5000, "ko"),
    ],
)
def test_the_language_follows_from_the_letters(text: str, language: str) -> None:
    """A name in another script changes nothing."""
    assert detect_language(text) == language


def test_version_3_shows_what_came_before_and_asks_for_a_checklist() -> None:
    """Earlier messages and results of tools are context. The signature names the version."""
    call, result = ToolCall("look_up", {"day": "tomorrow"}), ToolResult("look_up", {"hours": "9 to 5"})
    turns = (
        invocation("When are you open today?", "From 8 to 6."),
        invocation("And tomorrow?", "9 to 5.", call, result),
    )
    case = EvalCase("c", (invocation("When are you open today?", "8-6"), invocation("And tomorrow?", "9-5")))
    bench = Bench(lambda *_: "valid", votes=1)
    metric = FinalResponseMatch(bench.judge, prompt_version="3")
    assert score(metric, Trace(turns), case).value == 1.0
    shown = kinds(bench.prompts[1])
    assert shown["user message 1"] == shown["reply 1"] == "CONTEXT"
    assert [name for name in shown if name.startswith("tool")] == ["tool call 2.1", "tool result 2.2"]
    assert "First write a checklist into the rationale" in bench.prompts[1].system
    assert metric.prompts == {"final_response_match": "3"}
    assert FinalResponseMatch(bench.judge).prompts == {"final_response_match": "2"}


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("language", ["en", "ko", "ja", "zh"])
def test_version_3_has_examples_of_both_verdicts_in_each_language(prompt: str, language: str) -> None:
    """So that a language carries no prior. Version 2 has one of them in most languages."""
    own = TEMPLATES.source(prompt, "v3").partition(f"block example_{language} ")[2].partition("endblock")[0]
    answers = set(re.findall(r'"answer": "(\w+)"', own))
    positive = {"valid", "yes", "supported", "safe", "5"}
    assert answers & positive
    assert answers - positive - {"not_applicable"}
    assert "super()" not in own, "the rationales of version 2 are no checklists"


@pytest.mark.parametrize("prompt", PROMPTS)
def test_version_3_asks_for_a_checklist_before_the_answer(prompt: str) -> None:
    """Its system prompt has that of version 2, unless it is written anew, and names the results of tools."""
    (case, *_) = check_cases(prompt)
    with own_templates({prompt: TEMPLATES.source(prompt, "v3")}):
        system = check_question(NOBODY, case).question.prompt.system
    assert "checklist" in system
    assert prompt == "coherence" or "tool result" in system or "calls for it" in system or "result of a tool" in system
    if prompt != "final_response_match":
        usual = check_question(NOBODY, case).question.prompt.system
        assert system.startswith(usual.partition("\nHow to answer")[0])


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("language", ["en", "ko", "ja", "zh"])
def test_version_3_reasons_before_it_quotes(prompt: str, language: str) -> None:
    """In the schema and in every example, so that no place is chosen before it was thought about. Version 2 quotes."""
    case = next(own for own in check_cases(prompt) if own.language == language)
    usual = check_question(NOBODY, case).question.prompt
    with own_templates({prompt: TEMPLATES.source(prompt, "v3")}):
        newer = check_question(NOBODY, case).question.prompt
    marks = ["marks"] if prompt == "safety" else []
    assert _fields(usual) == ["id", "quote", "rationale", *marks, "answer"]
    assert _fields(newer) == ["id", "rationale", "quote", *marks, "answer"]
    for own in (usual, newer):
        lines = [line for line in own.system.splitlines() if line.startswith('{"answers": [{"id": "')]
        assert len(lines) >= 2 - (language == "en" and own is usual)
        assert all(list(entry) == _fields(own) for line in lines for entry in json.loads(line)["answers"])


def _fields(prompt: Prompt) -> list[str]:
    """The fields of an answer, in the order of the schema."""
    schema: Any = prompt.schema
    return list(schema["properties"]["answers"]["items"]["properties"])


def test_version_3_lets_a_reply_be_in_another_language_unless_one_was_asked_for() -> None:
    """As the questions of `judge check` do, and the rules that all prompts share."""
    rule = "A reply in another language than the user's is invalid only if"
    assert rule in TEMPLATES.source("final_response_match", "v3")
    known = {case.answer for case in check_cases("final_response_match") if case.rule == "other_language"}
    assert known == {"valid", "invalid"}


@pytest.mark.parametrize("prompt", ["rubric_final_response", "rubric_trajectory", "rubric_tool_use", "conversation"])
def test_version_3_counts_a_further_claim_only_where_it_is_asked_about(prompt: str) -> None:
    """A fee that no tool named is no reason against the tone of a reply."""
    (case, *_) = check_cases(prompt)
    with own_templates({prompt: TEMPLATES.source(prompt, "v3")}):
        assert "Such a line counts only for" in check_question(NOBODY, case).question.prompt.system


@pytest.mark.parametrize("metric", [Hallucinations, Safety, TaskSuccess, ToolUseRubrics, UserSimulatorQuality])
def test_a_criterion_names_the_version_that_its_option_selects(metric: Any) -> None:
    """Version 2 is the default."""
    assert set(metric(NOBODY).prompts.values()) <= {"2"}
    assert set(metric(NOBODY, prompt_version="3").prompts.values()) == {"3"}

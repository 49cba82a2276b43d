"""`judge check` and `judge check --quick` against judges on a real socket whose answers follow a rule."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Done, enter, fairtrial
from fairtrial import api
from fairtrial.api.judges.check_planning import PROMPTS
from fairtrial.api.judges.check_runner import JudgeCheck
from fairtrial.judge.judge import Judge
from fairtrial.metrics.exams.known_answers import FAILS, HOLDS
from fairtrial.metrics.exams.known_items import exam_canaries
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS, check_cases, check_question
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS, writing_cases
from fairtrial.records.judging.judge_check import CheckResult
from fairtrial.records.reply import Prompt
from fairtrial.testing import ScriptedModel
from known_answers import by_rule, perfect, reply, written
from loopback import Loopback, Status

MODEL = "openai/gpt-4o-mini"
OPPOSITE = {"valid": "invalid", "invalid": "valid"}
OUTCOMES = {HOLDS: "valid", FAILS: "invalid"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for the server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")


def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Any, *options: str) -> tuple[Done, Any]:
    """The outcome of `judge check`, and its JSON."""
    enter(tmp_path, monkeypatch)
    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial("judge", "check", "--judge-model", MODEL, "--json", "check.json", *options)
    file = tmp_path / "check.json"
    return done, json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def rates(report: Any, rule: str) -> tuple[Any, ...]:
    """Right answers of all, as (right, total): where the property holds, and where it does not."""
    row = next(row for row in report["rates"] if (row["rule"], row["language"]) == (rule, ""))
    return tuple(row[name] and (row[name]["right"], row[name]["total"]) for name in ("sensitivity", "specificity"))


@pytest.mark.long
def test_a_perfect_judge_is_right_everywhere() -> None:
    """Every share of every prompt is 1, with an interval below."""
    waiting = {prompt: list(writing_cases(prompt)) for prompt in WRITING_PROMPTS}

    def answer(prompt: Prompt) -> str:
        if prompt.id not in WRITING_PROMPTS:
            return reply(prompt.text, prompt.schema, perfect)
        return written(waiting[prompt.id].pop(0))

    model = ScriptedModel(answer)
    plan = api.plan_judge_check(api.Judges(model="mine", models=api.ModelOptions(custom_models={"mine": model})))
    results: list[CheckResult] = []
    plan.run(results.append)
    report = plan.report(results)
    tables = [*map(check_cases, JUDGED_PROMPTS), *map(writing_cases, WRITING_PROMPTS)]
    tables += map(exam_canaries, JUDGED_PROMPTS)
    assert plan.question_count == sum(map(len, tables)) > 800
    assert report.refusals == {"mine": ()}
    assert plan.cost is None
    units = next(row for row in report.rates if (row.prompt, row.rule) == ("", "units"))
    assert units.sensitivity is not None
    outcomes = [
        check_question(Judge(()), case).right_outcome(case.answer)
        for prompt in JUDGED_PROMPTS
        for case in check_cases(prompt)
        if case.rule == "units"
    ]
    outcomes += [case.right_outcome for case in writing_cases("simulated_tool") if case.rule == "units"]
    assert units.sensitivity.total == outcomes.count(HOLDS)
    assert all(result.is_right for result in report.results)
    assert {row.prompt for row in report.rates} == {"", *PROMPTS}
    shares = [share for row in report.rates for share in (row.sensitivity, row.specificity) if share]
    assert all(share.value == share.high == 1 and 0 < share.low < 1 for share in shares)


@pytest.mark.long
def test_a_judge_that_always_says_valid_has_no_specificity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sensitivity is 1, which shows nothing."""
    script = by_rule(lambda _: "valid")
    done, report = check(tmp_path, monkeypatch, script, "--prompt", "final_response_match")
    answers = Counter(case.answer for case in check_cases("final_response_match"))
    answers += Counter(OUTCOMES[case.answer] for case in exam_canaries("final_response_match"))
    assert done.code == 1, done.err
    assert rates(report, "") == ((answers["valid"],) * 2, (0, answers["invalid"]))
    assert f"refused: {MODEL}: the judge is wrong about {answers['invalid']} of" in done.out
    assert f"{answers['valid']} of {len(report['results'])} right" in done.out


@pytest.mark.long
def test_a_judge_that_ignores_units_is_wrong_by_that_rule_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of rules says where it fails, and lists the questions."""
    script = by_rule(lambda case: OPPOSITE[case.answer] if case.rule == "units" else case.answer)
    done, report = check(tmp_path, monkeypatch, script, "--prompt", "final_response_match")
    assert rates(report, "units") == ((0, 3), (0, 3))
    assert all(row["specificity"]["value"] == 1 for row in report["rates"] if row["rule"] == "partial")
    wrong = {result["rule"] for result in report["results"] if result["outcome"] != result["expected"]}
    assert wrong == {"units"}
    assert "✗ final_response_match/1 (units, en): must be fails, got holds: because" in done.out


@pytest.mark.long
def test_the_interval_is_that_of_wilson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """3 of 6 is between 0.1876 and 0.8124, by the published formula."""
    calls = iter(range(100))
    script = by_rule(lambda case: case.answer if next(calls) % 2 else "no")
    _, report = check(tmp_path, monkeypatch, script, "--prompt", "rubric_tool_use")
    share = report["rates"][0]["sensitivity"]
    p, n, z = share["right"] / share["total"], share["total"], 1.959964
    middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    assert (share["low"], share["high"]) == pytest.approx(
        (middle - half / (1 + z * z / n), middle + half / (1 + z * z / n)), abs=1e-6
    )


@pytest.mark.long
def test_unreadable_answers_are_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are neither right nor wrong, and the exit code says that something is missing."""
    say = by_rule(perfect)
    script = lambda request: "no JSON" if "Canberra" in request.text else say(request)  # noqa: E731
    done, report = check(tmp_path, monkeypatch, script, "--prompt", "final_response_match")
    row = next(row for row in report["rates"] if row["rule"] == "")
    assert done.code == 3
    assert row["unread"] == 2
    assert "2 without a readable answer" in done.out


@pytest.mark.long
def test_a_budget_ends_the_check_with_questions_of_every_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is not asked, and does not count."""
    prompts = ("safety", "coherence", "conversation")
    options = [option for prompt in prompts for option in ("--prompt", prompt)]
    done, report = check(tmp_path, monkeypatch, by_rule(perfect), "--max-calls", "6", *options)
    asked = Counter(result["prompt"] for result in report["results"] if result["calls"])
    assert done.code == 3
    assert asked == dict.fromkeys(prompts, 2)
    number = sum(len(check_cases(prompt)) + len(exam_canaries(prompt)) for prompt in prompts)
    assert f"6 of 6 right, {number - 6} not asked" in done.out


def test_the_cost_is_said_before_the_first_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that refuses everything: the estimate stands before the error."""
    done, _ = check(tmp_path, monkeypatch, lambda _: Status(401), "--prompt", "safety")
    assert re.search(r"^73 questions, about [\d,]+ tokens, about \$0\.\d\d$", done.err, re.MULTILINE)


def test_an_unknown_prompt_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the nearest name."""
    done, _ = check(tmp_path, monkeypatch, by_rule(perfect), "--prompt", "safty")
    assert done.code == 2
    assert "prompt 'safty' does not exist; did you mean 'safety'" in done.err


@pytest.mark.long
def test_ctrl_c_shows_the_answers_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exit code of an interruption."""
    enter(tmp_path, monkeypatch)

    def run(self: JudgeCheck, on_result: Callable[[CheckResult], None]) -> None:
        case = self.cases[0]
        on_result(CheckResult(MODEL, case.id, case.prompt, case.rule, case.language, "fails", "fails", calls=1))
        raise KeyboardInterrupt

    monkeypatch.setattr(JudgeCheck, "run", run)
    done = fairtrial("judge", "check", "--judge-model", MODEL)
    assert done.code == 130
    assert re.search(r"1 of 1 right, 8\d\d not asked", done.out)


@pytest.mark.parametrize(
    ("prompt", "text", "right"),
    [
        ("simulated_user", "</finished>", "stop"),
        ("simulated_tool", '{"error_code": 404, "error_message": "no"}', "error"),
        ("segments", '{"sentences": ["All of it."]}', ""),
        ("scenarios", '{"scenarios": [{"starting_prompt": "x", "conversation_plan": "y"}]}', ""),
        ("adaptive_rubrics", '{"rubrics": ["The reply exists."]}', ""),
    ],
)
def test_a_model_that_always_writes_the_same_is_found_out(prompt: str, text: str, right: str) -> None:
    """It is right where that happens to be the known result, and nowhere else."""
    model = ScriptedModel(lambda _: text)
    judges = api.Judges(model="mine", models=api.ModelOptions(custom_models={"mine": model}))
    plan = api.plan_judge_check(judges, prompts=[prompt])
    results: list[CheckResult] = []
    plan.run(results.append)
    known = {case.id for case in writing_cases(prompt) if case.answer == right}
    # Of the scenarios, one English one is asked for once.
    expected = {case.id for case in writing_cases(prompt) if case.count == 1 and case.language == "en"} or known
    assert {result.id for result in results if result.is_right} == expected


def test_a_text_that_cannot_be_read_is_counted_apart() -> None:
    """Such as a tool's answer that is not JSON."""
    model = ScriptedModel(lambda _: "Sure! Here it is.")
    judges = api.Judges(model="mine", models=api.ModelOptions(custom_models={"mine": model}))
    plan = api.plan_judge_check(judges, prompts=["simulated_tool"])
    results: list[CheckResult] = []
    plan.run(results.append)
    assert {(result.outcome, result.calls) for result in results} == {("", 2)}
    assert all("did not answer with JSON" in result.problem for result in results)


def ping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Any) -> Done:
    """The outcome of `judge check --quick`."""
    enter(tmp_path, monkeypatch)
    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        return fairtrial("judge", "check", "--quick", "--judge-model", MODEL)


def test_ping_counts_the_right_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twelve."""
    done = ping(tmp_path, monkeypatch, by_rule(perfect))
    assert (done.code, done.out.count("✓ ")) == (0, 12)
    assert f"{MODEL}: 12 of 12 right" in done.out


def test_ping_says_which_endpoint_it_asks_and_with_which_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key itself is not printed."""
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-of-openai")
    first_line, *_ = ping(tmp_path, monkeypatch, by_rule(perfect)).out.splitlines()
    assert re.fullmatch(
        rf"{MODEL} speaks OpenAI's chat completions at http://127\.0\.0\.1:\d+/v1, with the key of OPENAI_API_KEY",
        first_line,
    )


def test_ping_fails_if_an_answer_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the question, and what the answer must be."""
    done = ping(tmp_path, monkeypatch, by_rule(lambda case: "unsafe" if case.prompt == "safety" else case.answer))
    assert done.code == 1
    assert "✗ ping/9 (refusal, ja): must be holds, got fails: because" in done.out
    assert f"{MODEL}: 11 of 12 right" in done.out


OWN_TEMPLATE = """{#- version: mine -#}
{% block system %}Say whether the reply is right. Answer with JSON.{% endblock %}
{% block question %}
{{ context("user message") }}
{{ standard("reference") }}
{{ judged("reply") }}
{% include "ask" %}
{% endblock %}
{% block example_en %}No example.{% endblock %}
"""


def test_a_template_of_the_user_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is sent, and the report has its version. Other commands are not changed."""
    (tmp_path / "final_response_match-mine.jinja").write_text(OWN_TEMPLATE)
    seen: list[str] = []

    def script(request: Any) -> str:
        seen.append(request.text)
        return str(request.answers("valid"))

    prompt = ("--prompt", "final_response_match-mine.jinja", "--max-calls", "3")
    done, report = check(tmp_path, monkeypatch, script, *prompt)
    assert len(seen) == 3
    assert all("Say whether the reply is right." in text for text in seen)
    assert report["templates"] == {"final_response_match": "mine"}
    assert "prompt final_response_match: version mine" in done.out


@pytest.mark.long
def test_a_version_of_the_package_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 3 of each prompt that judges. Version 2 is the default."""
    prompts = [option for prompt in JUDGED_PROMPTS for option in ("--prompt", f"{prompt}/3")]
    limit = str(2 * len(JUDGED_PROMPTS))
    done, report = check(tmp_path, monkeypatch, by_rule(perfect), *prompts, "--max-calls", limit)
    assert report["templates"] == dict.fromkeys(JUDGED_PROMPTS, "3")
    assert f"{limit} of {limit} right" in done.out


def test_a_newer_version_of_a_prompt_that_writes_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 4 of simulated users, and version 3 of the others. Its text is sent, and an older one is refused."""
    versions = {prompt: "4" if prompt == "simulated_user" else "3" for prompt in WRITING_PROMPTS}
    prompts = [option for name, version in versions.items() for option in ("--prompt", f"{name}/{version}")]
    seen: list[str] = []

    def script(request: Any) -> str:
        seen.append(request.text)
        return "{}"

    done, report = check(tmp_path, monkeypatch, script, *prompts, "--max-calls", str(len(versions)))
    assert report["templates"] == versions
    assert len(seen) == len(versions)
    assert all("Before you " in text and text.count("Example:") >= 2 for text in seen)
    done, _ = check(tmp_path, monkeypatch, script, "--prompt", "simulated_user/2")
    assert done.code == 2
    assert "simulated_user has the versions 3, 4" in done.err


def test_a_template_of_the_user_may_extend_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has only the blocks that differ."""
    text = """{#- version: strict -#}
{% extends "safety" %}
{% block system %}{{ super() }} When in doubt, say unsafe.{% endblock %}
"""
    (tmp_path / "safety-strict.jinja").write_text(text)
    seen: list[str] = []

    def script(request: Any) -> str:
        seen.append(request.text)
        return str(request.answers("safe"))

    check(tmp_path, monkeypatch, script, "--prompt", "safety-strict.jinja", "--max-calls", "1")
    assert "The kinds of hazard:" in seen[0]
    assert "When in doubt, say unsafe." in seen[0]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("safety.jinja", "no version", "its first line must be {#- version: ... -#}"),
        ("safety.jinja", "{#- version: 1 -#}\n{% block system %}x{% endblock %}", "lacks the blocks question"),
        ("safety.jinja", OWN_TEMPLATE.replace("{% include", "{% inclde"), "template, line 7"),
        ("unsafety.jinja", OWN_TEMPLATE, "prompt 'unsafety' does not exist; did you mean 'safety'"),
        ("safety/9", None, "prompt 'safety/9': safety has the versions 2, 3"),
        ("none.jinja", None, "prompt 'none.jinja': No such file or directory"),
    ],
)
def test_a_broken_template_is_a_usage_error(
    name: str, text: str | None, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked."""
    if text is not None:
        (tmp_path / name).write_text(text)
    done, _ = check(tmp_path, monkeypatch, by_rule(perfect), "--prompt", name)
    assert done.code == 2
    assert problem in done.err

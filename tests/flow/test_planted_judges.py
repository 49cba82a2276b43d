"""Planted judges at a server that speaks the wire format of a provider: `judge check` finds each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from zlib import crc32

import pytest

from commands import Done, enter, fairtrial
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS
from fairtrial.records.reply import Prompt
from known_answers import by_rule, case_in, perfect
from loopback import Loopback, Request, Say
from planted_judges import JUDGES, Planted, PlantedModel, known

pytestmark = pytest.mark.long

MODEL = "openai/gpt-4o-mini"
REASONS = {
    "always yes": "the judge is wrong about",
    "always no": "the judge is wrong about",
    "first answer": "the judge is wrong about",
    "last answer": "the judge is wrong about",
    "length": "the judge is wrong about",
    "blind to numbers": "questions of the kind 'other number, fails'",
    "blind to negations": "questions of the kind 'negated, fails'",
    "blind to units": "questions of the kind 'other unit, fails'",
    "blind in Japanese": "questions of the language 'ja, fails'",
    "blind in Korean": "questions of the language 'ko, fails'",
    "blind in Chinese": "questions of the language 'zh, fails'",
    "random 10 %": "the judge is wrong about",
    "random 20 %": "the judge is wrong about",
    "drifting": "the judge is wrong about",
    "obeying": "the judge passes forged verdicts",
    "lazy on long texts": "questions of the kind 'long",
    "inventing quotes": "the judge quotes what is not in the texts",
    "cheap on partial answers": "questions of the kind 'partial, fails'",
    "strict on partial answers": "questions of the kind 'partial, holds'",
    "kind to replies beside the point": "questions of the kind 'unrelated, fails'",
}
"""A reason of each refusal, in words of the report."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and a key."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


PROMPTS = {"random 10 %": JUDGED_PROMPTS[:5], "drifting": JUDGED_PROMPTS[:3]}
"""The prompts of the faults for which the questions of one prompt are too few."""


def check(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, *options: str, names: Sequence[str] = ("final_response_match",)
) -> Done:
    """Check the judge at a server with the questions of some prompts."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    prompts = [option for name in names for option in ("--prompt", name)]
    return fairtrial("judge", "check", "--judge-model", MODEL, *prompts, "--json", "check.json", *options)


def at_server(planted: Planted) -> Loopback:
    """The planted judge behind chat completions. Requests come in any order, so that each question has its own die."""
    numbers = count()

    def script(request: Request) -> str:
        case = case_in(request.text)
        model = PlantedModel(planted, lambda _: known(case), crc32(case.id.encode()), before=next(numbers))
        return model.answer(Prompt(id="p", version="1", text=request.text, schema=request.schema))

    return Loopback(script)


def test_every_planted_judge_is_examined() -> None:
    """None is left out."""
    assert list(REASONS) == [planted.name for planted in JUDGES]


@pytest.mark.parametrize("name", REASONS)
def test_a_planted_judge_is_refused_with_its_reason(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends with 1, and the document has the reason, its share and the ids of the wrong answers."""
    with at_server(next(planted for planted in JUDGES if planted.name == name)) as server:
        done = check(server, monkeypatch, names=PROMPTS.get(name, JUDGED_PROMPTS[:1]))
    assert done.code == 1, done.err
    lines = [line for line in done.out.splitlines() if line.startswith(f"refused: {MODEL}: ")]
    assert any(REASONS[name] in line for line in lines), lines
    document = json.loads(Path("check.json").read_text(encoding="utf-8"))
    for refusal in document["refusals"][MODEL]:
        assert len(refusal["ids"]) == refusal["wrong"]
        assert refusal["low"] <= refusal["value"] <= refusal["high"]


def test_a_judge_that_is_always_right_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends with 0, also if all answers must be right."""
    with Loopback(by_rule(perfect)) as server:
        done = check(server, monkeypatch, "--fail-under", "1")
    assert done.code == 0, done.err
    assert "refused" not in done.out


def test_a_share_of_right_answers_is_demanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that is wrong about one question is not refused, but right about less than 100 %."""
    script = by_rule(lambda case: "holds" if case.id.endswith("English unrelated 1") else case.answer)
    with Loopback(script) as server:
        assert check(server, monkeypatch).code == 0
        assert check(server, monkeypatch, "--fail-under", "1").code == 1


def test_one_forged_verdict_that_passes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance explains it, so the judge is not refused."""
    script = by_rule(lambda case: "holds" if (case.rule, case.language) == ("forged", "en") else case.answer)
    with Loopback(script) as server:
        done = check(server, monkeypatch)
    assert done.code == 0, done.err
    share = "passes forged verdicts: 1 of 8 (2 % … 47 %), no more than chance explains"
    assert f"{MODEL}: {share}: final_response_match/English forged 1" in " ".join(done.out.split())


def test_a_judge_without_a_forged_mistake_has_no_such_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong answer of another kind is no forged verdict."""
    script = by_rule(lambda case: "holds" if case.id.endswith("English unrelated 1") else case.answer)
    with Loopback(script) as server:
        assert "forged verdicts" not in check(server, monkeypatch).out


def test_another_model_gives_no_answer_in_strict_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, the report names the model that answered."""
    say = by_rule(perfect)
    with Loopback(lambda request: Say(say(request), served="llama-3-8b")) as server:
        done = check(server, monkeypatch)
        assert done.code == 0, done.err
        assert f"another model answered: asked {MODEL}, got llama-3-8b" in done.out
        done = check(server, monkeypatch, "--strict-model")
    assert done.code == 3, done.err
    assert "97 without a readable answer" in done.out


def test_a_task_that_another_model_did_has_no_answer_in_strict_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """The questions of prompts that write are treated like those of prompts that judge."""
    with Loopback(lambda _: Say('{"sentences": []}', served="llama-3-8b")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        command = ("judge", "check", "--judge-model", MODEL, "--prompt", "segments", "--max-calls", "4")
        assert "got llama-3-8b" in fairtrial(*command).out
        done = fairtrial(*command, "--strict-model", "--json", "-")
    results = [result for result in done.json["results"] if result["served"]]
    assert len(results) == 4
    assert {(result["outcome"], result["served"]) for result in results} == {("", "llama-3-8b")}
    assert "another model answered" in results[0]["problem"]

"""Runs whose judges do what real servers do: refuse schemas, send lone surrogates, end replies early, hang."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Done, enter, fairtrial
from fairtrial import evaluate, open_run
from fairtrial.judge.judges import Judges
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.reply import Prompt, Reply
from loopback import Loopback, Request, Say, Script, Status
from schema_checks import check_shape

STORE = "sqlite:///k.db"
TURN = {"user_content": {"parts": [{"text": "Hi"}]}, "final_response": {"parts": [{"text": "Hi"}]}}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, as users have it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: Script, *more: str, **options: Any) -> Done:
    """Run an agent that repeats the user on one case, with a judge at a server."""
    enter(folder, monkeypatch)
    monkeypatch.syspath_prepend(str(folder))
    (folder / "wild_echo.py").write_text("def reply(trace):\n    return trace.invocations[-1].query\n")
    evalset = {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [TURN]}]}
    (folder / "s.evalset.json").write_text(json.dumps(evalset))
    with Loopback(script) as server:
        judge = {"judge_model": "openai/gpt-4o-mini", "num_samples": 1, "base_url": f"{server.url}/v1", **options}
        criteria = {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": judge}}
        (folder / "test_config.json").write_text(json.dumps({"criteria": criteria}))
        arguments = ("run", "s.evalset.json", "--agent", "wild_echo:reply", "--store", STORE, "--json", "r.json")
        return fairtrial(*arguments, *more)


def test_a_lone_surrogate_loses_no_vote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the reply itself nor in its JSON; the case has its verdict."""

    def answer(request: Request) -> Say:
        text = request.answers("valid", rationale="a\ud800b").replace("because", "\udfff")
        inner = json.dumps(text)  # ASCII, with the surrogates as escapes
        message = '{"role": "assistant", "content": ' + inner + "}"
        choice = '{"index": 0, "finish_reason": "stop", "message": ' + message + "}"
        body = '{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [' + choice + "]}"
        return Say(raw=body.encode())

    done = run(tmp_path, monkeypatch, answer)
    assert done.code == 0, done.out + done.err
    assert "passed" in done.out


def test_a_server_without_schemas_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has all its votes, and says what it did, also when it is shown again."""
    reply = '{"answers": [{"id": "reply", "rationale": "same", "answer": "valid"}]}'

    def answer(request: Request) -> Status | str:
        return Status(400, message="Unknown field: response_format") if request.schema else reply

    done = run(tmp_path, monkeypatch, answer, "--votes", "3", "--all-votes")
    assert done.code == 0, done.out + done.err
    assert done.out.count("does not take JSON schemas") == 1
    assert "does not take JSON schemas" in fairtrial("show", "2", "--store", STORE).out


def test_settings_without_effect_are_told_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is not sent, and votes that are one vote."""
    settings = {"temperature": 0, "top_k": 3}
    done = run(
        tmp_path, monkeypatch, lambda request: request.answers("valid"), judge_model_config=settings, num_samples=5
    )
    warnings = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert [warning.partition(": ")[2][:60] for warning in warnings] == [
        "model 'openai/gpt-4o-mini': top_k has no effect, because ope",
        "model 'openai/gpt-4o-mini': temperature 0 gives 5 votes that",
    ]


@pytest.mark.parametrize("place", ["flag", "config"])
def test_the_timeout_of_a_judge_can_be_set(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call without a reply is made again; the flag goes before the configuration."""

    def answer(request: Request) -> Say:
        return Say(request.answers("valid"), delay=60 if request.number == 1 else 0)

    flags = ("--judge-timeout", "0.5") if place == "flag" else ()
    done = run(tmp_path, monkeypatch, answer, *flags, judge_timeout=0.5 if place == "config" else 100)
    assert done.code == 0, done.out + done.err


def test_the_reason_of_a_reply_that_was_cut_off_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the report of the run."""
    done = run(tmp_path, monkeypatch, lambda _: Say('{"answers": [', finish="length"))
    assert done.code != 0
    assert "the reply was cut off at the limit of tokens" in " ".join(done.out.split())


def answer_without_usage_once(request: Request) -> Say | str:
    """Answer; the first reply says nothing about its tokens."""
    text = request.answers("valid")
    if request.number > 1:
        return text
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini", "choices": [choice]}
    return Say(raw=json.dumps(body).encode())


def test_one_call_without_usage_does_not_hide_the_cost_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls of 1,000 tokens in and 100 out cost $0.00021 each; the run cost at least that."""
    done = run(tmp_path, monkeypatch, answer_without_usage_once, "--votes", "3", "--all-votes")
    assert done.code == 0, done.out + done.err
    spent = json.loads((tmp_path / "r.json").read_text())["run"]["spending"]["judge"]
    assert spent == {
        "calls": 3,
        "input_tokens": 2000,
        "output_tokens": 200,
        "cost": pytest.approx(0.00042),
        "unreported_calls": 1,
        "unpriced_calls": 1,
    }
    assert "at least $0.0004" in done.out
    assert "at least 2,000" in done.out


def test_a_local_model_may_have_a_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 tokens at $2 and 100 at $10 per million are $0.003; a budget in money then works."""
    price = {"mine": {"input": 2, "output": 10}}
    script = lambda request: request.answers("valid")  # noqa: E731
    done = run(tmp_path, monkeypatch, script, "--max-cost", "1", judge_model="mine", prices=price)
    assert done.code == 0, done.out + done.err
    assert json.loads((tmp_path / "r.json").read_text())["run"]["spending"]["judge"]["cost"] == pytest.approx(0.003)


def test_a_price_that_cannot_be_read_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything runs."""
    done = run(tmp_path, monkeypatch, lambda _: "", prices={"mine": {"input": -2}})
    assert done.code == 2
    assert "judge_model_options/prices/mine/input: must be a number of at least 0, got -2" in done.err
    assert "judge_model_options/prices/mine: must have 'output'" in done.err


def unreadable_once(request: Request) -> str:
    """Answer; the first reply cannot be read."""
    return "I <cannot> decide." if request.number == 1 else request.answers("valid", rationale="the same")


def test_show_prints_prompts_and_raw_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the second prompt with what was wrong, and both replies as they came."""
    assert run(tmp_path, monkeypatch, unreadable_once).code == 0
    shown = " ".join(fairtrial("show", "2", "c", "--ballots", "--store", STORE).out.split())
    assert "A previous reply to this question could not be used" in shown
    assert "reply to prompt 1 I <cannot> decide." in shown
    assert 'reply to prompt 2 {"answers": [{"id": "reply"' in shown
    assert "I <cannot> decide." not in fairtrial("show", "2", "c", "--store", STORE).out
    refused = fairtrial("show", "2", "--ballots", "--store", STORE)
    assert (refused.code, "needs CASE" in refused.err) == (2, True)


def test_the_report_holds_the_ballots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every outcome names its ballots, and each has its prompts, votes and raw replies, as its schema says."""
    assert run(tmp_path, monkeypatch, unreadable_once).code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    check_shape(report, "ReportView")
    (attempt,) = report["attempts"]
    ((name, ballot),) = attempt["ballots"].items()
    outcome = next(one for one in attempt["outcomes"] if one["criterion"] == "final_response_match_v2")
    (part,) = outcome["parts"]
    assert part["ballots"] == [name] == [ballot["id"]]
    (vote,) = ballot["votes"]
    assert vote["opinions"]["reply"]["answer"] == "valid"
    assert [call["prompt"] for call in vote["calls"]] == [0, 1]
    assert vote["replies"][0]["text"] == "I <cannot> decide."
    assert ballot["prompts"][1]["text"].startswith(ballot["prompts"][0]["text"])


def test_the_agreement_of_each_two_models_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three models agree; the third has a view of its own."""

    def answer(request: Request) -> str:
        return request.answers("invalid" if request.model == "odd" else "valid")

    models = ("one", "odd", "two")
    done = run(tmp_path, monkeypatch, answer, "--all-votes", judge_models=models, num_samples=3)
    report = json.loads((tmp_path / "r.json").read_text())
    pairs = next(one["pair_agreements"] for one in report["run"]["criteria"] if one["pair_agreements"])
    assert pairs == [
        {"first": "odd", "second": "one", "equal": 0, "pairs": 1},
        {"first": "odd", "second": "two", "equal": 0, "pairs": 1},
        {"first": "one", "second": "two", "equal": 1, "pairs": 1},
    ]
    assert "one, two" in done.out


def chat_body(request: Request, **fields: Any) -> Say:
    """A reply with the verdict valid, of which some fields are replaced."""
    message = {"role": "assistant", "content": request.answers("valid")}
    body: dict[str, Any] = {
        "id": "x",
        "model": "gpt-4o-mini",
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
    }
    body["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
    return Say(raw=json.dumps(body | fields).encode())


@pytest.mark.parametrize(
    ("usage", "spent"),
    [
        ({"prompt_tokens": "12", "completion_tokens": "3"}, (12, 3)),
        ({"prompt_tokens": 12.0, "completion_tokens": 3.5}, (None, None)),
        ({"prompt_tokens": -5, "completion_tokens": 3}, (None, None)),
    ],
)
def test_odd_numbers_of_tokens_end_no_run(
    usage: dict[str, Any], spent: tuple[int | None, int | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has its verdict, is shown, and can be reused without a call."""
    done = run(tmp_path, monkeypatch, lambda request: chat_body(request, usage=usage, model=5))
    assert done.code == 0, done.out + done.err
    judge = json.loads((tmp_path / "r.json").read_text())["run"]["spending"]["judge"]
    assert (judge["input_tokens"], judge["output_tokens"]) == spent
    shown = fairtrial("show", "2", "--store", STORE)
    assert (shown.code, "cannot be read" in shown.err) == (0, False)
    run_id = json.loads((tmp_path / "r.json").read_text())["run"]["id"]
    unused = lambda _: Status(500)  # noqa: E731
    again = run(tmp_path, monkeypatch, unused, "--reuse", run_id)
    assert again.code == 0, again.out + again.err


def test_every_report_names_the_model_that_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A router may fall back to another model. Its verdicts count, and everybody sees whose they are."""
    files = ("--junit", "r.xml", "--markdown", "r.md", "--html", "r.html")
    served = "meta-llama/llama-3-8b"
    done = run(tmp_path, monkeypatch, lambda request: chat_body(request, model=served), *files)
    assert done.code == 0, done.out + done.err
    assert " ".join(done.out.split()).count(f"another model answered: '{served}'") == 1
    assert served in json.loads((tmp_path / "r.json").read_text())["run"]["notes"][0]
    for name in ("r.xml", "r.md", "r.html"):
        assert served in (tmp_path / name).read_text(), name


def test_a_release_of_the_model_is_no_other_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gpt-4o-mini` answers as `gpt-4o-mini-2024-07-18`."""
    done = run(tmp_path, monkeypatch, lambda request: chat_body(request, model="gpt-4o-mini-2024-07-18"))
    assert "another model" not in done.out


def test_a_model_of_the_user_may_put_anything_into_its_reply(tmp_path: Path) -> None:
    """What cannot be stored is left out, or the row could not be read again."""
    bad: Any = {"model": 5, "input_tokens": "12", "output_tokens": 3.5, "cost": -1, "seconds": "soon", "stop": None}

    async def model(prompt: Prompt) -> Reply:  # noqa: ARG001
        text = json.dumps({"answers": [{"id": "reply", "rationale": "same", "answer": "valid"}]})
        return Reply(text=text, **bad)

    evalset = {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [TURN]}]}
    options = {"judge_model": "mine", "num_samples": 1}
    criteria = {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}}
    (tmp_path / "s.evalset.json").write_text(json.dumps(evalset))
    (tmp_path / "test_config.json").write_text(json.dumps({"criteria": criteria}))
    store = f"sqlite:///{tmp_path}/k.db"
    done = evaluate(
        tmp_path / "s.evalset.json",
        agent=lambda trace: trace.invocations[-1].query,
        judges=Judges(models=ModelOptions(custom_models={"mine": model})),
        store=store,
    )
    assert done.verdict == "passed"
    (reply,) = open_run(done.info.id, store=store).replies.values()
    assert (reply.input_tokens, reply.output_tokens, reply.cost, reply.model) == (12, None, None, "")

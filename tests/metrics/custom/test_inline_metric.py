"""Code in a configuration runs only if it is allowed, in a process that cannot hurt the run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial, write
from fairtrial import Score, api, score
from fairtrial.errors import ConfigError, MetricError
from fairtrial.metrics.custom.inline_metric import InlineMetric
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, Trace

TRACE = Trace((Invocation(Message("hi"), (), Message("one two", "bot")),))
CASE = EvalCase("a", context="It is late.", extra={"tier": "gold"})
DATASET = {
    "eval_cases": [
        {
            "eval_case_id": "a",
            "prompt": {"role": "user", "parts": [{"text": "hi"}]},
            "responses": [{"response": {"role": "model", "parts": [{"text": "one two"}]}}],
        }
    ]
}
WORDS = "def evaluate(instance):\n    return len(instance['response']['parts'][0]['text'].split())\n"


def scored(code: str, timeout: float = 30.0) -> Score:
    """The score that code gives to a conversation of one invocation."""
    return asyncio.run(InlineMetric(code, "m", timeout)(TRACE, CASE))


def problem(code: str, timeout: float = 30.0) -> str:
    """The reason why code gives no score."""
    with pytest.raises(MetricError) as caught:
        scored(code, timeout)
    return str(caught.value)


def test_the_code_gets_the_same_instance_as_a_function_of_a_file() -> None:
    """The conversation, the context, and the case's own keys. The explanation is the reason."""
    code = """
import re
PATTERN = re.compile("o")
async def evaluate(instance):
    texts = [instance["prompt"]["parts"][0]["text"], instance["context"], instance["tier"]]
    return {"score": len(PATTERN.findall(instance["response"]["parts"][0]["text"])), "explanation": "|".join(texts)}
"""
    result = scored(code)
    assert (result.value, result.reason) == (2.0, "hi|It is late.|gold")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def evaluate(instance): raise ValueError('no')", "m: ValueError: no"),
        ("def evaluate(instance): return 'good'", "m: the code must return a number or {'score': number}, got str"),
        ("def evaluate(instance): return float('nan')", "m: the code must return a finite number"),
        ("def evaluate(instance): return 10 ** 400", "m: the code must return a finite number"),
        ("def evaluate(instance): raise SystemExit(0)", "m: SystemExit: 0"),
        (
            "import os\ndef evaluate(instance): os._exit(0)",
            "m ended its process with exit code 0 before it had a score",
        ),
        (
            "def evaluate(instance): print('{\"score\": 1}'); return 0",
            "m: the code printed '{\"score\": 1}\\n'; it must",
        ),
        (
            "import os\ndef evaluate(instance): os.write(1, b'{\"score\": 1}\\n'); os._exit(0)",
            "m ended its process with exit code 0",
        ),
        ("def evaluate(instance) return 1", "m: SyntaxError: "),
        ("def evaluator(instance): return 1", "m: the code must define evaluate(instance)"),
    ],
)
def test_code_that_fails_has_a_reason_and_no_score(code: str, reason: str) -> None:
    """Whatever it does, it is neither a zero nor a pass."""
    assert problem(code).startswith(reason)


def test_code_that_hangs_is_stopped() -> None:
    """Its process ends with the time limit."""
    code = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ndef evaluate(instance):\n    while True: pass"
    assert problem(code, timeout=0.3) == "m took longer than 0.3 s, and was stopped"


def test_the_code_does_not_see_the_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's code cannot send a provider's key away."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-strangers")
    assert scored("import os\ndef evaluate(instance): return 'OPENAI_API_KEY' in os.environ").value == 0.0


def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str = WORDS, **config: Any) -> None:
    """A folder with a dataset, and a configuration with code."""
    enter(folder, monkeypatch)
    write("basic-dataset.json", DATASET)
    write("eval_config.json", {"custom_metrics": [{"name": "words", "custom_function": code}], **config})


def test_code_is_refused_unless_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal names the place and both ways out; nothing runs. The file itself is no problem for `check`."""
    prepared(tmp_path, monkeypatch, f"open('ran', 'w')\n{WORDS}")
    refused = fairtrial("score", "basic-dataset.json")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "/custom_metrics/0/custom_function: is code in a configuration, which runs only with --allow-code" in message
    with pytest.raises(ConfigError, match="allow_code=True"):
        score("basic-dataset.json")
    assert fairtrial("check", "eval_config.json").code == 0
    assert not Path("ran").exists()


def test_allowed_code_scores_and_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the command line and in Python, with a threshold of the configuration."""
    prepared(tmp_path, monkeypatch, thresholds={"words": 2})
    done = fairtrial("score", "basic-dataset.json", "--allow-code", "--json", "-")
    outcome = next(each for each in done.json["attempts"][0]["outcomes"] if each["criterion"] == "words")
    assert (done.code, outcome["value"]) == (0, 2.0)
    assert score("basic-dataset.json", allow_code=True).verdict == "passed"


def test_a_run_can_allow_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` takes the same option, and stores it in its manifest."""
    prepared(tmp_path, monkeypatch, thresholds={"words": 3})
    Path("three_words.py").write_text("def reply(trace):\n    return 'a b c'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    plan = api.plan_run(["basic-dataset.json"], "three_words:reply", reading=api.ReadOptions(allow_code=True))
    assert plan.info.config["allow_code"] is True
    assert (
        fairtrial("run", "basic-dataset.json", "--agent", "three_words:reply", "--allow-code", "--store", "none").code
        == 0
    )


def test_the_reason_reaches_the_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is unscored, and so is the run."""
    prepared(tmp_path, monkeypatch, "def evaluate(instance): raise OSError('gone')")
    run = score("basic-dataset.json", allow_code=True)
    assert run.verdict == "unscored"
    outcome = next(each for each in run.cases[0].outcomes if each.criterion == "words")
    assert outcome.score.reason == "the metric failed: MetricError: words: OSError: gone"
    assert json.dumps(run.info.signatures["words"]).count("gone") == 1

"""Sixty mistakes of users, and the answers: what is wrong, where, what was found, and what would be right.

Each line of the table is a command, its code, and the parts that its answer must hold. RUN stands for the id of a run.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial

AGENT = """class Bot:
    def __call__(self, conversation):
        return "x"

def reply(conversation):
    return "Hello"

def needs_three(first, second, third):
    return first

number = 3
"""
CASE: dict[str, Any] = {
    "eval_id": "one",
    "conversation": [
        {"user_content": {"parts": [{"text": "Hi"}]}, "final_response": {"parts": [{"text": "Hello"}]}},
    ],
}
FILES: dict[str, Any] = {
    "own_agent.py": AGENT,
    "broken_agent.py": 'raise ValueError("no database")\n',
    "a.evalset.json": {"eval_set_id": "a", "eval_cases": [CASE]},
    "twice.evalset.json": {"eval_set_id": "a", "eval_cases": [CASE, CASE]},
    "none.evalset.json": {"eval_set_id": "a", "eval_cases": []},
    "broken.json": '{"eval_cases": [\n',
    "empty.json": "",
    "array.json": [1, 2],
    "odd.csv": "foo,bar\n1,2\n",
    "both.csv": "question,answer\nHi,Hello\n",
    "traces.jsonl": json.dumps({"trace_id": "t", "steps": []}) + "\n",
    "notes.db": "text",
    "unknown.json": {"criteria": {"responce_match_score": 0.8}},
    "range.json": {"criteria": {"response_match_score": 8}},
    "text.json": {"criteria": {"response_match_score": "high"}},
    "bare.json": {"response_match_score": 0.8},
    "option.json": {"criteria": {"response_match_score": {"threshhold": 0.8}}},
    "no_criteria.json": {"criteria": {}},
    "votes.json": {"criteria": {"safety_v1": {"threshold": 0.8, "judgeModelOptions": {"numSamples": 0}}}},
    "model.json": {"criteria": {"safety_v1": {"threshold": 0.8, "judge_model_options": {"judge_model": "gtp-4o"}}}},
    "fairtrial/fairtrial.toml": 'agnet = "own_agent:reply"\n',
}
_RUN = "run a.evalset.json --agent own_agent:reply "
MISTAKES = [
    # Commands and options
    ("rnu a.evalset.json", "unknown-name", "'rnu'", "did you mean 'run'?"),
    ("eval a.evalset.json", "unknown-name", "'eval'", "did you mean 'run'?"),
    ("run a.evalset.json", "missing-option", "EVALSET", "--agent TARGET"),
    ("run --agent own_agent:reply", "missing-option", "EVALSET"),
    ("run a.evalset.json --agent", "missing-option", "--agent", "requires an argument"),
    ("run a.evalset.json --agnet own_agent:reply", "unknown-name", "--agnet", "--agent"),
    ("show", "missing-option", "RUN"),
    ("check", "missing-option", "FILE", "fairtrial.toml"),
    ("gate RUN", "missing-option", "--at-least X", "--gates FILE"),
    ("plan RUN", "missing-option", "--detect D", "--half-width D"),
    ("value traces.jsonl --ttl 3", "missing-option", "--ttl needs --index"),
    (_RUN + "--cassette calls.jsonl", "options-conflict", "--cassette-mode", "record|replay|auto"),
    (_RUN + "--json - --markdown -", "options-conflict", "only one report"),
    (_RUN + "--isolation process --shuffle 1", "options-conflict", "--shuffle", "leave --isolation process out"),
    (_RUN + "--html run.html --history --store none", "missing-option", "--history needs a store"),
    ("mutate a.evalset.json --isolation process", "missing-option", "--isolation", "--agent TARGET"),
    ("mutate --from-run RUN --store none", "missing-option", "--from-run", "--store none"),
    ("bisect '' --good main --bad main", "missing-option", "command"),
    ("redact traces.jsonl --in-place --check", "options-conflict", "--check", "--in-place", "only one"),
    ("criteria safety_v1 --for ci", "options-conflict", "NAME", "--for", "only one"),
    (_RUN + "--attempts 0", "unusable-input", "--attempts", "at least 1", "got 0", "10,mean"),
    (_RUN + "--attempts three", "unusable-input", "--attempts", "'three'", "whole number"),
    (_RUN + "--attempts shop=3", "unknown-name", "no eval set 'shop'"),
    (_RUN + "--concurrency 0", "unusable-input", "--concurrency", "0", "x>=1"),
    (_RUN + "--threshold response_match_score", "unusable-input", "NAME=X", "'response_match_score'"),
    (_RUN + "--threshold responce=0.5", "unknown-name", "'responce'", "response_match_score"),
    (_RUN + "--only tow", "unknown-name", "'tow'", "one"),
    (_RUN + "--isolation proces", "unknown-name", "'proces'", "did you mean 'process'?"),
    (_RUN + "--profile ci", "unusable-input", "--profile", "fairtrial.toml"),
    (_RUN + "--html fairtrial", "unusable-input", "--html", "'fairtrial'", "directory"),
    ("runs --verdict broken", "unusable-input", "--verdict", "'broken'", "'unfinished'"),
    ("runs --since yesterday", "unusable-input", "--since", "'yesterday'", "%Y-%m-%d"),
    ("convert a.evalset.json --to csv -o x", "unusable-input", "--to", "'csv'", "'agents-cli'"),
    ("gate RUN --claim cases=0.8", "options-conflict", "'cases=0.8'", "<=", ">="),
    ("value traces.jsonl --confidence 2", "unusable-input", "--confidence", "0 to 1", "2.0"),
    ("value traces.jsonl --profile fast", "unknown-name", "'fast'", "finance"),
    # Agents
    ("run a.evalset.json --agent own_agent.reply", "unusable-agent", "'own_agent.reply'", "'own_agent:reply'"),
    ("run a.evalset.json --agent own_agent.py", "unusable-agent", "'own_agent.py'", "'own_agent:reply'"),
    (
        "run a.evalset.json --agent own_agent:replly",
        "cannot-import",
        "'own_agent'",
        "'replly'",
        "did you mean 'reply'?",
    ),
    ("run a.evalset.json --agent own_agnet:reply", "cannot-import", "'own_agnet'", "did you mean 'own_agent'?"),
    ("run a.evalset.json --agent broken_agent:reply", "cannot-import", "ValueError: no database", "line 1"),
    ("run a.evalset.json --agent own_agent:Bot", "unusable-agent", "is a class", "Bot()"),
    ("run a.evalset.json --agent own_agent:needs_three", "unusable-agent", "needs_three(first, second, third)"),
    ("run a.evalset.json --agent own_agent:number", "unusable-agent", "--agent own_agent:number:", "int"),
    ("run a.evalset.json --agent http://127.0.0.1:9", "no-answer", "http://127.0.0.1:9", "is the server running?"),
    ("run a.evalset.json --agent process:no-program", "unusable-agent", "'no-program'", "no such program"),
    # Files
    ("run missing.json --agent own_agent:reply", "no-such-file", "missing.json"),
    ("run broken.json --agent own_agent:reply", "unreadable-file", "broken.json", "line 2, column 1", "not JSON"),
    ("run empty.json --agent own_agent:reply", "unreadable-file", "empty.json", "is empty"),
    ("run array.json --agent own_agent:reply", "other-content", "array.json", "'eval_cases'", "an array"),
    ("run korean.csv --agent own_agent:reply", "unreadable-file", "korean.csv", "line 1", "0xc1", "CSV UTF-8"),
    ("run odd.csv --agent own_agent:reply", "other-content", "odd.csv", "--map input=COLUMN", "'foo', 'bar'"),
    ("run odd.csv --agent own_agent:reply --map input=fooo", "other-content", "input=fooo", "did you mean 'foo'?"),
    ("score both.csv", "other-content", "'answer'", "--map expected=answer"),
    ("run twice.evalset.json --agent own_agent:reply", "unreadable-file", "/eval_cases/1/eval_id", "unique", "'one'"),
    ("run none.evalset.json --agent own_agent:reply", "too-little-data", "no cases"),
    ("expect a.evalset.json -o a.evalset.json", "would-overwrite", "a.evalset.json", "another file"),
    ("compare array.json array.json", "unreadable-file", "array.json", "--json", "fairtrial runs export"),
    # Configurations
    (_RUN + "--config missing.json", "no-such-file", "missing.json"),
    (_RUN + "--config unknown.json", "unusable-config", "/criteria/responce_match_score", "did you mean"),
    (_RUN + "--config range.json", "unusable-config", "/criteria/response_match_score", "0 to 1", "got 8"),
    (_RUN + "--config text.json", "unusable-config", "/criteria/response_match_score", "a number", "got 'high'"),
    (_RUN + "--config bare.json", "unreadable-file", "bare.json", "'criteria'", "'response_match_score'"),
    (_RUN + "--config option.json", "unusable-config", "/threshhold", "did you mean 'threshold'?"),
    (_RUN + "--config no_criteria.json", "unusable-config", "/criteria", "at least one"),
    (_RUN + "--config votes.json", "unusable-config", "/numSamples", "at least 1", "got 0"),
    (_RUN + "--config model.json", "unusable-config", "'gtp-4o'", "openai/"),
    ("criteria safety", "unknown-name", "'safety'", "did you mean 'safety_v1'?"),
    # Stores, runs, services
    ("runs --store sqlite:///notes.db", "store-failed", "notes.db", "not a database", "--store"),
    ("runs --store sqlite:///elsewhere.db", "no-such-store", "elsewhere.db", "fairtrial run"),
    (_RUN + "--store notes", "unusable-input", "--store", "sqlite:///notes"),
    ("show 1999", "no-such-run", "'1999'", "fairtrial runs"),
    ("show RUN nocase", "unknown-name", "'nocase'"),
    ("compare RUN RUN", "unusable-input", "RUN", "itself"),
    ("pull jaeger -o x.jsonl", "unknown-name", "'jaeger'", "langfuse"),
    ("pull langfuse -o x.jsonl", "missing-key", "LANGFUSE_PUBLIC_KEY", "environment"),
    ("export RUN --as agent-skills -o laid-out", "unusable-run", "does not test a skill"),
    ("receive --listen 192.0.2.1:0", "unsafe-input", "192.0.2.1", "FAIRTRIAL_RECEIVE_TOKEN"),
    ("view --host 0.0.0.0", "unsafe-input", "--host 0.0.0.0", "--token"),
    ("init --example nothing", "unknown-name", "'nothing'", "shop"),
]
_OTHER_EXITS = {"store-failed": 4}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a run in a folder with the files. No service has a key."""
    enter(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, content in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    Path("korean.csv").write_bytes("질문,정답\n안녕,안녕하세요\n".encode("cp949"))
    for variable in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(variable, raising=False)
    assert fairtrial("run", "a.evalset.json", "--agent", "own_agent:reply").code == 0
    return fairtrial("runs", "--quiet").out.strip()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[0])
def test_a_mistake_has_a_clear_answer(mistake: tuple[str, ...], run: str) -> None:
    """The answer ends with its code, and holds the place, the value and the way out. There is no traceback."""
    command, code, *parts = mistake
    done = fairtrial(*shlex.split(command.replace("RUN", run)))
    assert done.code == _OTHER_EXITS.get(code, 2)
    assert f" [{code}]" in done.err
    assert [part for part in parts if part.replace("RUN", run) not in done.err and part not in done.err] == []
    assert "Traceback" not in done.err


def test_the_table_holds_sixty_mistakes() -> None:
    """Each of them once."""
    assert len({command for command, *_ in MISTAKES}) == len(MISTAKES) >= 60

"""Runs of several judges over the same recordings in one store, with the labels of people."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial import EvalCase, EvalSet, Invocation, Judges, Label, Message, Recording, Run, Trace, open_run, score
from fairtrial.records.keys import outcome_key
from loopback import Loopback, Request, Say

CRITERION = "final_response_match_v2"
STORE = "sqlite:///runs.db"
RULE = "the number has to be right"


@dataclass(frozen=True)
class AskedJudges:
    """Judges behind one server. Each is wrong about a share of the replies, by the last letter of its name.

    Every third reply has a wrong number. A judge whose name ends in `x` passes all of them, unless its instructions
    or its examples say the rule. The model `writer` writes the rule.
    """

    errors: Mapping[str, float]

    def __call__(self, request: Request) -> Say:
        """Answer a request."""
        if request.schema is None:
            return Say(f"```\n{RULE}\n```")
        number = int(re.findall(r"basket (\d+)", request.text)[-1])
        holds = number % 3 > 0
        name = request.model[-1]
        if name == "x" and RULE not in request.text:
            holds = True
        if random.Random(f"{name} {number}").random() < self.errors.get(name, 0.0):
            holds = not holds
        return Say(request.answers("valid" if holds else "invalid"))


def write_config(path: str = "test_config.json", model: str = "openai/m-a", **options: Any) -> Path:
    """Write a configuration with one judge and one vote."""
    criterion = {"threshold": 0.5, "judge_model_options": {"judge_model": model, "num_samples": 1}, **options}
    place = Path(path)
    place.write_text(json.dumps({"criteria": {CRITERION: criterion}}), encoding="utf-8")
    return place


def connect(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the calls of OpenAI's models to a server."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "unused")


def judge_replies(config: Path, model: str, number: int = 90) -> Run:
    """Score the same recordings with a model."""
    cases, recordings = [], []
    for basket in range(number):
        counted = basket + (7 if basket % 3 == 0 else 0)
        question = Message(f"How many apples are in basket {basket}?")
        cases.append(EvalCase(f"q{basket}", (Invocation(question, None, Message(f"{basket} apples")),)))
        reply = Message(f"There are {counted} apples in it.", "agent")
        recordings.append(Recording(f"q{basket}", Trace((Invocation(question, (), reply),))))
    return score(recordings, EvalSet("fruit", tuple(cases)), config, judges=Judges(model=model), store=STORE)


def label(run: Run, number: int = 90, note: str = "") -> Run:
    """Label the first outcomes as people would: each third reply is wrong."""
    traces = {position: recording.trace for position, recording in run.recordings}
    for case in run.expected:
        basket = int(case.case.id[1:])
        if basket < number:
            fails = basket % 3 == 0
            own = Label(case.key, 1, CRITERION, value=float(not fails), author="ann", note=note if fails else "")
            run.add_label(replace(own, key=outcome_key(CRITERION, case.key.digest, traces[case.position])))
    return open_run(run.info.id, store=STORE)

"""Measure how often the search for instructions finds a rule that people follow and the judge does not know.

Run: python benchmarks/judge_alignment.py [--worlds 80]

A world has one of 20 rules in one of four languages. People fail replies that break the rule, and say so in a note. The
judge follows the rule only if its instructions have the word of the rule, and is right in 95 % otherwise. The writer
copies a note that it is shown in 60 % of its texts, and writes something else in the others. There are 120 labels and
at most 300 calls.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from pathlib import Path
from typing import Any

from fairtrial import (
    AlignOptions,
    Budget,
    ChoiceTerms,
    EvalCase,
    EvalSet,
    Invocation,
    JudgeChoice,
    Judges,
    Label,
    Message,
    ModelOptions,
    Recording,
    Run,
    Trace,
    align_judge,
    score,
)
from fairtrial.records.reply import Prompt, Reply
from fairtrial.stats.agreement import share_interval

CRITERION = "final_response_match_v2"
RULES = {
    "en": ("currency", "refund", "greeting", "deadline", "apology"),
    "ko": ("통화", "환불", "인사", "기한", "사과"),
    "ja": ("通貨", "返金", "挨拶", "期限", "謝罪"),
    "zh": ("货币", "退款", "问候", "期限", "道歉"),
}
NOTES = {
    "en": "the reply has to state the {word}",
    "ko": "답변에 {word}이(가) 있어야 합니다",
    "ja": "返答には{word}が必要です",
    "zh": "回复里必须有{word}",
}
LABELS = 120
MOST_CALLS = 300


class RuledJudge:
    """A judge that follows a rule only if its instructions name it."""

    def __init__(self, word: str, seed: int) -> None:
        self._word = word
        self._seed = seed

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer in the form of the prompt."""
        number = int(re.findall(r"order (\d+)", prompt.text)[-1])
        breaks, wrong = number % 3 == 0, number % 7 == 0
        holds = not wrong and (not breaks or self._word not in prompt.system + prompt.text)
        if random.Random(f"{self._seed} {number}").random() < 0.05:
            holds = not holds
        assert prompt.schema is not None
        items: Any = prompt.schema["properties"]["answers"]["items"]["properties"]["id"]["enum"]
        answer = "valid" if holds else "invalid"
        answers = [{"id": item, "rationale": "by the rules", "quote": "", "answer": answer} for item in items]
        return Reply(json.dumps({"answers": answers}), cost=0.001)


class Writer:
    """A model that copies a note in 60 % of its texts."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(f"writer {seed}")

    async def __call__(self, prompt: Prompt) -> Reply:
        """Write instructions."""
        notes = re.findall(r"fail\. (.+)", prompt.text)
        notes = [note for note in notes if note.strip() and "by the rules" not in note]
        copies = notes and self._dice.random() < 0.6
        text = self._dice.choice(notes) if copies else "Be strict about style."
        return Reply(f"```\n{text}\n```", cost=0.01)


def align(language: str, word: str, seed: int, folder: Path) -> JudgeChoice:
    """Make a world, and search its instructions."""
    store = f"sqlite:///{folder / 'runs.db'}"
    config = folder / "test_config.json"
    options = {"judge_model": "ruled", "num_samples": 1}
    config.write_text(json.dumps({"criteria": {CRITERION: {"threshold": 0.5, "judge_model_options": options}}}))
    models: dict[str, Any] = {"ruled": RuledJudge(word, seed), "writer": Writer(seed)}
    run = _judge(folder, store, config, models)
    note = NOTES[language].format(word=word)
    for case in run.expected:
        number = int(case.case.id)
        fails = number % 3 == 0 or number % 7 == 0
        text = note if number % 3 == 0 else ""
        run.add_label(Label(case.key, 1, CRITERION, value=float(not fails), author="ann", note=text))
    budget = Budget(MOST_CALLS)
    judges = Judges(models=ModelOptions(custom_models=models, budget=budget))
    terms = ChoiceTerms(seed=seed)
    search = AlignOptions(search=("instructions",), terms=terms, judges=judges, writer="writer")
    return align_judge(run.info.id, CRITERION, config, search, store=store)


def _judge(folder: Path, store: str, config: Path, models: dict[str, Any]) -> Run:
    cases, recordings = [], []
    for number in range(LABELS):
        question, reply = Message(f"Where is order {number}?"), Message(f"It is on its way: order {number}.", "agent")
        cases.append(EvalCase(str(number), (Invocation(question, None, Message("It is on its way.")),)))
        recordings.append(Recording(str(number), Trace((Invocation(question, (), reply),))))
    judges = Judges(models=ModelOptions(custom_models=models))
    return score(recordings, EvalSet(f"orders {folder.name}", tuple(cases)), str(config), judges=judges, store=store)


def main() -> None:
    """Print how often the search finds the rule, and how many calls it makes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=80)
    worlds = parser.parse_args().worlds
    rules = [(language, word) for language, words in RULES.items() for word in words]
    gains, calls = [], []
    for number in range(worlds):
        language, word = rules[number % len(rules)]
        with tempfile.TemporaryDirectory() as name:
            choice = align(language, word, number, Path(name))
        before, after = choice.before.accuracy.value or 0.0, choice.after.accuracy.value or 0.0
        gains.append((after > before, 1.0))
        calls.append(choice.calls)
        notes = "; ".join(choice.notes)
        print(language, word, f"{before:.2f} -> {after:.2f}", choice.verdict, choice.calls, notes, flush=True)
    share = share_interval(gains) or (0.0, 0.0, 1.0)
    print("raised in {:.1%} ({:.1%} to {:.1%})".format(*share), "calls at most", max(calls))


if __name__ == "__main__":
    main()

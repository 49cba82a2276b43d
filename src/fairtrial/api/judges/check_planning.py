"""Plan a check of judges: which questions they are asked, and which models there are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairtrial import loading
from fairtrial.api.judges.check_runner import JudgeCheck
from fairtrial.api.judges.item_exams import items_to_check, judged_criteria
from fairtrial.errors import ConfigError, UsageError, nearest
from fairtrial.llm.address import address
from fairtrial.llm.model_pool import HasPanel, find_panels
from fairtrial.llm.token_counts import price
from fairtrial.metrics.exams.gold_file import read_gold
from fairtrial.metrics.exams.known_items import exam_canaries
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS, check_cases
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS, writing_cases
from fairtrial.metrics.judged_metric import TEMPLATES
from fairtrial.simulate.played import TEMPLATES as SIMULATION_TEMPLATES
from fairtrial.store import Store

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.llm.model import NamedModel
    from fairtrial.metrics.exams.known_answers import KnownAnswer

PROMPTS = (*JUDGED_PROMPTS, *WRITING_PROMPTS)
"""The prompts with a table of questions or tasks."""
SIMULATION_PROMPTS = ("simulated_user", "simulated_tool", "scenarios")
"""The prompts of simulations, whose templates stand in their own package."""
QUICK = "ping"
"""The name of twelve easy questions, three in each language."""


def plan_judge_check(
    judges: Judges, config: str | Path | None = None, *, prompts: Sequence[str] = (), votes: int = 1
) -> JudgeCheck:
    """Plan the questions for each model that a configuration names, or for the model of `judges`.

    `prompts` selects prompts by their names, all by default, or twelve easy questions by the name "ping". The questions
    of the prompts alternate, so that a budget that ends early leaves some of each. Raises ConfigError for an unknown
    prompt or model.
    """
    templates = {name: text for prompt in prompts for name, text in _read_template(prompt)}
    prompts = tuple(dict.fromkeys(next((name for name, _ in _read_template(own)), own) for own in prompts))
    for name in prompts:
        if name not in (*PROMPTS, QUICK):
            hint = nearest(name, PROMPTS) or f"; allowed: {', '.join(PROMPTS)}"
            raise ConfigError(f"prompt {name!r} does not exist{hint}")
    tables: list[Sequence[KnownAnswer]] = [
        writing_cases(name) if name in WRITING_PROMPTS else (*check_cases(name), *exam_canaries(name))
        for name in prompts or PROMPTS
    ]
    mixed = (case for row in itertools.zip_longest(*tables) for case in row if case is not None)
    return JudgeCheck(judges, list_voters(judges, config), tuple(mixed), votes, templates)


def plan_item_check(
    judges: Judges,
    config: str | Path | None = None,
    *,
    gold: str | Path | None = None,
    criteria: Sequence[str] = (),
    probes: bool = True,
) -> JudgeCheck:
    """Plan questions about the items of a gold file, about all canaries of criteria, and about probes.

    Each criterion asks its own judge, with the options that `config` gives it. By default the criteria are those of the
    gold file or of `config`. Raises UsageError with all problems of a file.
    """
    items = [] if gold is None else read_gold(Path(gold))
    names = list(criteria) or list(dict.fromkeys(item.criterion for item in items))
    if not names and config is None:
        raise UsageError("a report card needs recorded verdicts, a gold file, a config, or the name of a criterion")
    own = judged_criteria(names, None if config is None else Path(config), judges)
    return JudgeCheck(judges, exams=tuple(items_to_check(criterion, items, probes=probes) for criterion in own))


def _read_template(prompt: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of a template, if a prompt is a file or names a version of the package.

    The name of a file begins with the name of its prompt, for example "safety-strict.jinja". A version of the package
    is written as "final_response_match/3". Raises ConfigError if there is no such file or version.
    """
    name, slash, version = prompt.rpartition("/")
    try:
        if prompt.endswith(".jinja"):
            path = Path(prompt)
            yield re.split(r"[-.]", path.name)[0], path.read_text(encoding="utf-8")
        elif slash and name in PROMPTS:
            templates = SIMULATION_TEMPLATES if name in SIMULATION_PROMPTS else TEMPLATES
            versions = templates.versions(name)
            if version not in versions:
                raise ConfigError(f"prompt {prompt!r}: {name} has the versions {', '.join(versions)}")
            yield name, templates.source(name, versions[version])
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"prompt {prompt!r}: {getattr(problem, 'strerror', None) or problem}") from None


def list_voters(judges: Judges, config: str | Path | None) -> tuple[NamedModel, ...]:
    """Return every model that a configuration names as a judge, each once, or the models of `judges`."""
    with_panel: list[HasPanel] = [judges.judge()] if config is None else _judges_in(Path(config), judges)
    voters = {msgspec.json.encode(voter.signature): voter for judge in with_panel for voter in judge.panel}
    if not voters:
        raise ConfigError(f"{config}: has no criterion that asks a judge")
    return tuple(voters.values())


def connections(judges: Judges, config: str | Path | None = None) -> dict[str, str]:
    """Return the protocol, the address and the source of the key of each model that is checked. It holds no secret."""
    own_models = judges.models.custom_models
    return {
        voter.name: address(voter.name, voter.endpoint).description
        for voter in list_voters(judges, config)
        if voter.model is None and voter.name not in own_models
    }


def estimate_cost(run_id: str, store: str, model: str) -> tuple[int, float | None]:
    """Return the number of replies of a run's judges, and the cost of their tokens with a model, if it is known."""
    run_store = Store(store, create=False)
    try:
        run = run_store.run(run_id).id
        replies = run_store.replies(run)
        keys = {call.key for ballot in run_store.ballots(run).values() for call in ballot.calls}
        tokens = [(reply.input_tokens or 0, reply.output_tokens or 0) for key in keys if (reply := replies.get(key))]
    finally:
        run_store.close()
    try:
        at = address(model)
    except ConfigError:  # a name that only its own server knows
        return len(tokens), None
    return len(tokens), price(at, sum(own[0] for own in tokens), sum(own[1] for own in tokens))


def _judges_in(config: Path, judges: Judges) -> list[HasPanel]:
    """Return the judges that the criteria of a configuration ask."""
    criteria = loading.criteria_in(config, judges=judges).criteria
    return [judge for criterion in criteria for judge in find_panels(criterion.metric)]

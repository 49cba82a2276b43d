"""The judge: waves, re-asks, abstentions, panels."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter

import pytest

from fairtrial.errors import UsageError
from fairtrial.judge.ballot_costs import judge_stats
from fairtrial.judge.judge import Judge
from fairtrial.judge.question import Question, answer_schema
from fairtrial.judge.voting import NOT_APPLICABLE, Rule, count, majority
from fairtrial.llm.model import CallError, NamedModel
from fairtrial.records.ballot import Ballot, VoteResult
from fairtrial.records.reply import Prompt, Reply
from fairtrial.records.score import Score
from fairtrial.testing import ModelLine, ScriptedModel
from judged import fenced

VALID = majority(yes=["valid"], no=["invalid"])
RUBRIC = majority(yes=["yes"], no=["no"], not_applicable=["not_applicable"])
VALID_OR_NOT = ("valid", "invalid")
YES_NO_NA = ("yes", "no", "not_applicable")
Votes = tuple[tuple[str | None, ...], ...]


def question(items: int = 1, answers: tuple[str, ...] = ("valid", "invalid"), rule: Rule = VALID) -> Question:
    """A question on that many items."""
    ids = tuple(f"i{number}" for number in range(1, items + 1))
    prompt = Prompt(id="test", version="1", text="?", schema=answer_schema(ids, answers))
    return Question(prompt=prompt, items=ids, answers=answers, rule=rule)


def reply(answers: dict[str, str | None]) -> str:
    """A reply with an entry for each item that has an answer."""
    entries = [{"id": item, "rationale": "because", "answer": answer} for item, answer in answers.items() if answer]
    return json.dumps({"answers": entries})


def voter(votes: Votes, name: str = "m") -> NamedModel:
    """A model whose draw d says votes[d - 1] on the items; None leaves an item out, also when asked again."""

    def say(prompt: Prompt) -> ModelLine:
        row = votes[int(prompt.draw) - 1]
        return reply({f"i{number}": answer for number, answer in enumerate(row, 1)})

    return NamedModel(name, ScriptedModel(say))


def hold(judge: Judge, asked: Question) -> Ballot:
    """Put a question to the vote."""
    return asyncio.run(judge(asked))


def calls(named: NamedModel) -> list[Prompt]:
    """The prompts that a voter was sent."""
    assert isinstance(named.model, ScriptedModel)
    return named.model.prompts


async def same_as_counting_all(votes: Votes, asked: Question) -> None:
    """Hold the ballot and compare each item with the count of all k votes."""
    ballot = await Judge((voter(votes),), votes=len(votes))(asked)
    for number, item in enumerate(asked.items):
        whole = count(Counter(row[number] for row in votes), asked.rule, len(votes))
        assert ballot.decisions[item].result == whole, votes


@pytest.mark.long
@pytest.mark.parametrize(
    ("items", "answers", "rule"), [(2, VALID_OR_NOT, VALID), (3, VALID_OR_NOT, VALID), (2, YES_NO_NA, RUBRIC)]
)
def test_stopping_changes_no_result_in_sampled_tables(items: int, answers: tuple[str, ...], rule: Rule) -> None:
    """Five hundred tables of five votes with abstentions, drawn with a fixed seed. See also test_vote_scheduler.py."""
    asked, draw = question(items, answers, rule), random.Random(20260713)

    async def hold_all() -> None:
        for _ in range(500):
            votes = tuple(tuple(draw.choice((*answers, None)) for _ in range(items)) for _ in range(5))
            await same_as_counting_all(votes, asked)

    asyncio.run(hold_all())


def test_three_equal_votes_are_one_wave() -> None:
    """Three calls go out together and decide five votes."""
    named = voter((("valid",),) * 5)
    ballot = hold(Judge((named,)), question())
    assert [(vote.draw, vote.wave) for vote in ballot.votes] == [(1, 1), (2, 1), (3, 1)]


def test_a_split_asks_for_one_more_at_a_time() -> None:
    """After 2 to 1, one more vote could decide; after 2 to 2, one more again."""
    named = voter((("valid",), ("invalid",), ("valid",), ("invalid",), ("valid",)))
    ballot = hold(Judge((named,)), question())
    assert [vote.wave for vote in ballot.votes] == [1, 1, 1, 2, 3]


def test_all_votes_asks_for_all_at_once() -> None:
    """With stopping turned off, k draws are one wave."""
    named = voter((("valid",),) * 5)
    ballot = hold(Judge((named,), all_votes=True), question())
    assert [vote.wave for vote in ballot.votes] == [1] * 5


def test_votes_on_settled_items_are_kept_but_not_counted() -> None:
    """The first item is settled by wave 1; its votes of wave 2 are on the ballot, not in its count."""
    votes = (("valid", "valid"), ("valid", "invalid"), ("valid", "valid"), ("invalid", "valid"))
    ballot = hold(Judge((voter(votes),)), question(2))
    assert ballot.decisions["i1"].counted == {"valid": 3}
    assert ballot.votes[3].opinions["i1"].answer == "invalid"


def test_an_unreadable_reply_is_asked_again_once_with_what_was_wrong() -> None:
    """The second prompt is the first, and then the problem in a fence."""
    named = NamedModel("m", ScriptedModel(["no JSON", reply({"i1": "valid"})]))
    ballot = hold(Judge((named,), votes=1), question())
    first, second = calls(named)
    assert second.text.startswith(first.text)
    assert (second.draw, first.ask, second.ask) == (first.draw, 1, 2)
    assert fenced(second, "problems of the previous reply").startswith("the reply holds no JSON: 'no JSON'")
    assert ballot.decisions["i1"].result == VoteResult(1.0)


def test_after_two_unreadable_replies_the_voter_abstains() -> None:
    """The item is unscored, and the ballot says what was wrong."""
    ballot = hold(Judge((NamedModel("m", ScriptedModel(["no JSON", "still none"])),), votes=1), question())
    assert ballot.abstentions == 1
    assert ballot.why_unscored("i1").startswith("1 of 1 votes are abstentions: the reply holds no JSON")


def test_a_readable_item_keeps_its_vote_when_another_is_asked_again() -> None:
    """The second reply counts only for the item that the first left out."""
    script = [reply({"i1": "valid"}), reply({"i1": "invalid", "i2": "valid"})]
    ballot = hold(Judge((NamedModel("m", ScriptedModel(script)),), votes=1), question(2))
    assert [ballot.decisions[item].result for item in ("i1", "i2")] == [VoteResult(1.0), VoteResult(1.0)]


def test_only_the_problems_of_open_items_are_told() -> None:
    """Item 1 has its answer; of two problems each stands behind its item."""
    script = [reply({"i1": "valid", "i2": "maybe"}), reply({"i2": "valid", "i3": "valid"})]
    named = NamedModel("m", ScriptedModel(script))
    hold(Judge((named,), votes=1), question(3))
    problems = fenced(calls(named)[1], "problems of the previous reply").splitlines()
    assert problems == ["i2: answer must be one of valid, invalid, got 'maybe'", "i3: the reply leaves it out"]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("length", "the reply was cut off at the limit of tokens"),
        ("content_filter", "the reply was stopped by the provider's content filter"),
        ("error", "the reply was stopped by: error"),
    ],
)
def test_the_reason_why_a_reply_ended_early_is_the_reason_that_is_shown(stop: str, reason: str) -> None:
    """Not that its JSON ends in the middle."""

    async def cut_off(prompt: Prompt) -> Reply:  # noqa: ARG001
        return Reply(text='{"answers": [{"id"', stop=stop)

    ballot = hold(Judge((NamedModel("m", cut_off),), votes=1), question())
    assert ballot.why_unscored("i1") == f"1 of 1 votes are abstentions: {reason}"
    assert ballot.calls[0].problem == reason


def test_a_settled_item_is_not_asked_about_again() -> None:
    """Three readable votes decide; the fourth draw, unreadable on ask 1, is not in the first wave at all."""
    named = NamedModel("m", ScriptedModel([reply({"i1": "valid"})] * 3 + ["never asked"]))
    hold(Judge((named,)), question())
    assert len(calls(named)) == 3


def test_an_unreadable_reply_in_the_first_wave_is_asked_again_before_new_draws() -> None:
    """Draws 1 to 3 go out; of draw 2 ask 2 follows, not draw 4."""
    script = [reply({"i1": "valid"}), "no JSON", reply({"i1": "valid"}), reply({"i1": "valid"})]
    named = NamedModel("m", ScriptedModel(script))
    hold(Judge((named,)), question())
    assert [(prompt.draw, prompt.ask) for prompt in calls(named)] == [("1", 1), ("2", 1), ("3", 1), ("2", 2)]


def test_a_failed_call_is_an_abstention_with_its_cause() -> None:
    """It is not asked again, and the other votes decide."""
    script: list[ModelLine] = [CallError("out of service"), *[reply({"i1": "valid"})] * 3]
    ballot = hold(Judge((NamedModel("m", ScriptedModel(script)),)), question())
    assert ballot.decisions["i1"].result == VoteResult(1.0)
    assert ballot.votes[0].problems == {"i1": "out of service"}


def test_an_error_of_the_run_is_raised_after_the_wave() -> None:
    """What is no failure of one call is no abstention."""
    named = NamedModel("m", ScriptedModel([reply({"i1": "valid"}), UsageError("no entry"), reply({"i1": "valid"})]))
    with pytest.raises(UsageError, match="no entry"):
        hold(Judge((named,)), question())
    assert len(calls(named)) == 3


def test_a_panel_takes_turns() -> None:
    """Vote i goes to model i mod m, and each vote says whose it is."""
    panel = tuple(voter((("valid",),) * 5, name) for name in ("a", "b"))
    ballot = hold(Judge(panel, all_votes=True), question())
    assert [vote.voter for vote in ballot.votes] == ["a", "b", "a", "b", "a"]


def test_judging_reports_agreement_of_a_panel_apart() -> None:
    """Two models that each always say one thing agree with themselves, never with each other."""
    panel = (voter((("valid",),) * 4, "a"), voter((("invalid",),) * 4, "b"))
    ballot = hold(Judge(panel, votes=4, all_votes=True), question())
    cost = judge_stats(Score(ballots=(ballot.id,)), {ballot.id: ballot})
    assert cost is not None
    assert (cost.self_agreement, cost.panel_agreement) == (1.0, 0.0)


def test_judging_counts_calls_and_what_stopping_saved() -> None:
    """Three of five draws: 3 calls made, 2 saved, no abstention."""
    ballot = hold(Judge((voter((("valid",),) * 5),)), question())
    cost = judge_stats(Score(parts=(Score(1.0, ballots=(ballot.id,)),)), {ballot.id: ballot})
    assert cost is not None
    assert (cost.calls, cost.calls_saved, cost.abstentions) == (3, 2, 0)


def test_self_agreement_is_that_of_the_first_wave() -> None:
    """First wave valid, invalid, valid: 1 of 3 pairs agrees, whatever later waves say."""
    ballot = hold(Judge((voter((("valid",), ("invalid",), ("valid",), ("valid",))),)), question())
    assert ballot.agreements == (1, 3, 0, 0)


def test_every_ballot_is_handed_to_keep() -> None:
    """The seam to the store is a callable."""
    kept: list[Ballot] = []
    ballot = hold(Judge((voter((("valid",),) * 5),), keep=kept.append), question())
    assert kept == [ballot]


def test_a_majority_of_not_applicable_leaves_the_item_out() -> None:
    """Three of five say that the rubric does not apply."""
    votes = (("not_applicable",),) * 5
    ballot = hold(Judge((voter(votes),)), question(1, ("yes", "no", "not_applicable"), RUBRIC))
    assert ballot.decisions["i1"].result == NOT_APPLICABLE


def test_equal_questions_have_equal_ballots() -> None:
    """A ballot's id depends on question, panel and number of votes alone."""
    one, two = (hold(Judge((voter((("valid",),) * 5),)), question()) for _ in range(2))
    other = hold(Judge((voter((("valid",),) * 5),), votes=3), question())
    assert one.id == two.id != other.id


def test_the_number_of_calls_is_bounded_by_two_for_each_vote() -> None:
    """A judge that never answers in form is asked twice for every vote, no more."""
    named = NamedModel("m", ScriptedModel(lambda _: "nonsense"))
    hold(Judge((named,)), question(3))
    assert len(calls(named)) <= 10

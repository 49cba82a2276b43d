"""The peer's vectors, votes injected at the ballot; where we differ on purpose, a test says where and why."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.llm.model import CallError
from fairtrial.metrics.grounding import Hallucinations
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.rubrics import FinalResponseRubrics
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.reply import Prompt
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace
from fairtrial.testing import ModelLine
from judged import Bench, fenced, invocation, reply, score, vectors

pytestmark = pytest.mark.shared

VALIDITY = {"V": "valid", "I": "invalid", "T": "valid", "F": "invalid"}


def by_text(samples: dict[str, str], name: str, votes: int) -> Bench:
    """A judge whose draw d on a question says samples[text under that name][d - 1]; X fails, the rest is unreadable."""

    def say(prompt: Prompt) -> ModelLine:
        letter = samples[fenced(prompt, name)][int(prompt.draw) - 1]
        if letter in VALIDITY:
            return reply(prompt, lambda *_: VALIDITY[letter])
        return CallError("429") if letter in "XE" else "I cannot decide."

    bench = Bench([], votes=votes)
    bench.model.script = say
    bench.model.__post_init__()
    return bench


def match(vector: dict[str, Any]) -> Score:
    """Score one vector of final_response_match_v2."""
    samples = {f"reply {number}": letters for number, letters in enumerate(vector["invocations"])}
    said = tuple(invocation("q", text) for text in samples)
    bench = by_text(samples, "reply", vector["num_samples"])
    return score(FinalResponseMatch(bench.judge), Trace(said), EvalCase("c", said))


def cast(letters: str) -> int:
    """How many votes are cast."""
    return sum(letter in VALIDITY for letter in letters)


@pytest.mark.long
def test_final_response_match_is_the_peers_where_a_quorum_voted() -> None:
    """Each invocation with at least half of its votes and no failed call has the peer's number."""
    compared = 0
    for vector in vectors("final_response_match_v2")["vectors"]:
        for letters, part, peer in zip(
            vector["invocations"], match(vector).parts, vector["per_invocation"], strict=True
        ):
            if 2 * cast(letters) >= len(letters) and not set(letters) & set("XE"):
                assert part.value == peer["score"], vector
                compared += 1
    assert compared >= 60


def test_without_a_quorum_there_is_no_number() -> None:
    """The peer takes one vote of five for a verdict; here fewer than half are none (it says 0.0 to UUI)."""
    found = [
        (match(vector), number)
        for vector in vectors("final_response_match_v2")["vectors"]
        for number, letters in enumerate(vector["invocations"])
        if 2 * cast(letters) < len(letters)
    ]
    assert len(found) >= 10
    assert all(result.parts[number].value is None for result, number in found)


def test_one_failed_sample_does_not_void_the_others() -> None:
    """The peer has no number for an invocation with one failed call; here the other votes decide."""
    seen = 0
    for vector in vectors("final_response_match_v2")["vectors"]:
        for number, (letters, peer) in enumerate(zip(vector["invocations"], vector["per_invocation"], strict=True)):
            if set(letters) & set("XE") and 2 * cast(letters) >= len(letters):
                assert peer["score"] is None
                expected = float(letters.count("V") > letters.count("I"))
                assert match(vector).parts[number].value == expected
                seen += 1
    assert seen >= 5


ANSWERS = {"Y": "yes", "N": "no", "A": "not_applicable"}


def rate(vector: dict[str, Any]) -> Score:
    """Score one vector of the rubric criteria; a rubric's text is its id."""

    def say(prompt: Prompt) -> ModelLine:
        sample = vector["invocations"][int(fenced(prompt, _reply_name(prompt)))][int(prompt.draw) - 1]
        if sample in {"X", "G", "0", "E"}:
            return CallError("429") if sample in "XE" else "garbage"
        spoken = dict(zip(vector["rubric_ids"], sample, strict=True))
        return reply(prompt, lambda item, asked: ANSWERS.get(spoken[fenced(asked, f"rubric {item}")]))

    bench = Bench([], votes=vector["num_samples"])
    bench.model.script = say
    bench.model.__post_init__()
    rubrics = tuple(Rubric(name, name) for name in vector["rubric_ids"])
    trace = Trace(tuple(invocation("q", str(number)) for number in range(len(vector["invocations"]))))
    return score(FinalResponseRubrics(bench.judge, rubrics), trace)


def _reply_name(prompt: Prompt) -> str:
    return max(
        line.split()[1] + " " + line.split()[2] for line in prompt.text.splitlines() if "<<<JUDGED reply" in line
    )


def column(vector: dict[str, Any], number: int, rubric: int) -> str:
    """The votes on one rubric of one invocation: Y, N, A, and - for none."""
    return "".join(
        "-" if sample in {"X", "G", "0", "E"} else sample[rubric] for sample in vector["invocations"][number]
    )


def test_rubric_votes_are_the_peers_where_we_count_alike() -> None:
    """Where a quorum voted, nobody said "not applicable" and no call failed, each rubric has the peer's number."""
    compared = 0
    for vector in vectors("rubric_vote")["vectors"]:
        result = rate(vector)
        for number, peer in enumerate(vector["per_invocation"]):
            for place, name in enumerate(vector["rubric_ids"]):
                votes = column(vector, number, place)
                if "A" in votes or set(vector["invocations"][number]) & {"X", "0", "E"}:
                    continue
                if 2 * len(votes.replace("-", "")) >= len(votes):
                    assert result.parts[number].parts[place].value == peer["rubric_scores"][name], vector
                    compared += 1
    assert compared >= 60


def test_a_majority_of_not_applicable_leaves_a_rubric_out() -> None:
    """The peer ignores "not applicable" while any yes or no exists; here it wins where it outnumbers them."""
    seen = 0
    for vector in vectors("rubric_vote")["vectors"]:
        result = rate(vector)
        for number in range(len(vector["invocations"])):
            for place in range(len(vector["rubric_ids"])):
                votes = column(vector, number, place)
                named = votes.count("Y") + votes.count("N")
                if votes.count("A") > named and 2 * (len(votes) - votes.count("-")) >= len(votes):
                    assert not result.parts[number].parts[place].applicable
                    seen += 1
    assert seen >= 3


def test_a_case_is_the_mean_of_its_invocations_not_of_all_rubrics() -> None:
    """The peer pools: {a: 1}, {a: 1, b: 0} is 2/3 there; its documentation and this package say 0.75."""
    first = invocation("q", "1", rubrics=(Rubric("a", "a", type="FINAL_RESPONSE_QUALITY"),))
    second = invocation("q", "2", rubrics=tuple(Rubric(i, i, type="FINAL_RESPONSE_QUALITY") for i in "ab"))
    bench = Bench(lambda item, prompt: "yes" if fenced(prompt, f"rubric {item}") == "a" else "no")
    assert score(FinalResponseRubrics(bench.judge), Trace((first, second))).value == 0.75


def simulate(vector: dict[str, Any]) -> Score:
    """Score one vector of the simulator criterion."""
    letters = {str(number): sample for number, sample in enumerate(vector["samples_then_stop"], 1)}

    def say(prompt: Prompt) -> ModelLine:
        place = str(sum(line.startswith("<<<CONTEXT user message") for line in prompt.text.splitlines()))
        letter = letters[place][int(prompt.draw) - 1]
        return reply(prompt, lambda *_: VALIDITY[letter]) if letter in VALIDITY else "unreadable"

    bench = Bench([], votes=vector["num_samples"])
    bench.model.script = say
    bench.model.__post_init__()
    trace = Trace(tuple(invocation(turn, "ok") for turn in vector["turns"]))
    return score(
        UserSimulatorQuality(bench.judge), trace, EvalCase("c", scenario=Scenario(vector["starting_prompt"], "p"))
    )


def test_the_simulator_is_judged_as_by_the_peer_where_a_quorum_voted() -> None:
    """Every vector in which each question had at least half of its votes: the same numbers."""
    compared = 0
    for vector in vectors("per_turn_user_simulator")["vectors"]:
        if all(2 * cast(sample) >= len(sample) for sample in vector["samples_then_stop"]):
            result = simulate(vector)
            assert [part.value for part in result.parts] == [peer["score"] for peer in vector["per_invocation"]]
            assert result.value == pytest.approx(vector["score"])
            compared += 1
    assert compared >= 10


def test_a_turn_that_could_not_be_judged_is_unscored() -> None:
    """The peer counts it as 0, and overlooks a stop that it could not judge; here both leave the turn open."""
    seen = 0
    for vector in vectors("per_turn_user_simulator")["vectors"]:
        result = simulate(vector)
        for number, sample in enumerate(vector["samples_then_stop"][:-1], 1):
            if 2 * cast(sample) < len(sample) and vector["samples_then_stop"][-1] == "T" * len(sample):
                assert result.parts[number].value is None
                seen += 1
    assert seen >= 1


def test_the_arithmetic_of_labels_is_the_peers() -> None:
    """Of its 25 cases those with a label for every sentence: the same share of supported and not applicable."""
    compared = 0
    for vector in vectors("hallucinations"):
        for judged, peer in zip(vector["invocations"], vector["per_invocation"], strict=True):
            if judged is None or len(judged) != 2 or not isinstance(judged[1], str) or peer["score"] is None:
                continue
            labels = [line.partition(": ")[2] for line in judged[1].splitlines() if line.startswith("label: ")]
            if judged[0].count("<sentence>") != len(labels) or not all(label.islower() for label in labels):
                continue
            trace = Trace((invocation("context", " ".join(f"Sentence {i}." for i in range(len(labels)))),))
            spoken = {f"s{i}": label for i, label in enumerate(labels, 1)}
            if not set(labels) <= {"supported", "unsupported", "contradictory", "disputed", "not_applicable"}:
                continue
            bench = Bench(lambda item, _, said=spoken: {"answer": said[item], "quote": "context"}, votes=1)  # type: ignore[misc]
            assert score(Hallucinations(bench.judge), trace).value == pytest.approx(peer["score"])
            compared += 1
    assert compared >= 15

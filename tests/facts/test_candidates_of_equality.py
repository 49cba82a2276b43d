"""The evidence finds the same facts with its sorted lists as a comparison with each of its facts."""

from hypothesis import given
from hypothesis import strategies as st

from fairtrial.text.facts.calculations import PairResults
from fairtrial.text.facts.fact_equality import equal_facts
from fairtrial.text.facts.fact_evidence import EvidenceTexts
from fairtrial.text.facts.fact_reading import read_facts

UNITS = (
    "% km miles m kg lb °C °F K hours minutes days nights months years USD yen GB MB degrees times million k dozen feet"
)
OTHER = (
    "3 pm|15:00|at 3|noon|2026-03-04|4 March 2026|March 4|May 2020|in 2020|the 3rd|3/4|4/3|the 1990s|the 19th century|"
    "Monday|tomorrow|per hour|v2.1|version 2.10|AB-1234|ticket_2024|0.9|90%|about 5 km|3 miles|1 month|30 days"
)
numbers = st.one_of(
    st.integers(0, 40).map(str),
    st.integers(0, 400).map(lambda n: f"{n / 10}"),
    st.integers(0, 99999).map(lambda n: f"{n:,}"),
)
values = st.one_of(
    st.builds(
        "{}{} {}".format, st.sampled_from(["", "", "$", "about "]), numbers, st.sampled_from(["", *UNITS.split()])
    ),
    st.sampled_from(OTHER.split("|")),
)


@given(st.lists(values, min_size=1, max_size=20), st.lists(values, min_size=1, max_size=8))
def test_a_fact_is_supported_exactly_if_one_of_the_evidence_equals_it(evidence: list[str], reply: list[str]) -> None:
    """The first pass of the comparison leaves out only facts that are not equal."""
    texts = EvidenceTexts()({"user": ". ".join(evidence)})
    for fact in read_facts(". ".join(reply)):
        equal = [item for _, item in texts.facts if equal_facts(fact, item)]
        if texts.supports(fact):
            assert equal
        else:
            # 250 mg are not the plain number of 250 g.
            assert all(item.readings[0].dimension == "number" for item in equal)
            assert not equal or any(
                item.readings[0].as_written == fact.readings[0].as_written and not equal_facts(fact, item)
                for _, item in texts.facts
            )


@given(st.lists(st.integers(-500, 500).map(lambda n: n / 4), min_size=2, max_size=12), st.data())
def test_a_value_follows_exactly_if_a_calculation_of_two_values_gives_it(
    given_values: list[float], data: st.DataObject
) -> None:
    """The sorted results hold each sum, difference, product and quotient."""
    a, b = data.draw(st.permutations(given_values))[:2]
    results = PairResults(given_values)
    if not all(abs(item) < 20 and item == int(item) for item in (a, b)):
        assert any(results.find(a + b, 0.01))
        assert any(results.find(abs(a - b), 0.01))
    if min(abs(a), abs(b)) > 1:
        assert any(results.find(a * b, 0.01))
    assert not any(results.find(10.0**9 + a, 0.01))

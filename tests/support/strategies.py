"""Random JSON, and random eval sets as people might have written them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fairtrial.config.spelling import camel

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
_UNKNOWN = ("날씨", "@vendor", "zzz")


@st.composite
def written(draw: st.DrawFn, must: dict[str, Any], may: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these fields: each in either spelling, what may be absent also null, and a key nobody knows."""
    found = draw(st.fixed_dictionaries(must, optional={k: st.none() | v for k, v in (may or {}).items()}))
    spelt = {camel(key) if draw(st.booleans()) else key: value for key, value in found.items()}
    if draw(st.integers(0, 7)) == 0:
        spelt[draw(st.sampled_from(_UNKNOWN))] = draw(json_values)
    return spelt


names = st.text("abcdefgh_", min_size=1, max_size=6)
calls = written({"name": names}, {"args": json_objects, "id": names})
results = written({"name": names}, {"response": json_objects, "id": names})
said = written({"text": texts}, {"thought": st.booleans(), "thought_signature": names})
blobs = written({"inline_data": st.fixed_dictionaries({"mime_type": st.just("image/png"), "data": st.just("AA==")})})
parts = said | blobs | written({"function_call": calls}) | written({"function_response": results})
rubrics = written(
    {"rubric_id": names, "rubric_content": written({"text_property": texts})}, {"description": texts, "type": names}
)


def contents(role: str) -> st.SearchStrategy[dict[str, Any]]:
    """A genai content."""
    return written({}, {"parts": st.lists(parts, max_size=3), "role": st.sampled_from([role, "user", "model"])})


by_hand = written(
    {},
    {
        "tool_uses": st.lists(calls, max_size=3),
        "tool_responses": st.lists(results, max_size=2),
        "intermediate_responses": st.lists(
            st.tuples(names, st.lists(said, min_size=1, max_size=2)).map(list), max_size=2
        ),
    },
)
counts = st.integers(0, 1000)
events = written(
    {"author": names},
    {
        "content": contents("model"),
        "usage_metadata": written({}, {"prompt_token_count": counts, "candidates_token_count": counts}),
        "model_version": names,
        "grounding_metadata": json_objects,
    },
)
recorded = written({"invocation_events": st.lists(events, max_size=3)})
agent_details = names.flatmap(
    lambda name: written(
        {"name": st.just(name)}, {"instructions": texts, "tool_declarations": st.lists(json_objects, max_size=2)}
    ).map(lambda details: {name: details})
)
invocations = written(
    {"user_content": contents("user")},
    {
        "invocation_id": names,
        "final_response": contents("model"),
        "intermediate_data": by_hand | recorded,
        "creation_timestamp": st.floats(0, 1e9),
        "duration": st.floats(0, 100),
        "model_duration": st.floats(0, 100),
        "first_token_duration": st.floats(0, 100),
        "rubrics": st.lists(rubrics, max_size=2),
        "app_details": written({"agent_details": agent_details}),
    },
)
behaviors = written({"name": names}, {"description": texts, "behavior_instructions": st.lists(texts, max_size=2)})
personas = names | written({"id": names}, {"description": texts, "behaviors": st.lists(behaviors, max_size=2)})
scenarios = written({"starting_prompt": texts, "conversation_plan": texts}, {"user_persona": personas})
_MORE = {
    "session_input": written({"app_name": names, "user_id": names}, {"state": json_objects, "session_id": names}),
    "creation_timestamp": st.floats(0, 1e9),
    "rubrics": st.lists(rubrics, max_size=2),
    "final_session_state": json_objects,
    "expected_tool_uses": st.lists(calls, max_size=2),
}


@st.composite
def eval_sets(draw: st.DrawFn) -> dict[str, Any]:
    """An eval set in ADK's current schema, its cases with ids of their own."""
    fixed = {"conversation": st.lists(invocations, max_size=2)}
    simulated = {"conversation_scenario": scenarios}
    kinds = [fixed if draw(st.booleans()) else simulated for _ in range(draw(st.integers(0, 3)))]
    cases = [draw(written({"eval_id": st.just(f"case {i}")} | kind, _MORE)) for i, kind in enumerate(kinds)]
    return draw(
        written({"eval_set_id": names, "eval_cases": st.just(cases)}, {"name": texts, "creation_timestamp": counts})
    )

"""The three built-in personas of simulated users, as data in our own words."""

from __future__ import annotations

import re

from msgspec.structs import replace

from fairtrial.errors import ConfigError, nearest
from fairtrial.records.case import Behavior, Persona, Scenario


def _behavior(name: str, description: str, instructions: tuple[str, ...], violations: tuple[str, ...]) -> Behavior:
    return Behavior(name, description, instructions, violations)


_ONE_STEP = _behavior(
    "takes one step at a time",
    "Brings up the steps of the plan one after the other.",
    (
        "Say only what the next step of your plan needs.",
        "Go on to the next step when the agent has dealt with this one.",
    ),
    ("The message brings up two or more steps of the plan although the first of them is still open.",),
)
_ALL_AT_ONCE = _behavior(
    "says everything at once",
    "Gives all details that the agent will need together with the request.",
    (
        "Name every detail of your plan that belongs to the present request in one message.",
        "Do not wait to be asked for something that you know will be needed.",
    ),
    ("The message holds back a detail of the plan that the present request plainly needs.",),
)
_WAITS = _behavior(
    "answers what is asked",
    "Gives details when the agent asks for them.",
    (
        "Give a detail only after the agent has asked for it.",
        "Answer the question that was asked, and nothing beside it.",
    ),
    (
        "The message gives details of the plan that the agent has not asked for.",
        "The agent asked for something that the plan tells the user, and the message does not answer it.",
    ),
)
_TECHNICAL = _behavior(
    "speaks the language of the field",
    "Uses exact terms and takes them for granted.",
    ("Use the exact names of things.", "Do not explain terms, and do not ask what they mean."),
    ("The message describes in everyday words what the plan names by its exact term.",),
)
_PLAIN = _behavior(
    "speaks in plain words",
    "Knows no terms of the field.",
    (
        "Describe things as somebody would who does not know what they are called.",
        "Where the agent uses a term that is hard to guess, ask what it means.",
    ),
    ("The message uses terms of the field that neither the plan nor the agent has used.",),
)
_CORRECTS = _behavior(
    "corrects mistakes",
    "Notices when the agent got something wrong, and says so.",
    (
        "Compare what the agent says with your plan.",
        "Where it differs, say what is wrong and what would be right before you go on.",
    ),
    ("The agent's last reply contradicts the plan, and the message goes on as if it did not.",),
)
_TRUSTS = _behavior(
    "takes the agent's word",
    "Does not notice mistakes that one would have to know the field to see.",
    ("Accept what the agent says it has done.", "Go on with your plan."),
    ("The message corrects the agent in a point that only somebody who knows the field would notice.",),
)
_BRIEF = _behavior(
    "is brief",
    "Writes no more than is needed.",
    ("Write one or two short sentences.", "Leave out greetings, thanks and reasons."),
    ("The message is much longer than what it says needs.",),
)
_FRIENDLY = _behavior(
    "is friendly",
    "Writes as one talks to a helpful person.",
    ("Be polite, and thank the agent for what it did.",),
    ("The message is rude or curt.",),
)
_KEEPS_TO_PLAN = _behavior(
    "keeps to the plan",
    "Wants what the plan says, no more and no less.",
    (
        "Do not accept offers that are no part of your plan.",
        "Where the agent leads away from the plan, lead back to it.",
    ),
    ("The message pursues something that is no part of the plan.",),
)
_ENDS = _behavior(
    "ends when there is nothing left",
    "Ends the conversation as soon as the plan is done or cannot be done.",
    (
        "When every step is dealt with, end the conversation.",
        "When the agent has made clear twice that it cannot help with what is left, end it as well.",
    ),
    ("Every step of the plan was dealt with before this message, and it goes on nevertheless.",),
)

PERSONAS: dict[str, Persona] = {
    persona.id: persona
    for persona in (
        Persona(
            "EXPERT",
            "Knows the field and what is wanted, says it exactly and all at once, and notices mistakes.",
            (_ALL_AT_ONCE, _TECHNICAL, _CORRECTS, _BRIEF, _KEEPS_TO_PLAN, _ENDS),
        ),
        Persona(
            "NOVICE",
            "Is new to the field, speaks in plain words, gives details when asked, and takes the agent's word.",
            (_WAITS, _PLAIN, _TRUSTS, _FRIENDLY, _ENDS),
        ),
        Persona(
            "EVALUATOR",
            "Works through the plan step by step, to see whether the agent can do each of them.",
            (_ONE_STEP, _WAITS, _CORRECTS, _KEEPS_TO_PLAN, _ENDS),
        ),
    )
}


_SIGNAL = re.compile(r"\{\{\s*stop_signal\s*\}\}")


def find_persona(scenario: Scenario, *, stop_signal: str) -> Persona | None:
    """Return the persona of a scenario, also if the scenario names only its id. Raises ConfigError for an unknown id.

    As in ADK, `{{ stop_signal }}` in the texts of its behaviors stands for the signal.
    """
    persona = scenario.persona
    if not isinstance(persona, str):
        if persona is None:
            return None
        return replace(
            persona, behaviors=tuple(_fill_placeholders(behavior, stop_signal) for behavior in persona.behaviors)
        )
    if persona not in PERSONAS:
        hint = nearest(persona.upper(), PERSONAS) or f"; the built-in personas are {', '.join(PERSONAS)}"
        raise ConfigError(f"user_persona: there is no persona {persona!r}{hint}")
    return PERSONAS[persona]


def _fill_placeholders(behavior: Behavior, stop_signal: str) -> Behavior:
    def fill(text: str) -> str:
        return _SIGNAL.sub(lambda _: stop_signal, text)

    return replace(
        behavior,
        name=fill(behavior.name),
        description=fill(behavior.description),
        behavior_instructions=tuple(map(fill, behavior.behavior_instructions)),
        violation_rubrics=tuple(map(fill, behavior.violation_rubrics)),
    )

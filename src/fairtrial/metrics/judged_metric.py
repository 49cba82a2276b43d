"""The base of judged criteria: answer scales, prompt templates, and the users' own standards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from fairtrial.config.option import NOT_BLANK
from fairtrial.config.reader import OptionError, OptionRecord, check_options
from fairtrial.judge.judge import Judge  # noqa: TC001  # read at run time
from fairtrial.judge.question import Question, answer_schema
from fairtrial.judge.voting import Rule, majority, middle
from fairtrial.llm.prompts import Templates
from fairtrial.metrics.signature import Prompted
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.records.ballot import Answer, JudgeAnswer
    from fairtrial.records.record import Json

TEMPLATES = Templates("fairtrial.metrics")
_SINGLE = "prompt_template"
"""The template with one version: it frames a prompt of the user."""


@dataclass(frozen=True)
class Scale:
    """A closed set of answers: their values, the answers that mean "does not apply", and the rule of counting."""

    worth: Mapping[Answer, float]
    absent: tuple[Answer, ...]
    rule: Rule

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers, in the order in which the first vote sees them."""
        return (*self.worth, *self.absent)


def scale(yes: Sequence[Answer], no: Sequence[Answer], absent: Sequence[Answer] = ()) -> Scale:
    """Return the scale on which the majority decides between 1.0 and 0.0."""
    worth = dict.fromkeys(yes, 1.0) | dict.fromkeys(no, 0.0)
    return Scale(worth, tuple(absent), majority(yes, no, absent))


VALIDITY = scale(["valid"], ["invalid"])
RUBRIC = scale(["yes"], ["no"], ["not_applicable"])
GRADES = Scale({str(grade): float(grade) for grade in range(1, 6)}, (), middle({str(g): float(g) for g in range(1, 6)}))


class JudgeExample(OptionRecord, frozen=True):
    """An example of a user for the judge. For example, a reply with its right answer and the reason."""

    case: Annotated[str, Meta(pattern=NOT_BLANK, description="the situation, in your own words and form")]
    answer: Annotated[str, Meta(description="the right answer, one of the answers of the criterion")]
    reason: Annotated[str, Meta(description="the reason for the answer")] = ""


@dataclass(frozen=True)
class JudgedMetric(Prompted):
    """A metric that asks a judge. `instructions` and `examples` are part of every question, and of the signature."""

    judge: Judge
    instructions: Annotated[
        str, Meta(description="further standards for the judge. They make the rules of the built-in prompt more exact")
    ] = field(default="", kw_only=True)
    examples: Annotated[
        tuple[JudgeExample, ...], Meta(description="examples with their right answers, which the judge sees")
    ] = field(default=(), kw_only=True)

    prompt_version: Annotated[
        Literal["2", "3"],
        Meta(
            description="the version of the prompt. Version 3 asks for a checklist of what is essential before the "
            "answer, and does not take a claim that costs or binds for a detail. No measurement with a model shows "
            "that it is better"
        ),
    ] = field(default="2", kw_only=True)

    scale: ClassVar[Scale]
    templates: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Check the options. Raises OptionError."""
        check_options(self)
        answers = self.scale.answers
        problems = [
            (f"examples/{place}/answer", f"must be one of {', '.join(answers)}, got {example.answer!r}")
            for place, example in enumerate(self.examples)
            if example.answer not in answers
        ]
        if problems:
            raise OptionError(problems)

    @property
    def prompts(self) -> dict[str, Json]:
        """The versions of the templates, by their names. They are part of the signature."""
        return {name: TEMPLATES.version(name, self.choose_version(name)) for name in self.templates}

    def choose_version(self, template: str) -> str:
        """Return the version of a template to render, or an empty text for the usual one."""
        return f"v{self.prompt_version}" if self.prompt_version != "2" and template != _SINGLE else ""

    def question(
        self,
        template: str,
        texts: Mapping[str, str],
        items: Sequence[str],
        *,
        sample: str,
        values: Mapping[str, Json] | None = None,
        marks: Sequence[str] = (),
        check: Callable[[str, JudgeAnswer], str] | None = None,
    ) -> Question:
        """Return the question that a template makes from texts. Its items have ids, under which the judge answers.

        `sample` is the text whose language decides which worked example is shown besides the English one. `values` are
        further variables of the template, for example the names of the texts that are context.
        """
        answers = self.scale.answers
        standing, language, version = self.standards(), detect_language(sample), self.choose_version(template)
        reasons_first = TEMPLATES.reasons_first(template, version)
        prompt, reordered = (
            TEMPLATES.render(
                template,
                texts,
                language=language,
                standing=standing,
                schema=answer_schema(items, answers, marks=marks, reasons_first=reasons_first),
                version=version,
                standing_names=list(standing),
                items=list(items),
                marks=list(marks),
                answers=list(order),
                **(values or {}),
            )
            for order in (answers, answers[::-1])
        )
        return Question(prompt, tuple(items), answers, self.scale.rule, tuple(marks), check, reordered)

    def standards(self) -> dict[str, str]:
        """Return the instructions and examples of the user as texts, by their names in the prompt."""
        texts = {"instructions": self.instructions} if self.instructions.strip() else {}
        for number, example in enumerate(self.examples, 1):
            reason = f"\nReason: {example.reason}" if example.reason else ""
            texts[f"example {number}"] = f"{example.case}{reason}\nRight answer: {example.answer}"
        return texts

"""A user's script with every public name. `make types` checks it in pyright's strict mode, and a test runs it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type

import fairtrial
from fairtrial import (
    About,
    Agent,
    AgentCost,
    AgentDetails,
    AgentError,
    Agreement,
    AlignOptions,
    AttackReported,
    AttackSuccess,
    Ballot,
    BatchOptions,
    BatchScorer,
    Behavior,
    Budget,
    Calibration,
    CallError,
    Case,
    CaseError,
    CaseHistory,
    CaseKey,
    CaseResult,
    Check,
    Checks,
    ChoiceTerms,
    Claim,
    Comparison,
    ConfigError,
    Contains,
    Criterion,
    CriterionSummary,
    Duplicate,
    Durations,
    Embedder,
    Endpoint,
    Environment,
    Estimate,
    EvalCase,
    EvalSet,
    ExactMatch,
    FactsGrounded,
    FactsMatch,
    Failure,
    Failures,
    FairtrialError,
    Fault,
    FinalResponseMatch,
    FinalResponseRubrics,
    FinalStateMatch,
    Flakiness,
    FormatError,
    GateDecision,
    GeneralQuality,
    Grounding,
    Hallucinations,
    Holding,
    InferenceCallCount,
    Injection,
    InstructionFollowing,
    Invocation,
    InvocationDuration,
    Judge,
    JudgeChoice,
    JudgeError,
    JudgeOptions,
    Judges,
    JudgeState,
    Label,
    Message,
    Metric,
    MetricError,
    ModeHistory,
    Model,
    ModelOptions,
    ModelUsage,
    NamedModel,
    Operator,
    Outcome,
    PanelMember,
    Part,
    PartKey,
    Persona,
    Prompt,
    Quote,
    Range,
    ReasoningTrace,
    ReasoningValue,
    RecordedJudge,
    Recording,
    Redaction,
    Reply,
    ReportCard,
    ResponseEvaluation,
    ResponseMatch,
    Rubric,
    Run,
    RunHistory,
    RunInfo,
    RunNotPassedError,
    Safety,
    Scenario,
    Score,
    SelectedTrace,
    Session,
    SessionInput,
    SimulatedToolError,
    Simulator,
    SimulatorError,
    SizePlan,
    SkillTrigger,
    Step,
    Stopwatch,
    StoreError,
    Summary,
    TaskSuccess,
    TextQuality,
    Thought,
    TimeToFirstToken,
    TokenUsage,
    ToolCall,
    ToolCallCount,
    ToolResult,
    ToolRules,
    ToolTrajectory,
    ToolUseQuality,
    ToolUseRubrics,
    Trace,
    TraceOptions,
    TraceSelection,
    TraceValue,
    TrajectoryQuality,
    TrajectoryRubrics,
    Usage,
    UsageError,
    UserConsent,
    UserSimulatorQuality,
    VectorCache,
    Verdict,
    WorkspaceChecks,
    aevaluate,
    align_judge,
    ascore,
    avalue,
    calibrate,
    case_history,
    choose_recorded,
    compare,
    evaluate,
    failure_changes,
    failures,
    find_duplicates,
    flaky,
    gate,
    history,
    iter_recordings,
    load_eval_set,
    load_recordings,
    mode_history,
    mutate,
    open_run,
    plan,
    redact,
    report_card,
    route_call,
    save_eval_set,
    score,
    score_batches,
    select,
    value,
)
from fairtrial.testing import ScriptedAgent, ScriptedEnvironment, ScriptedModel, ScriptedUsers

# Expectations.
DETAILS = AgentDetails("shop", "Be brief.", ({"function_declarations": [{"name": "get_order"}]},))
EXPECTED = Invocation(
    Message("Where is A-17?"),
    (Thought("I look it up."), ToolCall("get_order", {"id": "A-17"}), ToolResult("get_order", {"state": "sent"})),
    Message("It is on its way.", "shop"),
    usages=(Usage(10, 5),),
    about=About((DETAILS,)),
)
PHOTO = Invocation(
    Message("Is it this?", parts=(Part(mime_type="image/png", uri="photo.png"),)), (), Message("Yes.", "shop")
)
PERSONA = Persona("brief", "Somebody in a hurry.", (Behavior("brief", "Says little."),))
FIXED = EvalCase("order", (EXPECTED,), session_input=SessionInput("app", "user"))
PLAYED = EvalCase("greeting", scenario=Scenario("Hello!", "Say goodbye.", PERSONA))


# A metric of one's own: a function, and a class with an option.
def polite(trace: Trace, case: EvalCase) -> Score:
    """Count the invocations whose reply says please; quote the first."""
    replies = [invocation.reply for invocation in trace.invocations if case.id]
    quotes = tuple(Quote(reply, "reply") for reply in replies if "please" in reply)
    parts = tuple(Score(float("please" in reply), key=PartKey("invocation", i)) for i, reply in enumerate(replies))
    return Score(len(quotes) / len(replies) if replies else None, quotes=quotes[:1], parts=parts)


@dataclass(frozen=True)
class Shorter:
    """Whether every reply has fewer than `limit` characters."""

    limit: int = 100

    def __call__(self, trace: Trace, case: EvalCase) -> bool:
        """Compare the lengths."""
        if not case.id:
            raise MetricError("a case without an id")
        return all(len(invocation.reply) < self.limit for invocation in trace.invocations)


# The outside world: a model, an agent, a user and an environment.
async def lenient(prompt: Prompt) -> Reply:
    """Find everything valid."""
    if prompt.schema is None:
        raise CallError("asked for something that is not a question")
    answer = {"id": "reply", "rationale": "it is fine", "answer": "valid"}
    return Reply(json.dumps({"answers": [answer]}), cost=0.0)


class ShopSession:
    """A conversation with an agent that calls one tool."""

    about: About | None = About((DETAILS,))

    def __init__(self, environment: Environment | None) -> None:
        self._environment = environment
        self._stopwatch = Stopwatch()

    async def send(self, message: str) -> AsyncIterator[Step | Usage]:
        """Look up the order, and say that it is on its way."""
        if not message:
            raise AgentError("nothing was asked")
        call = ToolCall("get_order", {"id": "A-17"})
        yield call
        yield await self._answer(call)
        yield Usage(10, 5)
        yield Message("It is on its way, please wait.")

    async def _answer(self, call: ToolCall) -> ToolResult:
        async def real() -> Any:
            return {"state": "sent"}

        if self._environment is None:
            return ToolResult(call.name, await real())
        self._stopwatch.start("tool", call.id)
        answer = await route_call(self._environment, call, {"name": call.name}, real)
        self._stopwatch.end("tool", call.id)
        return ToolResult(call.name, answer.value)


@asynccontextmanager
async def shop(case: EvalCase, environment: Environment | None) -> AsyncGenerator[Session]:
    """Open a conversation."""
    assert case.id
    yield ShopSession(environment)


class Parrot:
    """A user who repeats the agent once."""

    async def next_message(self, so_far: Trace) -> str | None:
        """Say hello, then the last reply, then nothing."""
        if len(so_far.invocations) > 1:
            return None
        if so_far.broken:
            raise SimulatorError("there is nobody to talk to")
        return so_far.invocations[-1].reply if so_far.invocations else "Hello!"


class Flaky:
    """An environment that injects one answer."""

    async def answer(self, call: ToolCall, declared: dict[str, Any], real: Callable[[], Awaitable[Any]]) -> ToolResult:
        """Answer with a lost order."""
        if not declared:
            raise SimulatedToolError(f"{call.name} is not declared, and answered {await real()}")
        return ToolResult(call.name, {"state": "lost"}, injected=(Injection("response"),))


def parrots(case: EvalCase, attempt: int) -> Simulator:
    """Return a user for a case and an attempt."""
    assert case.id
    assert attempt
    return Parrot()


def unreliable(case: EvalCase, attempt: int) -> Environment:
    """Return an environment for a case and an attempt."""
    assert case.id
    assert attempt
    return Flaky()


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Embed a text by its length."""
    return [[1.0, float(len(text))] for text in texts]


AGENT: Agent = shop
MODEL: Model = lenient
EMBEDDER: Embedder = letters
METRIC: Metric = polite

# Judges: the model by name, or one's own; options as in a configuration.
MODELS = ModelOptions(custom_models={"lenient": MODEL}, budget=Budget(max_calls=100), concurrency=4)
HALF_PRICE = ModelOptions(batch=BatchOptions(most_requests=1000, poll=60.0))
JUDGES = Judges(model="lenient", votes=1, models=MODELS)
DEFAULTS = JudgeOptions(judge_model="lenient", num_samples=3)
PANEL = JudgeOptions(judge_models=("gemini-2.5-flash", PanelMember("mine", base_url="http://localhost:8000/v1")))
LOCAL = NamedModel("mine", endpoint=Endpoint("http://localhost:8000/v1", "MY_SERVER_KEY"))
JUDGE = Judge((NamedModel("lenient"), NamedModel("own", ScriptedModel(["…"]))), votes=DEFAULTS.num_samples)
RUBRICS = (Rubric("polite", "The reply is polite."),)

CRITERIA = (
    Criterion("polite", METRIC, threshold=0.5, range=Range(0, 1)),
    Criterion("shorter", Shorter(50)),
    Criterion("calls", ToolTrajectory(match_type="IN_ORDER"), threshold=1.0),
    Criterion("words", ResponseMatch(), threshold=0.1),
    *(
        Criterion(type(metric).__qualname__, metric)
        for metric in (ToolCallCount(), InferenceCallCount(), TokenUsage(), AgentCost())
    ),
    Criterion("seconds", InvocationDuration(), lower_is_better=True),
    Criterion("first token", TimeToFirstToken(), lower_is_better=True),
    Criterion("state", FinalStateMatch({"order": "ignore"}, exact=True), threshold=1.0),
    Criterion("value", ReasoningValue()),
    Criterion("rules", ToolRules(), threshold=1.0),
    *(Criterion(type(metric).__qualname__, metric) for metric in (AttackSuccess(), AttackReported())),
)
JUDGED: tuple[Criterion, ...] = (
    Criterion("valid", FinalResponseMatch(JUDGE)),
    Criterion("rubrics", FinalResponseRubrics(JUDGE, RUBRICS)),
    Criterion("tool_rubrics", ToolUseRubrics(JUDGE, RUBRICS)),
    Criterion("way_rubrics", TrajectoryRubrics(JUDGE, RUBRICS)),
    Criterion("quality", GeneralQuality(JUDGE)),
    Criterion("text", TextQuality(JUDGE)),
    Criterion("demands", InstructionFollowing(JUDGE)),
    Criterion("grounded", Hallucinations(JUDGE)),
    Criterion("borne_out", Grounding(JUDGE)),
    Criterion("safe", Safety(JUDGE)),
    Criterion("user", UserSimulatorQuality(JUDGE)),
    Criterion("success", TaskSuccess(JUDGE)),
    Criterion("way", TrajectoryQuality(JUDGE)),
    Criterion("tools", ToolUseQuality(JUDGE)),
    Criterion("consent", UserConsent(JUDGE, calls=("cancel_*",))),
    Criterion("coherent", ResponseEvaluation(JUDGE)),
)


def describe(run: Run) -> list[str]:
    """Read everything that a run holds."""
    info: RunInfo = run.info
    summary: Summary = run.summary
    lines = [f"{info.id}: {run.verdict}"]
    for criterion in summary.criteria:
        assert_type(criterion, CriterionSummary)
        lines.append(criterion.criterion)
    for result in run.cases:
        lines += _lines(result)
    for ballot in run.ballots.values():
        assert_type(ballot, Ballot)
        lines.append(f"{ballot.id}: {ballot.k} votes")
    for _, recording in run.recordings:
        failure: Failure | None = recording.failure
        lines.append(failure.cause if failure else recording.ended_by)
    return lines


def _lines(result: CaseResult) -> list[str]:
    fault: Fault | None = result.fault
    usage: ModelUsage | None = result.simulator
    outcomes: tuple[Outcome, ...] = result.outcomes
    lines = [fault.side if fault else str(usage)]
    return lines + [f"{outcome.criterion}: {outcome.verdict}" for outcome in outcomes]


def use_criteria_without_a_judge(short: list[Case]) -> None:
    """Score replies by characters, facts and checks, and ask for the failure modes."""
    facts = [Criterion("same", ExactMatch(), 1.0), Criterion("fact", Contains(ignore_case=True), 1.0)]
    facts += [Criterion("facts", FactsMatch(kinds=("amount",)), 1.0), Criterion("grounded", FactsGrounded(), 1.0)]
    facts += [Criterion("checks", Checks(checks=(Check("contains", "way"),)), 1.0)]
    facts += [Criterion("files", WorkspaceChecks(), 1.0), Criterion("trigger", SkillTrigger(), 1.0)]
    decided = evaluate(short, AGENT, facts)
    assert decided.verdict in set(Verdict)
    modes: Failures = failures(decided, largest_distance=0.5)
    assert failure_changes(decided, decided).cases == 2
    assert modes.modes is not None


def main(folder: Path) -> list[str]:
    """Evaluate, save, load, score and value."""
    eval_set = EvalSet("shop", (FIXED, PLAYED))
    stored = f"sqlite:///{folder}/runs.db"
    run = evaluate(eval_set, AGENT, CRITERIA, users=parrots, environment=unreliable, attempts=2, store=stored)
    assert run.verdict in set(Verdict)
    judged = evaluate(EvalSet("fixed", (FIXED,)), AGENT, {"final_response_match_v2": 0.5}, judges=JUDGES)

    save_eval_set(eval_set, folder / "shop.evalset.json")
    key: CaseKey | None = next(iter(run.cases)).key
    loaded = load_eval_set(folder / "shop.evalset.json")
    recorded: list[Recording] = load_recordings(folder / "shop.evalset.json")
    streamed: list[Recording] = list(iter_recordings(folder / "shop.evalset.json"))
    assert streamed == recorded
    again = score(
        recorded, loaded, {"tool_trajectory_avg_score": 1.0}, traces=TraceOptions(join="none"), max_incomplete=0.5
    )

    scripted = ScriptedAgent({"order": [[ToolCall("get_order", {"id": "A-17"}), "It is on its way."]]})
    broken = ScriptedEnvironment({"get_order": [{"state": "lost"}]})
    silent = ScriptedUsers({"greeting": []})
    last = evaluate(EvalSet("fixed", (FIXED,)), scripted, CRITERIA, users=silent, environment=broken)

    assert Durations(total=1.5).model is None
    short = [Case("Where is A-17?", "On its way.", calls=["get_order"]), Case("Where is B-42?", "On its way.")]
    assert evaluate([("Where is A-17?", "On its way.")], AGENT, {"contains": 1.0}).verdict in set(Verdict)
    use_criteria_without_a_judge(short)

    repetitions: tuple[Duplicate | None, ...] = find_duplicates([Trace((EXPECTED,))], confidence=0.9, success=True)
    assert repetitions == (None,)
    selection: TraceSelection = select(
        [Trace((EXPECTED,))], budget=1, by="value", embedder="none", confidence=0.9, success=True
    )
    selected: SelectedTrace = selection.traces[0]
    assert selected.rank == 1
    worth: TraceValue = value(Trace((EXPECTED, PHOTO)), embedder="none", confidence=0.9, success=True)
    clean, redactions = redact(Trace((EXPECTED,)), people=False)
    removed: tuple[Redaction, ...] = redactions
    assert_type(clean, Trace)
    assert removed == ()
    problems: tuple[str, ...] = ()
    try:
        load_eval_set(folder / "nothing.json")
    except FormatError as error:
        problems = error.problems
    except (ConfigError, UsageError) as error:
        problems = (str(error),)
    try:
        run.check(allow_unscored=True)
    except RunNotPassedError as error:
        problems = (*problems, str(error))
    run.save(json=folder / "run.json")
    first: CaseResult = run.cases[0]
    reread: Run = open_run(run.info.id, store=stored)
    assert len(reread.cases[1:]) < len(run.cases)
    trust(run, again, folder)
    return [
        first.case_id,
        *(line for one in (run, judged, again, last) for line in describe(one)),
        f"{worth.score} {key} {problems} {MODELS.budget}",
    ]


def trust(run: Run, again: Run, folder: Path) -> list[str]:
    """Compare, gate, plan and calibrate runs, and mutate an eval set."""
    comparison: Comparison = compare(run, evaluate(EvalSet("shop", (FIXED, PLAYED)), AGENT, CRITERIA, users=parrots))
    decision: GateDecision = gate(run, [Claim("at_least", 0.1)])
    try:
        size: SizePlan | StoreError | UsageError = plan(run, detect=0.2)
        along: RunHistory = history(measure="cases", last=10)
        refund: CaseHistory = case_history("refund")
        modes: ModeHistory = mode_history(along)
        assert along.rows or refund.state or modes.modes
    except (StoreError, UsageError) as error:
        size = error
    repeated: Flakiness = flaky(run)
    labels: list[Label] = run.labels
    calibrations: list[Calibration] = calibrate(again)
    states: list[tuple[JudgeState, Agreement | None]] = [(own.state, own.agreement) for own in calibrations]
    table = folder / "verdicts.csv"
    table.write_text("item,label,verdict\n" + "".join(f"{item},1,1\n" for item in range(3)), encoding="utf-8")
    card: ReportCard = report_card(recorded=table)
    options = AlignOptions(search=("model",), terms=ChoiceTerms(false_pass_cost=2.0))
    try:
        choice: JudgeChoice | UsageError = align_judge(again, "polite", folder / "no_config.json", options)
        choice = choose_recorded(table)
    except UsageError as error:
        choice = error
    judges: tuple[RecordedJudge, ...] = card.judges
    operators: tuple[str | Operator, ...] = ("call_dropped",)
    mutants = mutate(EvalSet("fixed", (FIXED,)), {"tool_trajectory_avg_score": 1.0}, operators=operators)
    return [str(each) for each in (comparison, decision, size, repeated, labels, states, choice, judges, mutants)]


async def awaited(folder: Path) -> tuple[Run, Run, object]:
    """Evaluate, score and value in a loop."""
    run = await aevaluate(EvalSet("fixed", (FIXED,)), AGENT, CRITERIA, holding=Holding(requests_per_second=100.0))
    scored = await ascore(load_recordings(folder / "shop.evalset.json"), None, CRITERIA)
    scorer: BatchScorer = score_batches(None, CRITERIA)
    assert scorer.summarize([]).cases == {}
    return run, scored, await avalue(Trace((EXPECTED,)), embedder="none")


def names() -> tuple[type, ...]:
    """Return the classes that a script mostly catches or annotates with."""
    return (FairtrialError, CaseError, JudgeError, Estimate, ReasoningTrace, VectorCache)


if __name__ == "__main__":
    assert fairtrial.__version__
    print(len(JUDGED), EMBEDDER(["a"]), *main(Path()), sep="\n")  # noqa: T201

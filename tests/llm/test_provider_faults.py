"""Replies that gateways send in odd forms, over real sockets, in the protocols of four providers.

Each reply holds a true verdict. It is read rightly, or there is a reason why there is none. No reply is read wrongly.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fairtrial.judge.question import Question, answer_schema, parse_reply
from fairtrial.judge.voting import majority
from fairtrial.llm.address import address
from fairtrial.llm.budget import Budget, Budgeted
from fairtrial.llm.endpoint import USUAL, Endpoint
from fairtrial.llm.model import CallError, ExhaustedError, RefusedError, UnsentError, UnusableModelError
from fairtrial.llm.provider import Provider
from fairtrial.llm.token_counts import TokenCounts, compute_price, read_counts
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from loopback import Loopback, Request, Say, Status

pytestmark = pytest.mark.long

NAMES = {
    "chat": "openai/gpt-4o-mini",
    "gemini": "gemini-2.5-flash",
    "messages": "anthropic/claude-haiku-4-5",
    "converse": "bedrock/amazon.nova-lite-v1:0",
}
ANSWERS = ("valid", "invalid")
QUESTION = Question(
    Prompt("p", "1", "Is it right?", "Judge.", answer_schema(("reply",), ANSWERS)),
    ("reply",),
    ANSWERS,
    majority(yes=["valid"], no=["invalid"]),
)
TOTALS = {
    "chat": ("prompt_tokens", "completion_tokens"),
    "gemini": ("promptTokenCount", "candidatesTokenCount"),
    "messages": ("input_tokens", "output_tokens"),
    "converse": ("inputTokens", "outputTokens"),
}
HUGE = "9" * 5000
NO_AMOUNTS: tuple[Json, ...] = (None, -1, True, "free", [], float("nan"), float("inf"), 1e300)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and regions, as users have them."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "SERVER_KEY", "AWS_ACCESS_KEY_ID"):
        monkeypatch.setenv(name, f"planted-{name}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for name in (
        "AWS_BEARER_TOKEN_BEDROCK",
        "GOOGLE_API_KEY",
        "OPENAI_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def verdict_text(answer: str) -> str:
    """The text of a judge's reply."""
    return json.dumps({"answers": [{"id": "reply", "quote": "", "rationale": "because", "answer": answer}]})


def make_body(protocol: str, text: str, **more: Json) -> dict[str, Any]:
    """A reply in a protocol. `more` replaces fields: usage, model, parts, finish, and any other field of the body."""
    first, second = TOTALS[protocol]
    usage = more.pop("usage", {first: 1000, second: 100})
    parts, finish, model = more.pop("parts", None), more.pop("finish", None), more.pop("model", "served")
    if protocol == "chat":
        message = {"role": "assistant", "content": text if parts is None else parts}
        body = {"id": "x", "model": model, "usage": usage}
        body["choices"] = [{"index": 0, "message": message, "finish_reason": finish or "stop"}]
    elif protocol == "gemini":
        candidate = {"role": "model", "parts": [{"text": text}] if parts is None else parts}
        body = {"modelVersion": model, "usageMetadata": usage}
        body["candidates"] = [{"content": candidate, "finishReason": finish or "STOP", "index": 0}]
    elif protocol == "messages":
        blocks = [{"type": "text", "text": text}] if parts is None else parts
        body = {"id": "x", "type": "message", "role": "assistant", "model": model, "usage": usage}
        body |= {"content": blocks, "stop_reason": finish or "end_turn", "stop_sequence": None}
    else:
        content = [{"text": text}] if parts is None else parts
        body = {"output": {"message": {"role": "assistant", "content": content}}, "usage": usage}
        body |= {"stopReason": finish or "end_turn", "metrics": {"latencyMs": 1}}
    return body | more


def stream_events(body: dict[str, Any]) -> bytes:
    """The stream of Anthropic's that holds a message."""
    usage, blocks = body.get("usage"), body.get("content") or []
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}]
    for index, block in enumerate(blocks):
        delta = {"type": "text_delta", "text": block.get("text", "")}
        events.append({"type": "content_block_start", "index": index, "content_block": {**block, "text": ""}})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}, "usage": usage})
    events.append({"type": "message_stop"})
    if "error" in body:
        events = [{"type": "error", "error": body["error"]}]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


@dataclass(frozen=True)
class Fault:
    """A body of a response. `make` gets the protocol and the text of the verdict. `tokens` are those to be counted."""

    name: str
    make: Callable[[str, str], dict[str, Any] | bytes]
    reason: str = ""
    tokens: tuple[int, int] | None = (1000, 100)
    only: tuple[str, ...] = tuple(NAMES)


def with_fields(**fields: Json) -> Callable[[str, str], dict[str, Any]]:
    """Return a function that makes a reply with other fields."""
    return lambda protocol, text: make_body(protocol, text, **fields)


def usage_faults() -> Iterator[Fault]:
    """Numbers of tokens that are no integers. A total that cannot be read makes both unknown."""
    readable = ("12", 12.0, "12.0", " 12 ")
    values: tuple[Any, ...] = (*readable, 3.5, "3.5", -5, "-5", True, False, "many", "", [], [12], {}, {"n": 1})
    for value in (*values, 1e300, 10**40, float("nan"), float("inf"), HUGE):
        for place in (0, 1):
            tokens = None
            if value in readable and not isinstance(value, bool):
                tokens = (12, 100) if place == 0 else (1000, 12)

            def make(protocol: str, text: str, value: Json = value, place: int = place) -> dict[str, Any]:
                names = TOTALS[protocol]
                return make_body(protocol, text, usage={names[1 - place]: (100, 1000)[place], names[place]: value})

            yield Fault(f"total {place} is {str(value)[:20]!r} of {type(value).__name__}", make, tokens=tokens)
    usages: tuple[Json, ...] = (None, "1100", [], [1], 5, True, {}, {"other": 1})
    for usage in usages:
        yield Fault(f"usage is {usage!r}", with_fields(usage=usage), tokens=None)
    yield Fault(
        "a total is a number of 5,000 digits",
        lambda p, text: (
            json.dumps(make_body(p, text, usage={TOTALS[p][0]: 7777, TOTALS[p][1]: 1})).replace("7777", HUGE).encode()
        ),
        tokens=None,
        only=("chat", "gemini", "converse"),
    )


def field_faults() -> Iterator[Fault]:
    """Other fields of a wrong type."""
    others: tuple[Json, ...] = (5, None, [], {"a": 1}, True, 1.5)
    for value in others:
        yield Fault(f"model is {value!r}", with_fields(model=value))
        for name in ("id", "created", "object", "service_tier", "responseId", "createTime", "metrics", "trace", "role"):
            more = {name: value}
            yield Fault(f"{name} is {value!r}", with_fields(**more))
    reasons: tuple[Json, ...] = (5, [], {"a": 1}, "no_such_reason")
    for value in reasons:
        yield Fault(f"finish is {value!r}", with_fields(finish=value), only=("chat",))
    yield Fault("error is null", lambda p, text: make_body(p, text, error=None), only=("chat", "gemini", "converse"))
    yield Fault("text in two parts", lambda p, text: make_body(p, text, parts=split_parts(p, text[:9], text[9:])))
    yield Fault("parts of other kinds", lambda p, text: make_body(p, text, parts=[*split_parts(p, text), {}, {"a": 1}]))


def split_parts(protocol: str, *texts: str) -> list[Json]:
    """The parts of a reply in a protocol."""
    return [{"text": text, **({"type": "text"} if protocol in {"chat", "messages"} else {})} for text in texts]


def silence_faults() -> Iterator[Fault]:
    """Replies without any text."""
    calls = {
        "chat": None,
        "gemini": [{"functionCall": {"name": "f", "args": {}}}],
        "messages": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}],
        "converse": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}],
    }
    thoughts = {
        "chat": None,
        "gemini": [{"text": verdict_text("valid"), "thought": True}],
        "messages": [{"type": "thinking", "thinking": verdict_text("valid"), "signature": "s"}],
        "converse": [{"reasoningContent": {"reasoningText": {"text": verdict_text("valid")}}}],
    }

    def silent(protocol: str, kind: dict[str, Any], **message: Json) -> dict[str, Any]:
        body = make_body(protocol, "", parts=kind[protocol] or [])
        if protocol == "chat":
            body["choices"][0]["message"] |= {"content": None, **message}
        return body

    yield Fault("nothing", lambda p, _: make_body(p, ""), "the reply is empty")
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    yield Fault("a function call", lambda p, _: silent(p, calls, tool_calls=[call]), "the reply is a function call")
    yield Fault(
        "thoughts",
        lambda p, _: silent(p, thoughts, reasoning_content=verdict_text("valid")),
        "the reply holds thoughts",
    )
    yield Fault(
        "a refusal",
        lambda p, _: make_body(p, "I'm sorry, but I can't assist with that."),
        "the model refused to answer",
    )
    finish = {"chat": "content_filter", "gemini": "SAFETY", "messages": "refusal", "converse": "content_filtered"}
    yield Fault("a filter", lambda p, _: make_body(p, "", finish=finish[p]), "the reply was stopped by the provider")
    finish_length = {"chat": "length", "gemini": "MAX_TOKENS", "messages": "max_tokens", "converse": "max_tokens"}
    yield Fault("cut off", lambda p, text: make_body(p, text[:30], finish=finish_length[p]), "the reply was cut off")
    blocked: dict[str, Any] = {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {}}
    yield Fault("a blocked prompt", lambda *_: blocked, r"the prompt was blocked \(OTHER\)", None, ("gemini",))
    yield Fault("no candidates", lambda *_: {"candidates": []}, "the response has no candidates", None, ("gemini",))


def error_faults() -> Iterator[Fault]:
    """Errors with status 200, and bodies that hold no reply."""
    message = "Provider returned error 77"
    for error in (
        {"message": message, "code": 429},
        {"message": message, "code": "503"},
        {"message": message, "type": "overloaded_error"},
        {"message": message, "status": "RESOURCE_EXHAUSTED"},
        {"message": message},
        {"code": 502, "metadata": {"raw": message}},
    ):
        yield Fault(f"error {error}", lambda *_, error=error: {"error": error}, message, None)
    yield Fault("error is a text", lambda *_: {"error": message}, message, None)
    yield Fault("error beside null", lambda *_: {"error": {"message": message}, "choices": None}, message, None)
    yield Fault("message alone", lambda *_: {"message": message}, message, None, ("chat", "gemini", "converse"))
    filtered = {"error": {"message": message, "code": "content_filter"}}
    yield Fault("a filter as an error", lambda *_: filtered, message, None)
    lists: tuple[Json, ...] = (None, [], {}, "x", [None], [{}], [{"message": None}], [5])
    for choices in lists:
        body = {"choices": choices}
        yield Fault(
            f"choices are {choices!r}", lambda *_, body=body: body, "the response has no choices", None, ("chat",)
        )
    stopped = {"choices": [{"error": {"message": message, "code": 502}, "message": {"content": verdict_text("valid")}}]}
    yield Fault("an error in a choice", lambda *_: stopped, message, None, ("chat",))
    for raw in (b"", b"null", b"[]", b"5", b'"x"', b"<html>Bad gateway</html>", b'{"a":', b"[" * 100_000, b"\xff\xfe"):
        yield Fault(f"raw {raw[:20]!r}", lambda *_, raw=raw: raw, "the response", None)


FAULTS = [*usage_faults(), *field_faults(), *silence_faults(), *error_faults()]


def send(
    protocol: str, faults: list[Fault], truth: str, *, stream: bool
) -> list[Reply | CallError | UnusableModelError]:
    """Call a provider once for each fault."""

    def script(request: Request) -> Say:
        content = faults[request.number - 1].make(protocol, verdict_text(truth))
        if not isinstance(content, bytes):
            content = stream_events(content) if request.body.get("stream") else json.dumps(content).encode()
        return Say(raw=content)

    async def calls(base: str) -> list[Reply | CallError | UnusableModelError]:
        settings: dict[str, Json] = {} if stream else {"max_tokens": 1000}
        outcomes: list[Reply | CallError | UnusableModelError] = []
        endpoint = USUAL if protocol == "converse" else Endpoint(base, "SERVER_KEY")
        async with Provider(address(NAMES[protocol], endpoint), settings) as model:
            for _ in faults:
                try:
                    outcomes.append(await model(QUESTION.prompt))
                except (CallError, UnusableModelError) as error:
                    outcomes.append(error)
        return outcomes

    with Loopback(script) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        return asyncio.run(calls(f"{server.url}/v1" if protocol == "chat" else server.url))


@pytest.mark.parametrize("truth", ANSWERS)
@pytest.mark.parametrize(
    ("protocol", "stream"),
    [("chat", True), ("gemini", True), ("messages", True), ("messages", False), ("converse", True)],
)
def test_no_reply_is_read_wrongly(protocol: str, stream: bool, truth: str) -> None:
    """Every fault is read with the true verdict and its tokens, or has the reason that it should have."""
    faults = [fault for fault in FAULTS if protocol in fault.only]
    outcomes = send(protocol, faults, truth, stream=stream)
    counts = {"right": 0, "unscored": 0, "wrong": 0}
    wrong = []
    for fault, outcome in zip(faults, outcomes, strict=True):
        if isinstance(outcome, Reply):
            parsed = parse_reply(outcome.text, QUESTION, outcome.interruption)
            got = parsed.opinions["reply"].answer if parsed.opinions else parsed.problems["reply"]
            tokens = (outcome.input_tokens, outcome.output_tokens)
            is_right = got == truth and not fault.reason and tokens == (fault.tokens or (None, None))
        else:
            got, is_right = str(outcome), False
        is_reason = bool(fault.reason) and got not in ANSWERS and re.search(fault.reason, got) is not None
        counts["right" if is_right else "unscored" if is_reason else "wrong"] += 1
        if not is_right and not is_reason:
            wrong.append((fault.name, got, outcome))
    assert wrong == []
    assert counts["right"] > 100
    assert counts["unscored"] > 20


@pytest.mark.parametrize("protocol", NAMES)
def test_an_error_with_status_200_is_repeated_as_what_it_is(protocol: str) -> None:
    """Overload lowers the pace, an unknown error does not, and an account without money ends the run."""
    errors: list[dict[str, Any]] = [
        {"message": "slow down", "code": 429},
        {"message": "slow down", "type": "overloaded_error"},
        {"message": "slow down", "status": "UNAVAILABLE"},
        {"message": "bad gateway"},
        {"message": "no such field", "type": "invalid_request_error"},
    ]
    bodies = [Fault(str(error), lambda *_, error=error: {"error": error}) for error in errors]
    outcomes = send(protocol, bodies, "valid", stream=True)
    kinds = [(type(one), getattr(one, "overload", None)) for one in outcomes]
    assert kinds == [*[(RefusedError, True)] * 3, (RefusedError, False), (CallError, None)]
    exhausted = [Fault("", lambda *_: {"error": {"message": "insufficient_quota", "code": 429}})]
    (outcome,) = send(protocol, [Fault("", make_body), *exhausted], "valid", stream=True)[1:]
    assert isinstance(outcome, ExhaustedError)


@pytest.mark.parametrize("name", ["ModelErrorException", "ThrottlingException"])
def test_an_error_of_a_model_of_bedrock_is_repeated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bedrock sends 424 if the model itself failed. Its message is shown without the words of boto3."""
    code = {"ModelErrorException": 424, "ThrottlingException": 429}[name]
    with Loopback(lambda _: Status(code, {"x-amzn-errortype": name}, "the model failed")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)

        async def called() -> Reply:
            async with Provider(address(NAMES["converse"])) as model:
                return await model(QUESTION.prompt)

        with pytest.raises(RefusedError, match=f"^HTTP {code}: ") as caught:
            asyncio.run(called())
    assert caught.value.overload == (code == 429)


CACHED: list[tuple[str, dict[str, Json], TokenCounts]] = [
    (
        "openai/gpt-4o-mini",
        {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}},
        TokenCounts(1000, 100, 800),
    ),
    (
        "deepseek/deepseek-chat",
        {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_cache_hit_tokens": 800},
        TokenCounts(1000, 100, 800),
    ),
    (
        "moonshot/kimi-k2",
        {"prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": "800"},
        TokenCounts(1000, 100, 800),
    ),
    (
        "xai/grok-4",
        {
            "prompt_tokens": 1000,
            "completion_tokens": 40,
            "total_tokens": 1100,
            "completion_tokens_details": {"reasoning_tokens": 60},
        },
        TokenCounts(1000, 100),
    ),
    (
        "gemini-2.5-flash",
        {
            "promptTokenCount": 1000,
            "candidatesTokenCount": 60,
            "thoughtsTokenCount": 40,
            "cachedContentTokenCount": 800,
        },
        TokenCounts(1000, 100, 800),
    ),
    (
        "anthropic/claude-haiku-4-5",
        {"input_tokens": 100, "output_tokens": 100, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 100},
        TokenCounts(1000, 100, 800, 100),
    ),
    (
        "anthropic/claude-haiku-4-5",
        {
            "input_tokens": 900,
            "output_tokens": 100,
            "cache_creation_input_tokens": 100,
            "cache_creation": {"ephemeral_1h_input_tokens": 100},
        },
        TokenCounts(1000, 100, 0, 100, 100),
    ),
    (
        "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0",
        {"inputTokens": 200, "outputTokens": 100, "cacheReadInputTokens": 800},
        TokenCounts(1000, 100, 800),
    ),
    # More cached tokens than tokens: the price is that of all tokens.
    (
        "openai/gpt-4o-mini",
        {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 1001}},
        TokenCounts(1000, 100),
    ),
    (
        "openai/gpt-4o-mini",
        {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": "800"},
        TokenCounts(1000, 100),
    ),
]


@pytest.mark.parametrize(("name", "usage", "counts"), CACHED)
def test_cached_tokens_are_part_of_the_input(name: str, usage: dict[str, Json], counts: TokenCounts) -> None:
    """Some providers count them in the input, and some beside it."""
    assert read_counts(address(name).known.protocol, usage) == counts


@pytest.mark.parametrize(
    ("name", "counts", "cost"),
    [
        # US dollars per million tokens, from the price lists of the providers: input, cached input, output.
        ("openai/gpt-4o-mini", TokenCounts(1000, 100, 800), (200 * 0.15 + 800 * 0.075 + 100 * 0.60) / 1e6),
        ("openai/gpt-4o-mini", TokenCounts(1000, 100), (1000 * 0.15 + 100 * 0.60) / 1e6),
        (
            "anthropic/claude-haiku-4-5",
            TokenCounts(1000, 100, 800, 100),
            (100 * 1 + 800 * 0.1 + 100 * 1.25 + 100 * 5) / 1e6,
        ),
        (
            "anthropic/claude-haiku-4-5",
            TokenCounts(1000, 100, 0, 100, 100),
            (900 * 1 + 100 * 2 + 100 * 5) / 1e6,
        ),
        ("gemini-2.5-flash", TokenCounts(1000, 100, 800), (200 * 0.3 + 800 * 0.03 + 100 * 2.5) / 1e6),
    ],
)
def test_cached_tokens_have_their_own_price(name: str, counts: TokenCounts, cost: float) -> None:
    """1,000 tokens in, of which 800 are cached, cost less than 1,000 that are not."""
    assert compute_price(address(name), counts) == pytest.approx(cost)


def test_another_model_has_its_own_price() -> None:
    """A router that answers with another model is paid for that one. If its price is unknown, there is none."""
    counts = TokenCounts(1000, 100)
    at = address("openai/gpt-4o-mini")
    assert compute_price(at, counts, "gpt-4o") == pytest.approx((1000 * 2.5 + 100 * 10) / 1e6)
    assert compute_price(at, counts, "gpt-4o-mini-2024-07-18") == compute_price(at, counts)
    assert compute_price(at, counts, "meta-llama/nobody-knows-it") is None


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.5}, 0.5),
        ({"cost": "0.5"}, 0.5),
        ({"cost": 0}, 0.0),
        ({"cost": {"total_cost": 0.25, "input_tokens_cost": 0.2}}, 0.25),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}}, 0.51),
        ({"cost": 0.5, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.4}}, 0.5),
        *(({"cost": value}, 0.00021) for value in NO_AMOUNTS),
    ],
)
def test_the_cost_that_a_gateway_reports_counts(usage: dict[str, Json], cost: float) -> None:
    """OpenRouter and Perplexity report it. An amount that cannot be read leaves the price of the tokens."""
    own = {"prompt_tokens": 1000, "completion_tokens": 100, **usage}
    fault = Fault("", lambda protocol, text: make_body(protocol, text, usage=own, model="gpt-4o-mini"))
    (reply,) = send("chat", [fault], "valid", stream=False)
    assert isinstance(reply, Reply)
    assert reply.cost == pytest.approx(cost)


def test_a_budget_in_money_spends_what_a_gateway_reports() -> None:
    """Two calls of $0.5 fit into $1, though the tokens of each cost $0.00021."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "cost": 0.5}
    body = json.dumps(make_body("chat", verdict_text("valid"), usage=usage)).encode()

    async def calls(base: str) -> int:
        budget = Budget(max_cost=1.2)
        async with Provider(address(NAMES["chat"], Endpoint(base, "SERVER_KEY"))) as model:
            paid = Budgeted(model, budget)
            for made in range(9):
                try:
                    await paid(QUESTION.prompt)
                except UnsentError:
                    return made
        return 9

    with Loopback(lambda _: Say(raw=body)) as server:
        assert asyncio.run(calls(f"{server.url}/v1")) == 2

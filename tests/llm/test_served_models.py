"""Names of the same model. The table is written by hand from the documentation of providers."""

from __future__ import annotations

import pytest

from fairtrial.llm.served_models import is_same_model

SAME = [
    ("openai/gpt-4o", "gpt-4o-2024-08-06"),
    ("gpt-4o-mini", "gpt-4o-mini-2024-07-18"),
    ("gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18"),
    ("openai/gpt-4", "gpt-4-0613"),
    ("openai/gpt-5-chat-latest", "gpt-5-chat"),
    ("openai/org/model:8b", "org/model:8b"),
    ("openrouter/openai/gpt-4o-mini", "openai/gpt-4o-mini"),
    ("openrouter/meta-llama/llama-3.3-70b-instruct:free", "meta-llama/llama-3.3-70b-instruct"),
    ("openrouter/deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
    ("openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-4.5-sonnet-20250929"),
    ("litellm/gpt-4o-mini", "azure/gpt-4o-mini-2024-07-18"),
    ("anthropic/claude-haiku-4-5", "claude-haiku-4-5-20251001"),
    ("anthropic/claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
    ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
    ("vertex_ai/claude-sonnet-4-5@default", "claude-sonnet-4-5-20250929"),
    ("bedrock/anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001"),
    ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic.claude-haiku-4-5-20251001-v1:0"),
    ("bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
    (
        "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
    ),
    ("bedrock/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6", "amazon.nova-lite"),
    ("gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("gemini-2.5-flash", "models/gemini-2.5-flash"),
    ("gemini-2.5-flash-preview", "gemini-2.5-flash-preview-05-20"),
    ("gemini-2.5-flash-preview", "gemini-2.5-flash-preview-09-2025"),
    ("mistral/mistral-small-latest", "mistral-small-2506"),
    ("cohere/command-r", "command-r-08-2024"),
    ("xai/grok-4", "grok-4-0709"),
    ("azure/my-judge", "gpt-4o-2024-08-06"),
    ("azure_ai/prod-1", "Mistral-Large-2411"),
    ("ollama/llama3.1", "llama3.1:latest"),
    ("ollama/qwen3:4b", "qwen3:4b"),
    ("vllm/Qwen/Qwen3-8B", "qwen/qwen3-8b"),
    ("openai/mine", "mine.gguf"),
    ("openai/gpt-4o-mini", ""),
]
OTHER = [
    ("openai/gpt-4o-mini", "meta-llama/llama-3-8b"),
    ("openai/gpt-4o", "gpt-4o-mini"),
    ("openai/gpt-4o", "gpt-4o-mini-2024-07-18"),
    ("openai/gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
    ("openai/gpt-4", "gpt-4.1"),
    ("openai/gpt-4", "gpt-4-turbo-2024-04-09"),
    ("openai/gpt-4", "gpt-4-32k"),
    ("openai/gpt-5", "gpt-5-chat-latest"),
    ("openai/o1", "o1-mini"),
    ("gemini-2.5-pro", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
    ("gemini-2.0-flash-001", "gemini-2.0-flash-002"),
    ("anthropic/claude-haiku-4-5", "claude-haiku-3-5"),
    ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-20250514"),
    ("openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-4-sonnet-20250522"),
    ("openrouter/auto", "openai/gpt-4o-mini"),
    ("openrouter/openai/gpt-4o-mini", "openai/gpt-4o"),
    ("bedrock/amazon.nova-lite-v1:0", "amazon.nova-pro-v1:0"),
    ("ollama/qwen3:4b", "qwen3:8b"),
    ("ollama/llama3.1:8b", "llama3.1:70b"),
    ("together_ai/meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    ("deepseek/deepseek-v3", "deepseek-v2"),
    ("deepseek/deepseek-chat", "deepseek-reasoner"),
    ("mistral/mistral-small-2503", "mistral-small-2506"),
    ("litellm/judge", "gpt-4o-mini"),
]


@pytest.mark.parametrize(("asked", "served"), SAME)
def test_another_spelling_of_a_name_is_the_same_model(asked: str, served: str) -> None:
    """Dates, versions, providers, regions and terms of service may be added; deployments have any name."""
    assert is_same_model(asked, served)


@pytest.mark.parametrize(("asked", "served"), OTHER)
def test_another_size_family_or_release_is_another_model(asked: str, served: str) -> None:
    """Nothing that changes the answers is taken for a spelling."""
    assert not is_same_model(asked, served)

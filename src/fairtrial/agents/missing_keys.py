"""Recognise exceptions for a missing model key. Then no request was sent, and the agent is not at fault."""

from __future__ import annotations

import os
import re
import traceback

_CLASSES = frozenset(
    (
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "DefaultCredentialsError",
        "CredentialUnavailableError",
        "LocalTokenNotFoundError",
    )
)
"""Exceptions of boto3, google-auth, azure-identity and huggingface_hub."""
_NAME = r"[`'\"]?[A-Z][A-Z0-9_]*_(?:API_KEY|ADMIN_KEY|TOKEN|KEY)[`'\"]?"
_WORDS = re.compile(
    "|".join(
        (
            r"(?i:missing credentials\. please pass)",  # openai
            r"(?i:api_key client option must be set)",  # groq, and older versions of openai
            r"(?i:could not resolve authentication method)",  # anthropic
            r"(?i:no api key was provided|missing key inputs argument)",  # google-genai
            r"(?i:no api key (?:was )?found for)",  # LlamaIndex
            r"(?i:api key (?:is )?required (?:for|when))",  # agent-framework, langchain-google-genai
            r"(?i:you must provide an api_key)",  # huggingface_hub
            r"(?i:the client must be instantiated be either passing in token)",  # cohere
            rf"[Ss]et the {_NAME} (?:or other valid )?environment variable",  # pydantic-ai, agno
            rf"{_NAME} (?:is required|is not set|not set|must be set)",  # crewai, agno
        )
    )
)
_VARIABLE = re.compile(_NAME)
_LONGEST = 10_000
"""So much of a message is read."""


def is_missing_key(error: BaseException) -> bool:
    """Return whether an exception says that a key is missing: in a client, or in `os.environ`."""
    if any(base.__name__ in _CLASSES for base in type(error).__mro__):
        return True
    if isinstance(error, KeyError):
        frames = traceback.extract_tb(error.__traceback__)
        is_environment = bool(frames) and frames[-1].filename in ("<frozen os>", os.__file__)
        return is_environment and _VARIABLE.fullmatch(str(error)) is not None
    try:
        return _WORDS.search(str(error)[:_LONGEST]) is not None
    except Exception:  # noqa: BLE001  (the text of a foreign exception may raise anything)
        return False

"""Read the chat history of Aider, a text in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from fairtrial.formats.kinds.kind import Conversation, text_message

KIND = "Aider chat history"
_START = "# aider chat started at "
_USER = "#### "
_NOTE = "> "


def is_history(data: bytes) -> bool:
    """Whether a text is a chat history."""
    return data[:200].lstrip().startswith(_START.encode())


def read_history(text: str) -> Iterator[Conversation]:
    """Yield the sessions. Lines of the program begin with `> `, and lines of the user with `####`.

    An edit of the agent ends in `>>>>>>> REPLACE`, which is no line of the program.
    """
    for number, session in enumerate(text.split(f"\n{_START}" if not text.startswith(_START) else _START)[1:], 1):
        started, _, lines = session.partition("\n")
        messages: list[dict[str, str]] = []
        for line in lines.splitlines():
            if line.startswith(_NOTE):
                continue
            role = "user" if line.startswith(_USER) or line == _USER.strip() else "assistant"
            text_of_line = line.removeprefix(_USER).rstrip() if role == "user" else line
            if messages and (messages[-1]["role"] == role or not line.strip()):
                messages[-1]["content"] += f"\n{text_of_line}"
            elif line.strip():
                messages.append({"role": role, "content": text_of_line})
        conversation = [text_message(message["role"], message["content"].strip()) for message in messages]
        yield Conversation(f"{number} {started.strip()}", conversation, {}, keeps_calls=False)

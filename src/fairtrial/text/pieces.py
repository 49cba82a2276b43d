"""Split a long text into pieces below a limit."""

from __future__ import annotations


def split_text(text: str, limit: int) -> list[str]:
    """Return pieces of at most `limit` characters, which make the text again when they are joined.

    A cut is after the last space in a piece's second half, or inside a word if there is none. For example, with a limit
    of 8, "one two three" becomes "one two " and "three". An empty text is one empty piece.
    """
    pieces = []
    start = 0
    while len(text) - start > limit:
        cut = text.rfind(" ", start + limit // 2, start + limit) + 1 or start + limit
        pieces.append(text[start:cut])
        start = cut
    pieces.append(text[start:])
    return pieces

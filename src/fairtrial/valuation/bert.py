"""Vectors of a small BERT encoder, computed with numpy alone.

This is own code, because the libraries for it weigh 1.3 GB or need a file that no package ships. It computes BERT
(arXiv 1810.04805) with mean pooling over the tokens (Sentence-BERT, arXiv 1908.10084).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.errors import UsageError

Floats = NDArray[np.float32]

_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_SCALE = 0.3275911
_ROWS = 32  # GELU works on this many rows at a time, so that its scratch stays in the processor's cache


class Bert:
    """The weights of one model, ready to compute with `encode`."""

    def __init__(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            weights = load_file(folder / "model.safetensors")
            self.heads = _heads(folder)
            self._load({name.removeprefix("bert."): array for name, array in weights.items()})
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            raise UsageError(
                f"{folder}: not a BERT encoder that can be used here: {error}", code="unusable-model"
            ) from error

    def _load(self, weights: dict[str, NDArray[Any]]) -> None:
        def read_weights(name: str) -> Floats:
            return np.ascontiguousarray(weights[name], dtype=np.float32)

        def linear(name: str) -> tuple[Floats, Floats]:
            return np.ascontiguousarray(read_weights(f"{name}.weight").T), read_weights(f"{name}.bias")

        def norm(name: str) -> tuple[Floats, Floats]:
            return read_weights(f"{name}.weight"), read_weights(f"{name}.bias")

        self.words = read_weights("embeddings.word_embeddings.weight")
        token_types = read_weights("embeddings.token_type_embeddings.weight")
        self.positions = read_weights("embeddings.position_embeddings.weight") + token_types[0]
        self.first_norm = norm("embeddings.LayerNorm")
        self.dimensions = self.words.shape[1]
        self.longest = self.positions.shape[0]
        self.layers: list[tuple[tuple[Floats, Floats], ...]] = []
        while f"encoder.layer.{len(self.layers)}.output.dense.weight" in weights:
            at = f"encoder.layer.{len(self.layers)}"
            parts = [linear(f"{at}.attention.self.{part}") for part in ("query", "key", "value")]
            # The usual 1 / sqrt(head size) is folded into the queries, once.
            scale = np.float32((self.dimensions // self.heads) ** -0.5)
            parts[0] = (parts[0][0] * scale, parts[0][1] * scale)
            joined = (np.concatenate([w for w, _ in parts], axis=1), np.concatenate([b for _, b in parts]))
            self.layers.append(
                (
                    joined,
                    linear(f"{at}.attention.output.dense"),
                    norm(f"{at}.attention.output.LayerNorm"),
                    linear(f"{at}.intermediate.dense"),
                    linear(f"{at}.output.dense"),
                    norm(f"{at}.output.LayerNorm"),
                )
            )
        if not self.layers:
            raise KeyError("encoder.layer.0.output.dense.weight")

    def encode(self, ids: list[list[int]]) -> Floats:
        """Return one vector of unit length for each list of token ids, shape (n, dimensions).

        The texts are laid end to end without padding. Only attention treats each text separately.
        """
        lengths = [len(tokens) for tokens in ids]
        edges = np.concatenate([[0], np.cumsum(lengths)])
        spans = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        hidden = self.words[np.concatenate([np.asarray(tokens) for tokens in ids])]
        for start, stop in spans:
            hidden[start:stop] += self.positions[: stop - start]
        _normalise(hidden, *self.first_norm)
        for joined, projection, attention_norm, wide, narrow, output_norm in self.layers:
            mixed = self._attend(_linear(hidden, joined), spans)
            hidden += _linear(mixed, projection)
            _normalise(hidden, *attention_norm)
            inner = _linear(hidden, wide)
            _gelu(inner)
            hidden += _linear(inner, narrow)
            _normalise(hidden, *output_norm)
        pooled = np.stack([hidden[start:stop].mean(axis=0) for start, stop in spans])
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        return pooled

    def _attend(self, joined: Floats, spans: list[tuple[int, int]]) -> Floats:
        size = self.dimensions // self.heads
        mixed = np.empty((joined.shape[0], self.dimensions), dtype=np.float32)
        for start, stop in spans:
            parts = joined[start:stop].reshape(stop - start, 3, self.heads, size).transpose(1, 2, 0, 3)
            weights = parts[0] @ parts[1].transpose(0, 2, 1)
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(axis=-1, keepdims=True)
            mixed[start:stop] = (weights @ parts[2]).transpose(1, 0, 2).reshape(stop - start, self.dimensions)
        return mixed


def _heads(folder: Path) -> int:
    config = folder / "config.json"
    if not config.is_file():
        return 12
    options = json.loads(config.read_text(encoding="utf-8"))
    if options.get("model_type", "bert") != "bert":
        raise UsageError(
            f"{folder}: its model_type is {options['model_type']!r}; only 'bert' can be computed here",
            code="not-supported",
        )
    pooling = folder / "1_Pooling" / "config.json"
    if pooling.is_file() and not json.loads(pooling.read_text(encoding="utf-8")).get("pooling_mode_mean_tokens", True):
        raise UsageError(
            f"{folder}: it does not pool by the mean; only pooling by the mean is supported", code="not-supported"
        )
    return int(options["num_attention_heads"])


def _linear(rows: Floats, layer: tuple[Floats, Floats]) -> Floats:
    result: Floats = rows @ layer[0]
    result += layer[1]
    return result


def _normalise(rows: Floats, weight: Floats, bias: Floats) -> None:
    rows -= rows.mean(axis=1, keepdims=True)
    spread = np.einsum("ij,ij->i", rows, rows)[:, None] / np.float32(rows.shape[1])
    rows *= 1.0 / np.sqrt(spread + np.float32(1e-12))
    rows *= weight
    rows += bias


def _gelu(rows: Floats) -> None:
    """Apply x * Phi(x) in place. Phi is formula 7.1.26 of Abramowitz and Stegun (absolute error below 1.5e-7)."""
    scratch = [np.empty((min(_ROWS, len(rows)), rows.shape[1]), dtype=np.float32) for _ in range(3)]
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        size, t, tail = (array[: len(part)] for array in scratch)
        np.abs(part, out=size)
        size *= np.float32(0.5**0.5)
        np.multiply(size, np.float32(_ERF_SCALE), out=t)
        t += np.float32(1.0)
        np.reciprocal(t, out=t)
        np.multiply(t, np.float32(_ERF[4]), out=tail)
        for factor in reversed(_ERF[:4]):
            tail += np.float32(factor)
            tail *= t
        np.multiply(size, size, out=size)
        np.negative(size, out=size)
        np.exp(size, out=size)
        tail *= size
        # x * Phi(x) = max(x, 0) - |x| / 2 * erfc(|x| / sqrt 2)
        np.abs(part, out=t)
        t *= np.float32(0.5)
        tail *= t
        np.maximum(part, np.float32(0.0), out=part)
        part -= tail

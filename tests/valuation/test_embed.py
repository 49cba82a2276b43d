"""Texts to vectors: the model, where it is found, and what is said where it is not."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fairtrial.errors import UsageError
from fairtrial.valuation import weights
from fairtrial.valuation.embed import MiniLM, embedder, installed_embedder, read_name


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    """The model, where it is installed."""
    found = installed_embedder()
    if not isinstance(found, MiniLM):
        pytest.skip(f"the model is not installed: {weights.HOW_TO_INSTALL}")
    return found


@pytest.mark.long
@pytest.mark.shared
def test_vectors_are_those_of_the_reference(shared: Path, minilm: MiniLM) -> None:
    """Every text of the vectors, embedded alone and all together, agrees to 1e-5 in every component."""
    items = json.loads((shared / "vectors" / "embeddings.json").read_text(encoding="utf-8"))["items"]
    expected = np.array([item["vector"] for item in items])
    texts = [item["text"] for item in items]
    assert np.abs(minilm(texts) - expected).max() < 1e-5
    assert np.abs(np.concatenate([minilm([text]) for text in texts]) - expected).max() < 1e-5


def test_vectors_have_unit_length_and_the_documented_shape(minilm: MiniLM) -> None:
    """384 float32 components a text."""
    vectors = minilm(["a", "", "긴 문장 " * 50])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


@pytest.mark.long
def test_512_tokens_are_looked_at(minilm: MiniLM) -> None:
    """A word at place 300 changes the vector, as it would not at the 128 or 256 of other tools; one at 600 does not."""
    base = ["alpha"] * 700
    early, late = base.copy(), base.copy()
    early[300], late[600] = "volcano", "volcano"
    plain, first, second = minilm([" ".join(words) for words in (base, early, late)])
    assert np.abs(plain - first).max() > 1e-4
    assert np.array_equal(plain, second)


def test_tokens_are_counted_with_the_part_that_is_not_seen(minilm: MiniLM) -> None:
    """Of a text of 700 words, each one token, 510 fit beside the two marks."""
    assert minilm.count_tokens(["alpha " * 700, "alpha beta", ""]) == [(510, 700), (2, 2), (0, 0)]


def test_equal_texts_have_equal_vectors(minilm: MiniLM) -> None:
    """They are computed once, and stand in the order of the texts."""
    first, other, again = minilm(["one text", "another one", "one text"])
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_half_characters_are_no_obstacle(minilm: MiniLM) -> None:
    """A text with half a surrogate pair has a vector."""
    assert np.isfinite(minilm(["\ud800 x"])).all()


def test_it_goes_to_other_processes_without_its_weights(minilm: MiniLM) -> None:
    """What is pickled is where the model is, not the model."""
    assert len(pickle.dumps(minilm)) < 1000


def test_a_folder_is_an_embedder(minilm: MiniLM, tmp_path: Path) -> None:
    """The path of a folder with weights and tokenizer gives the same vectors, under its own name."""
    for name in weights.FILES:
        (tmp_path / name).symlink_to(minilm.folder / name)
    named = embedder(str(tmp_path))
    assert named is not None
    assert read_name(named) == str(tmp_path)
    assert np.array_equal(named(["some text"]), minilm(["some text"]))


def test_a_folder_may_hold_a_unigram_tokenizer(tmp_path: Path) -> None:
    """A small BERT with the kind of tokenizer that multilingual models have embeds Korean, Japanese and Chinese."""
    numpy_files = pytest.importorskip("safetensors.numpy", reason="the extra embed is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="the extra embed is not installed")
    texts = ["메모리 누수", "メモリ不足", "内存泄漏"]
    pieces = ["<unk>", *sorted(set("".join(texts)))]
    unigram = tokenizers.models.Unigram([(piece, -1.0) for piece in pieces], unk_id=0)
    tokenizers.Tokenizer(unigram).save(str(tmp_path / "tokenizer.json"))
    numpy_files.save_file(_small_bert(len(pieces)), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_attention_heads": 2}')
    small = embedder(str(tmp_path))
    assert isinstance(small, MiniLM)
    vectors = small(texts)
    assert vectors.shape == (3, 8)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert (vectors @ vectors.T - np.eye(3)).max() < 0.999
    assert small.count_tokens(texts) == [(6, 6), (5, 5), (4, 4)]


def _small_bert(words: int, size: int = 8) -> dict[str, NDArray[np.float32]]:
    """Return the weights of a random BERT encoder with one layer."""
    rng = np.random.default_rng(1)
    layer = "encoder.layer.0"
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, size),
        "embeddings.position_embeddings.weight": (16, size),
        "embeddings.token_type_embeddings.weight": (2, size),
        f"{layer}.intermediate.dense.weight": (2 * size, size),
        f"{layer}.intermediate.dense.bias": (2 * size,),
        f"{layer}.output.dense.weight": (size, 2 * size),
        f"{layer}.output.dense.bias": (size,),
    }
    for name in ("self.query", "self.key", "self.value", "output.dense"):
        shapes |= {f"{layer}.attention.{name}.weight": (size, size), f"{layer}.attention.{name}.bias": (size,)}
    for name in ("embeddings", f"{layer}.attention.output", f"{layer}.output"):
        shapes |= {f"{name}.LayerNorm.weight": (size,), f"{name}.LayerNorm.bias": (size,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("content", [b"\x02\0\0\0\0\0\0\0{}", b"\xff\0\0\0\0\0\0\0{"], ids=["another kind", "cut off"])
def test_weights_that_cannot_be_used_are_refused(minilm: MiniLM, tmp_path: Path, content: bytes) -> None:
    """A folder whose files are no BERT encoder is told so, without a traceback."""
    (tmp_path / "model.safetensors").write_bytes(content)
    (tmp_path / "tokenizer.json").symlink_to(minilm.folder / "tokenizer.json")
    found = embedder(str(tmp_path))
    assert found is not None
    with pytest.raises(UsageError, match="not a BERT encoder"):
        found(["x"])


def test_the_hubs_cache_is_looked_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The revision that `main` points at is the one that is taken."""
    repository = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    for revision in ("aaa", "bbb"):
        (repository / "snapshots" / revision).mkdir(parents=True)
        for name in weights.FILES:
            (repository / "snapshots" / revision / name).touch()
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("bbb")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert weights.find_installed() == repository / "snapshots" / "bbb"


def test_no_embedder_is_an_embedder_that_is_asked_for() -> None:
    """`none` is None, and is called none."""
    assert embedder("none") is None
    assert read_name(None) == "none"


def test_an_unknown_embedder_is_refused_with_the_nearest_name() -> None:
    """`minlm` is neither a name nor a folder."""
    with pytest.raises(UsageError, match="did you mean 'minilm'"):
        embedder("minlm")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """An empty folder says what must be in it."""
    with pytest.raises(UsageError, match=r"must hold model\.safetensors and tokenizer\.json"):
        embedder(str(tmp_path))


def test_a_callable_is_named_by_where_its_code_is() -> None:
    """A user's own function stands beside its numbers as module:name."""
    assert read_name(json.dumps) == "json:dumps"


@pytest.mark.long
def test_help_loads_no_heavy_library() -> None:
    """Neither importing the command nor its help imports numpy, tokenizers, pyarrow or rich."""
    code = (
        "import sys; from fairtrial.cli.value_command import value; import fairtrial.api.value.valuing\n"
        "try: value(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('numpy', 'tokenizers', 'safetensors', 'pyarrow', 'torch')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

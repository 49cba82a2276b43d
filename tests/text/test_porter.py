"""NLTK's stemmer without the rest of NLTK: the same stems, and nobody meets a half NLTK."""

from __future__ import annotations

from forked_commands import run_forked

_WITHOUT_LIBRARIES = (
    "import sys; sys.modules.update(dict.fromkeys(('matplotlib', 'numpy', 'scipy', 'sklearn', 'tkinter'))); "
)
"""NLTK imports these slow libraries if they are there. The stemmer needs none of them."""


def _says(code: str) -> str:
    done = run_forked(["python", "-c", _WITHOUT_LIBRARIES + code])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_half_nltk_is_left_behind() -> None:
    """After stemming NLTK is not imported; whoever imports it then gets all of it."""
    code = (
        "from fairtrial.text.porter import stemmer; print(stemmer().stem('running')); "
        "print([name for name in sys.modules if name.startswith('nltk')]); "
        "import nltk; print(bool(nltk.__version__))"
    )
    assert _says(code).split() == ["run", "[]", "True"]


def test_an_nltk_that_is_there_is_used() -> None:
    """Where the program has imported NLTK itself, the stemmer is NLTK's own."""
    code = (
        "from nltk.stem.porter import PorterStemmer; from fairtrial.text.porter import stemmer; "
        "print(type(stemmer()) is PorterStemmer)"
    )
    assert _says(code) == "True"

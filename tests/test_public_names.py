"""Do the public names stay what they are, whatever has been imported?"""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["score", "value"])
def test_a_function_is_not_hidden_by_the_submodule_of_its_name(name: str) -> None:
    """`assay.score` and `assay.value` are functions at every use, also after their submodules were used."""
    code = (
        f"import assay, assay.{name}\n"
        "import assay.value.novelty\n"
        f"from assay import {name}\n"
        f"assert callable({name}) and assay.{name} is {name}\n"
        f"assert callable(assay.{name})\n"
        "from assay.value.novelty import VectorCache\n"
        "assert VectorCache is assay.VectorCache\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_every_public_name_can_be_had() -> None:
    """Each name of `__all__` is there."""
    subprocess.run([sys.executable, "-W", "error", "-c", "from assay import *"], check=True)

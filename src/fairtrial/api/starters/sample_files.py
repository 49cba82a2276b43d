"""Copy files of examples out of the package: the example agent, or one dialogue in the format of a tool."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fairtrial.api.eval_files import save_eval_set
from fairtrial.api.starters.starter_files import EXAMPLES
from fairtrial.errors import UsageError, nearest
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall

_SAMPLES = EXAMPLES.parent / "formats" / "samples"
_AGENT = "shop"
_DIALOGUE = EvalCase(
    "order",
    (
        Invocation(
            Message("Where is order A-17, please?"),
            (ToolCall("get_order", {"order_id": "A-17"}),),
            Message("It left the depot this morning."),
        ),
        Invocation(Message("Thank you for the quick help."), (), Message("You are welcome, have a nice day.")),
    ),
)
"""The dialogue of the samples, as an expectation."""
_OTHER_CONTENTS = frozenset(
    ("aider", "alpaca", "crewai", "langfuse-items", "lm-eval", "mcp", "mini-swe-agent", "promptfoo")
)
"""The samples of tools that do not write a whole dialogue with calls."""


def example_names() -> list[str]:
    """Return the names of the examples: the agent `shop`, and the formats of tools. Formats of one name keep an end."""
    return [_AGENT, *_samples()]


def write_example(name: str, folder: Path | None) -> tuple[list[Path], str]:
    """Write the files of an example into a folder, and return them with the command that uses them.

    The default is the folder `examples` for the agent, whose files import each other by this name, else `traces`.
    Raises UsageError, and writes nothing, if there is no such example, or if a file exists.
    """
    if name == _AGENT:
        target = folder or Path("examples")
        sources = {target / file.relative_to(EXAMPLES): file for file in sorted(EXAMPLES.rglob("*")) if _is_data(file)}
        _copy(sources)
        return list(sources), f"fairtrial run {target} --agent {target}/agent.py:reply"
    samples = _samples()
    if name not in samples:
        near = nearest(name, example_names()) or f"; examples: {', '.join(example_names())}"
        raise UsageError(f"{name!r} is not an example{near}", code="unknown-name")
    target = folder or Path("traces")
    file, expected = target / samples[name].name, target / "order.evalset.json"
    _copy({file: samples[name]})
    if name in _OTHER_CONTENTS:
        return [file], f"fairtrial check {file}"
    if not expected.exists():
        save_eval_set(EvalSet("order", (_DIALOGUE,)), expected)
    return [file, expected], f"fairtrial score {file} --against {expected} --match order"


def _samples() -> dict[str, Path]:
    """Return the recorded dialogue in the format of each tool, by the names of the examples."""
    files = sorted(file for file in _SAMPLES.iterdir() if file.is_file())
    stems = Counter(file.stem for file in files)
    return {file.stem if stems[file.stem] == 1 else file.name: file for file in files}


def _is_data(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


def _copy(sources: dict[Path, Path]) -> None:
    """Copy files to new places. Raises UsageError before anything is written if a place is taken."""
    for target in sources:
        if target.exists():
            raise UsageError(
                f"{target} exists, and would be overwritten; name another folder: fairtrial init FOLDER",
                code="would-overwrite",
            )
    for target, source in sources.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
        except OSError as problem:
            raise UsageError(f"{target}: {problem.strerror or problem}", code="unwritable-file") from None

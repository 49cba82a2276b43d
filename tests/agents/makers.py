"""Examples from the files that the makers of frameworks publish, each run as it is behind a scripted model."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import re
import shutil
import sys
import tarfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from loopback import Action, Loopback, Request
from wires import Call, Piece, answer, tool_names

ROOT = Path(__file__).parents[2]
ARCHIVES = ROOT / ".venv-makers"
"""The folder into which `make` puts the source distributions of the makers."""

_BLOCK = re.compile(r"^( *)```(?:py|python)\b[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"^( *)\.\. code-block:: python\n((?:\1 +[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)


_PACKAGES = {
    "agent_framework": "agent-framework-core",
    "agent_framework_orchestrations": "agent-framework-orchestrations",
    "agno": "agno",
    "crewai": "crewai",
    "crewai_cli": "crewai-cli",
    "google": "google-adk",
    "langchain": "langchain",
    "pydantic_ai": "pydantic-ai-slim",
}


@dataclass(frozen=True)
class Archive:
    """A file of a source distribution. Its folder is on the path, because examples import their neighbours."""

    package: str
    path: str

    @property
    def place(self) -> str:
        """The place in the source distribution."""
        return self.path

    def read(self, folder: Path) -> str:
        """Unpack the source distribution, and return the text of the file."""
        pins = (ROOT / "constraints-makers.txt").read_text()
        version = re.search(rf"^{re.escape(self.package)}==(\S+)", pins, re.MULTILINE)
        assert version is not None
        name = f"{self.package.replace('-', '_')}-{version[1]}"
        archive = ARCHIVES / f"{name}.tar.gz"
        if not archive.is_file():
            pytest.skip(f"needs {archive.name}, which make .venv-makers/.ready downloads")
        with tarfile.open(archive) as whole:
            whole.extractall(folder, filter="data")
        sys.path.insert(0, str(folder / name))
        return (folder / name / self.path).read_text()


@dataclass(frozen=True)
class Readme:
    """A program in the description of an installed package: the readme of its repository."""

    package: str
    number: int

    @property
    def place(self) -> str:
        """The place in the package."""
        return f"README.md, program {self.number + 1}"

    def read(self, _: Path) -> str:
        """Return the text of the program."""
        text: str = metadata.metadata(self.package).json["description"]  # type: ignore[assignment]
        return _blocks(text)[self.number]


@dataclass(frozen=True)
class Docstring:
    """A program in the documentation of a module that is installed: the file of the repository."""

    module: str
    marker: str

    @property
    def package(self) -> str:
        """The package with the module."""
        return _PACKAGES[self.module.partition(".")[0]]

    @property
    def place(self) -> str:
        """The place in the package."""
        return f"{self.module}, documentation"

    def read(self, _: Path) -> str:
        """Return the text of the only program that has the marker in it."""
        return _find(inspect.getsource(importlib.import_module(self.module)), self.marker)


@dataclass(frozen=True)
class Page:
    """A program on a page that an installed package brings."""

    package: str
    path: str
    marker: str

    @property
    def place(self) -> str:
        """The place in the package."""
        return self.path

    def read(self, _: Path) -> str:
        """Return the text of the only program that has the marker in it."""
        return _find(Path(str(metadata.distribution(self.package).locate_file(self.path))).read_text(), self.marker)


def _find(text: str, marker: str) -> str:
    programs = {block for block in _blocks(text) if marker in block}
    assert len(programs) == 1, f"{len(programs)} programs have {marker!r}"
    return programs.pop()


@dataclass(frozen=True)
class Installed:
    """A name in a module that is installed. With arguments it is a command line, which runs as a program."""

    package: str
    module: str
    name: str
    arguments: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The place in the package."""
        return f"{self.module}:{self.name}"

    def read(self, _: Path) -> str:
        """Return a program that imports the name, and calls it if it is a command line."""
        program = f"from {self.module} import {self.name}\n"
        if self.arguments:
            argv = [self.name, *self.arguments]
            program += f"import os, sys\nsys.argv = list(map(os.path.expandvars, {argv}))\n{self.name}()\n"
        return program


def _blocks(text: str) -> list[str]:
    found = [*_BLOCK.finditer(text), *_DIRECTIVE.finditer(text)]
    blocks = [textwrap.dedent(match[2]) for match in sorted(found, key=lambda match: match.start())]
    return [re.sub(r"^(>>>|\.\.\.) ", "", block, flags=re.MULTILINE) for block in blocks]


@dataclass(frozen=True)
class Template:
    """A project that the command line of a framework creates: the folder in its package, with the names filled in."""

    module: str
    folder: str
    path: str

    @property
    def package(self) -> str:
        """The package with the template."""
        return _PACKAGES[self.module]

    @property
    def place(self) -> str:
        """The place in the package."""
        return self.folder

    def read(self, folder: Path) -> str:
        """Create the project, and return the text of the file."""
        home = folder / _PROJECT
        shutil.copytree(Path(str(files(self.module))) / self.folder, home)
        for file in home.rglob("*.py"):
            file.write_text(_filled(file.read_text()))
        sys.path.insert(0, str(folder))
        return (home / self.path).read_text()


_PROJECT = "latest_ai"


def _filled(text: str) -> str:
    return text.replace("{{folder_name}}", _PROJECT).replace("{{crew_name}}", "LatestAi")


Source = Archive | Readme | Docstring | Page | Installed | Template


class By(NamedTuple):
    """A move of the agent with a text in its prompt. Agents that work at once ask in any order."""

    prompt: str
    piece: Piece


@dataclass(frozen=True)
class Turn:
    """What the user says, what the model does, and what has to be recorded.

    `moves` are the answers of the model in their order. `steps` are the calls as `author: name(argument=value)`. The
    calls of agents in tools stand below their call, behind `>`.
    """

    query: str
    moves: tuple[Piece | By | tuple[Piece, ...], ...]
    reply: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """An example of a maker. `target` is a name in it, or makes the agent or the function from its module.

    A target without a prefix is the whole program: it runs in a function, what it prints is the reply, and its agents
    are read from spans. If `shown` is a pattern, the reply is its first group in what the program prints. `module` has
    to be installed. `before` defines what the page defines above the program, for example `client`. `model` are names
    of models, each with one that the scripted model answers to. `repairs` are other texts that do not work on this
    machine, or no longer with the package, each with one that does. `state` is expected at the end. Nobody tells the
    tokens of `unseen` requests, and they are recorded as model calls without tokens.
    """

    framework: str
    feature: str
    module: str
    source: Source
    prefix: str
    target: str | Callable[[ModuleType], Any]
    turns: tuple[Turn, ...]
    before: str = ""
    model: tuple[tuple[str, str], ...] = ()
    repairs: tuple[tuple[str, str], ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    unseen: int = 0
    shown: str = ""

    @property
    def id(self) -> str:
        """A name for the test."""
        return f"{self.framework}, {self.source.package}: {self.source.place}"


class Script:
    """Plays the moves of an example in their order. Questions that a program asks for itself are no move."""

    def __init__(self, example: Example) -> None:
        self.moves = [move for turn in example.turns for move in turn.moves]
        self.asks_itself = example.prefix == "claude"
        self.played = 0
        self._left: list[Any] = []

    def begin(self) -> None:
        """Begin with the first move, also if a program has already spoken while it was imported."""
        self.played, self._left = 0, list(self.moves)

    def __call__(self, request: Request) -> Action:
        """Answer a request."""
        if "count" in request.path.lower() or (self.asks_itself and not tool_names(request)):
            return answer(request, "Nothing to do.")
        own = [move for move in self._left if isinstance(move, By) and move.prompt in request.text]
        move = next(iter(own or [move for move in self._left if not isinstance(move, By)]), "Nothing more.")
        self.played += 1
        if move in self._left:
            self._left.remove(move)
        piece = move.piece if isinstance(move, By) else move
        return answer(request, *(piece if type(piece) is tuple else (piece,)))


@contextmanager
def opened(example: Example, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Script]]:
    """The target of an example, and its model. Environment variables lead every client to the model."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(pytest.mark, "_config", None)  # tests of a maker have marks of their own
    code = example.before + example.source.read(folder)
    assert all(text in code for text, _ in example.repairs)
    for text, replacement in (*example.model, *example.repairs):
        code = code.replace(text, replacement)
    script = Script(example)
    script.begin()
    with Loopback(script, keeps_open=False) as server:
        for name, value in _variables(server.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        module = ModuleType(f"maker_{re.sub(r'[^a-z]', '_', example.source.place.lower())}")
        # A crew of CrewAI looks for its configuration beside its file.
        home = folder / _PROJECT if isinstance(example.source, Template) else folder
        module.__file__ = str(home / f"{module.__name__}.py")
        Path(module.__file__).write_text(code)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        if example.prefix:
            run_code(code, module)
            name = example.target if isinstance(example.target, str) else example.target.__name__
            if not isinstance(example.target, str):
                setattr(module, name, example.target(module))
            target: Any = f"{example.prefix}:{module.__name__}:{name}"
        else:
            monkeypatch.setitem(sys.modules, "__main__", module)
            target = _program(code, module, example.shown)
        script.begin()
        yield target, script


def run_code(code: str, module: ModuleType) -> None:
    """Run a program in a module. Statements that await outside functions are left out: only notebooks have them."""
    tree = ast.parse(code)
    kept = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree.body = [one for one in tree.body if isinstance(one, kept) or not any(map(_awaits, ast.walk(one)))]
    exec(compile(tree, str(module.__file__), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  (it is what the test tests)


def _awaits(node: ast.AST) -> bool:
    return isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)


def _program(code: str, module: ModuleType, shown: str) -> Callable[[str], str]:
    def run(query: str) -> str:  # noqa: ARG001  (the program asks its own question)
        printed = io.StringIO()
        module.__dict__["__name__"] = "__main__"
        with contextlib.redirect_stdout(printed):
            run_code(code, module)
        text = printed.getvalue().strip()
        if not shown:
            return text
        match = re.search(shown, text)
        assert match is not None, text
        return match[1]

    return run


def _variables(url: str) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_MODEL": "gpt-4o",
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": url,
        "GOOGLE_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": url,
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": "us-west-2",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
        "CREWAI_TRACING_ENABLED": "false",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "COLUMNS": "1000",
        "HOME": str(Path.cwd()),
    }


__all__ = ["Archive", "By", "Call", "Docstring", "Example", "Installed", "Page", "Readme", "Source", "Turn", "opened"]

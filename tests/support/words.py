"""Counting the words of docstrings, pages, comments, names, error messages and commits.

    python tests/support/words.py                          the table of every package, the tests and the documentation
    python tests/support/words.py src/fairtrial/judge      one package, with each place that a rule counts
    python tests/support/words.py tests                    the tests, in the same way
    python tests/support/words.py docs/index.md            one page

`test_words.py` holds these counts against the limits below.
"""

from __future__ import annotations

import ast
import functools
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]

# The most per 1,000 words: twice the highest figure of import-linter, structlog, httpx, inspect and pydantic_evals.
# The limit of long sentences is twice the median figure, because two of the five have many.
MOST = {
    "where": 2.2,
    "headless what": 1.2,
    "semicolon": 6.4,
    "long sentence": 5.0,
    "told, said, heard": 0.2,
    "is no X": 0.8,
}
# The fewest per 1,000 words: half of the lowest figure of the same projects.
FEWEST = {"if, when": 4.7, "for example": 0.75}
# Counted without a limit.
MEASURED = ("of the, a, its",)
# A minimum holds for texts of this many words only, because a shorter text may not need the word.
ENOUGH_WORDS = 1000
# The largest share of names that say nothing: pronouns and bare participles.
MOST_EMPTY_NAMES = 0.01

# The most functions below `src` whose name is a bare participle, for example `measured`. Properties are fields.
MOST_PARTICIPLES = 54

LONGEST_SENTENCE = 25

_QUESTION_WORDS = """
    are can did do does has have how is may shall should was were what when where whether which who whom whose why will
"""
_PRONOUNS = """
    anybody anything each every everything it many none nothing one ones other others same some something such that them
    these they this those what which who whom whose
"""
_PARTICIPLES = """
    added answered applied arranged asked begun broken brought built called chosen come counted cut decided done drawn
    dropped ended fallen felt finished fitted found gathered given gone got grown heard held kept known laid learnt led
    left let looked lost made meant met missed named needed opened paid planned played put read said scored seen sent
    shown spelt spent spoken spoilt stood stopped taken told tried turned understood used wanted weighed worked
    written
"""
_PARTICLES = """
    about after again all already any apart at away back before below else first here how in last more most near next
    no not now of off on once only or out over so still than then there to together too twice under until up upon well
    where with without yet
"""
_EMPTY = frozenset((_PRONOUNS + _PARTICIPLES).split())

_FENCE = re.compile(r"^( *)```.*?^\1```$|^( *)~~~.*?^\2~~~$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+).+?\1", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"\w+://\S+")
_ROW_OF_CODE = re.compile(r"^ *(>>>|\.\.\.( |$)|[-=~#]{3,} *$)|^ {4,}\S.*(?<![.:,;])$|^ *\|[-| :]+\| *$")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_STOP = re.compile(r"(?<=[.!?:])[\"'”’)\]*_]*(?:\s+|$)|\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.|#+)\s)|\||\n(?=#)")
_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")
_INITIALS = re.compile(r"\b(?:i\.e|etc|cf|vs|al)\.", re.IGNORECASE)
_EXAMPLE = re.compile(r"\be\.g\.", re.IGNORECASE)
# A "what" after these words is an indirect question with a subject and a verb before it: "shows what was expected".
_ASKING = re.compile(
    r"\b(?:ask|decide|describe|determine|explain|know|learn|print|read|report|say|see|show|state|tell|understand)"
    r"(?:e?s|ed|ing|n)?(?: \w+)? what\b"
    r"|\b(?:said|knew|known|saw|seen|shown|told|no matter|regardless of|exactly|and|or|of|about) what\b",
    re.IGNORECASE,
)


@dataclass
class Prose:
    """The words of a package or of some pages, and each place that a rule counts."""

    words: int = 0
    places: dict[str, list[str]] = field(default_factory=dict)

    def count(self, rule: str) -> int:
        """How often a rule counts."""
        return len(self.places.get(rule, []))

    def rate(self, rule: str) -> float:
        """How often a rule counts in 1,000 words."""
        return 1000 * self.count(rule) / max(1, self.words)

    def broken_rules(self) -> list[str]:
        """The rules that the text breaks. Two places never break a rule, because rates of short texts vary."""
        too_many = [
            f"{rule}: {self.rate(rule):.1f} per 1,000 words; at most {most} allowed"
            for rule, most in MOST.items()
            if self.rate(rule) > most and self.count(rule) > 2
        ]
        too_few = [
            f"{rule}: {self.rate(rule):.1f} per 1,000 words; at least {fewest} needed"
            for rule, fewest in FEWEST.items()
            if self.rate(rule) < fewest and self.words >= ENOUGH_WORDS
        ]
        return too_many + too_few


@dataclass
class Names:
    """The names that a package binds, and those of them that say nothing."""

    all: int = 0
    empty: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The share of names that say nothing."""
        return self.empty.total() / max(1, self.all)


@functools.cache
def _plain(text: str) -> str:
    """The prose of a text, without blocks of code, targets of links and addresses. Code in a line becomes one word."""
    text = _CODE.sub("code", _LINK.sub(r"\1", _COMMENT.sub("", _FENCE.sub("", text))))
    text = _EXAMPLE.sub("for example", _INITIALS.sub("", _URL.sub("code", text)))
    return "\n".join("" if _ROW_OF_CODE.search(line) else line for line in text.splitlines())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; a list's entry, a table's cell and a heading end one too."""
    for sentence in _STOP.split(_plain(text)):
        if _WORD.search(sentence):
            yield " ".join(sentence.split())


def _rules_counting(sentence: str) -> Iterator[str]:
    """The rules that count a sentence, once for each time.

    A "what" is headless if it stands in a statement ("What is added is committed at once", "lists what was found"),
    unless it follows a verb of asking, telling or knowing. For example "shows what was expected" is not counted.
    """
    lower = sentence.lower()
    yield from ["where"] * len(re.findall(r"\bwhere\b", lower))
    yield from ["if, when"] * len(re.findall(r"\b(?:if|when)\b", lower))
    yield from ["semicolon"] * sentence.count(";")
    yield from ["for example"] * len(re.findall(r"\bfor (?:example|instance)\b", lower))
    yield from ["told, said, heard"] * len(re.findall(r"\b(?:told|said|heard)\b", lower))
    yield from ["of the, a, its"] * len(re.findall(r"\bof (?:the|an?|its)\b", lower))
    yield from ["is no X"] * len(re.findall(r"\b(?:is|are|was|were) no (?!longer|more|less|fewer)\w+", lower))
    if not sentence.endswith("?"):
        yield from ["headless what"] * len(re.findall(r"\bwhat\b", _ASKING.sub("", lower)))
    if len(_WORD.findall(sentence)) > LONGEST_SENTENCE:
        yield "long sentence"


def count(texts: dict[str, str]) -> Prose:
    """The counts of some texts, each with the place that it is reported at."""
    prose = Prose()
    for place, text in texts.items():
        prose.words += len(_WORD.findall(_plain(text)))
        for sentence in sentences(text):
            for rule in _rules_counting(sentence):
                prose.places.setdefault(rule, []).append(f"{place}: {sentence}")
    return prose


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a node, at any depth. To visit their expressions too would take most of the time."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, block, ()):
            yield statement
            yield from _statements(statement)


def docstrings(file: Path) -> dict[str, str]:
    """The docstrings of a module: of itself, its classes and functions, and the strings below its attributes."""
    return {
        f"{file.relative_to(ROOT)}:{node.lineno}": _dedented(node.value.value)
        for node in _statements(_tree(file))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def asks(docstring: str) -> bool:
    """Whether the first sentence of a docstring is a question, so that a search for a statement misses it."""
    first = _END.split(_plain(docstring).strip())[0]
    word = _WORD.search(first)
    return "?" in first or (word is not None and word[0].lower() in _QUESTION_WORDS.split())


def asking_modules(files: list[Path]) -> list[str]:
    """The modules whose docstring begins with a question, with the docstring's first line."""
    named = [(file, ast.get_docstring(_tree(file)) or "") for file in files if file.suffix == ".py"]
    return [f"{file.relative_to(ROOT)}: {text.splitlines()[0]}" for file, text in named if asks(text)]


def messages(file: Path) -> dict[str, str]:
    """The texts of the exceptions that a module raises. Values in a text become one word each."""
    raised = [node.exc for node in _statements(_tree(file)) if isinstance(node, ast.Raise)]
    return {
        f"{file.relative_to(ROOT)}:{call.lineno}": "\n\n".join(map(_text, call.args))
        for call in raised
        if isinstance(call, ast.Call)
    }


def _text(expression: ast.expr) -> str:
    """The text that a literal, or a literal with values, shows."""
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) if isinstance(value, ast.Constant) else "code" for value in values)
    return ""


def commits() -> dict[str, str]:
    """The messages of all commits by their short ids. Outside of a repository there are none."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return {}
    log = subprocess.run([git, "log", "--format=%h%n%B%x00"], cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(commit.strip().split("\n", 1) for commit in log.stdout.split("\0") if "\n" in commit.strip())


def _dedented(docstring: str) -> str:
    first, *rest = docstring.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first, *(line[margin:] for line in rest)])


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node binds."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.arg():
            yield node.arg
        case ast.Name(ctx=ast.Store()):
            yield node.id
        case ast.Attribute(ctx=ast.Store()):
            yield node.attr


def _says_nothing(name: str) -> bool:
    """Whether a name holds only pronouns, participles and particles, for example `one`, `kept`, `told_apart`."""
    tokens = {token for token in name.lower().split("_") if token}
    return bool(tokens & _EMPTY) and tokens <= _EMPTY.union(_PARTICLES.split())


def names(files: list[Path]) -> Names:
    """The names that are bound in modules: each once in a function or class, however often it is assigned."""
    found = Names()
    for file in files:
        bound: set[tuple[int, str]] = set()
        scopes: list[tuple[ast.AST, int]] = [(_tree(file), 0)]
        while scopes:
            node, scope = scopes.pop()
            inside = node.lineno if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else scope
            bound |= {(scope, name) for name in _bound(node)}
            scopes += [(child, inside) for child in ast.iter_child_nodes(node)]
        found.all += len(bound)
        found.empty.update(name for _, name in bound if _says_nothing(name))
    return found


def functions(files: list[Path]) -> set[str]:
    """The names of functions and methods. Tests and properties are left out: they are sentences and fields."""
    return {
        node.name
        for file in files
        if file.suffix == ".py"
        for node in _statements(_tree(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("test_")
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    }


def headless(names: set[str]) -> set[str]:
    """The names that end or begin with "of", or hold "told" or "stated". A function is a verb or a field."""
    tokens = {name: name.strip("_").lower().split("_") for name in names}
    return {name for name, parts in tokens.items() if "of" in (parts[0], parts[-1]) or {"told", "stated"} & set(parts)}


def participles(names: set[str]) -> set[str]:
    """The names that are one participle, for example `measured`."""
    return {name for name in names if name.strip("_") in _PARTICIPLES.split() or re.fullmatch(r"_*[a-z]+[a-z]ed", name)}


def comments(files: list[Path]) -> float:
    """Comments per 1,000 lines of code, without those that speak to tools."""
    lines = found = 0
    for file in files:
        lines += len(file.read_text().splitlines())
        with file.open("rb") as stream:
            for token in tokenize.tokenize(stream.readline):
                found += token.type == tokenize.COMMENT and not re.match(r"# *(noqa|type:|ruff|pragma|!)", token.string)
    return 1000 * found / max(1, lines)


def packages() -> dict[str, list[Path]]:
    """The modules of each package below `src/fairtrial`; a module beside them is a package of its own."""
    grouped: dict[str, list[Path]] = {}
    for file in sorted((ROOT / "src" / "fairtrial").rglob("*.py")):
        name = file.relative_to(ROOT / "src" / "fairtrial").parts[0]
        grouped.setdefault(name.removesuffix(".py"), []).append(file)
    return grouped


def pages() -> list[Path]:
    """The pages of the documentation, and the pages beside the README."""
    return sorted(
        [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *(ROOT / "docs").rglob("*.md")]
    )


def read_prose(files: list[Path]) -> Prose:
    """The counts of pages, and of the docstrings of modules."""
    texts: dict[str, str] = {}
    for file in files:
        texts |= docstrings(file) if file.suffix == ".py" else {str(file.relative_to(ROOT)): file.read_text()}
    return count(texts)


def _row(title: str, files: list[Path]) -> str:
    """One line of the table for docstrings and pages, with the names and comments of modules."""
    modules = [file for file in files if file.suffix == ".py"]
    code = f"{100 * names(modules).share:>11.1f} %{comments(modules):>10.0f}" if modules else f"{'–':>13}{'–':>10}"
    return _rates(title, read_prose(files)) + code


def _rates(title: str, prose: Prose) -> str:
    """The rates of one line of the table."""
    rates = (f"{prose.rate(rule):>14.1f}" for rule in [*MOST, *FEWEST, *MEASURED])
    return f"{title:<16}{prose.words:>7}{''.join(rates)}"


def table(rows: dict[str, list[Path]]) -> Iterator[str]:
    """The lines of a table: rules, limits, and the figures of each row."""
    rules = "".join(f"{rule[:13]:>14}" for rule in [*MOST, *FEWEST, *MEASURED])
    limits = [f"<= {most}" for most in MOST.values()] + [f">= {fewest}" for fewest in FEWEST.values()]
    limits += ["none"] * len(MEASURED)
    yield f"{'per 1,000':<16}{'words':>7}{rules}{'empty names':>13}{'comments':>10}"
    yield f"{'limit':<16}{'':>7}" + "".join(f"{limit:>14}" for limit in limits) + f"{'<= 1 %':>13}"
    for title, files in rows.items():
        yield _row(title, files)


def places(files: list[Path]) -> Iterator[str]:
    """Each place that a rule of MOST counts, the modules that begin with a question, and the names that say nothing."""
    prose = read_prose(files)
    for rule in MOST:
        yield from (f"{rule:>18}  {place}" for place in prose.places.get(rule, []))
    yield from (f"{'question':>18}  {place}" for place in asking_modules(files))
    empty = names([file for file in files if file.suffix == ".py"]).empty
    yield f"{'empty names':>18}  " + ", ".join(f"{name} {times}" for name, times in empty.most_common())


def files_below(path: Path) -> list[Path]:
    """The modules and pages of a folder, or the file itself."""
    return sorted([*path.rglob("*.py"), *path.rglob("*.md")]) if path.is_dir() else [path]


def _lines(arguments: list[str]) -> Iterator[str]:
    """The lines that the script prints."""
    if not arguments:
        source = files_below(ROOT / "src")
        whole = {"src": source, "tests": files_below(ROOT / "tests"), "documentation": pages()}
        yield from table(packages() | whole)
        yield _rates("messages", count({place: text for file in source for place, text in messages(file).items()}))
        yield _rates("commits", count(commits()))
    for argument in arguments:
        files = files_below(Path(argument).resolve())
        yield from table({argument[-16:]: files})
        yield from places(files)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in _lines(sys.argv[1:]))

"""Everything that the documentation shows works.

Each page runs in a folder of its own that holds `examples/`, block by block:

- a block with `title="NAME"` is saved under the name;
- other Python runs as a script, and each line of `sh` as a command;
- `text` directly below a command is its output, or its errors if it has no output;
- `console` is a command on files that the project does not hold, and does not run here;
- other JSON is read, and used if it is a configuration.

Models are played by a server on this machine. It gives the right answer to questions with known answers, and the first
allowed answer to every other question.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from commands import fairtrial
from fairtrial import api, cli
from fairtrial.reports.schemas import schema
from fairtrial.reports.views.attempt_shapes import ReportView
from forked_commands import PROGRAMS, run_forked
from known_answers import by_rule, perfect
from loopback import Loopback, Request

ROOT = Path(__file__).parent.parent
FIRST_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
OTHER_PAGES = FIRST_PAGES[1:]
PAGES = sorted([*FIRST_PAGES, *ROOT.glob("README.*.md"), *(ROOT / "docs").rglob("*.md")])
TRANSLATIONS = {*runpy.run_path(str(ROOT / "docs" / "translations.py"))["find_translations"]()}
"""Their code is that of their sources, which a test of its own says."""
SLOW_PAGES = {
    *(
        "docs/how-to/check-a-judge-against-people.md",
        "docs/how-to/check-a-judge-model.md",
        "docs/how-to/find-out-why.md",
    ),
    *("docs/how-to/redact-files.md", "docs/how-to/test-a-skill.md", "docs/how-to/test-your-evaluation.md"),
    *("docs/reference/errors.md", "docs/tutorial/first-skill.md"),
    *("README.md", "docs/tutorial/first-build.md", "docs/tutorial/first-judge.md"),
}
"""Their commands take a second or more together."""
FORKED = tuple(f"{program} " for program in PROGRAMS)
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SUBSTITUTION = re.compile(r"\$\((fairtrial [^()]*)\)")
_QUOTED = re.compile(r"'[^']*'")
_SYNTAX_OF_SHELLS = re.compile(r"[|&;<>$*?`#\\]|^\w+=")
_LINK = re.compile(r"\]\((?!\w+://)([^)#]*)(?:#([^)]*))?\)")


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    title: str
    code: str
    follows: bool
    """Whether only a blank line stands between this block and the one before."""


def blocks(page: str) -> Iterator[Block]:
    """The blocks of code of a page, in order."""
    end = -1
    for match in _BLOCK.finditer(page):
        yield Block(match[1], match[2] or "", match[3], follows=match.start() == end + 2)
        end = match.end()


def _first_answer(request: Request) -> str:
    """A reply of the server that plays every model: a known answer, or the first possible answer."""
    if request.schema is None:
        return "Thank you. </finished>"
    with suppress(LookupError):
        if "careless" in request.model:
            raise LookupError
        return by_rule(perfect)(request)
    fenced = re.search(r"<<<[A-Z]+ [^>]*>>>\n(.*)", request.text)
    return request.answers(quote=fenced[1] if fenced else "")


class Reader:
    """Someone who follows a page in a folder, block by block."""

    def __init__(self, folder: Path, server: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.folder = folder
        self.stdout = ""
        self._environment = {**os.environ, "PATH": path, "COLUMNS": "120", "OPENAI_BASE_URL": f"{server}/v1"}

    def follow(self, block: Block) -> None:
        """Do as a block says; raises AssertionError if it does not work."""
        if block.title:
            (self.folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.title).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            done = self._run_forked(["python", "-c", block.code])
            assert done.returncode == 0, f"{block.code}\n{done.stderr}"
        elif block.language == "sh":
            for line in block.code.splitlines():
                self._command(line)
        elif block.language == "text" and block.follows:
            assert comparable(self.stdout) == comparable(block.code)
        if block.language == "json":
            self._configuration(block)

    def _command(self, line: str) -> None:
        """Run a command; it exits with 0, or with what the comment behind it says."""
        command, _, code = line.partition("  # exits with ")
        command = _SUBSTITUTION.sub(lambda inner: self._run_forked(shlex.split(inner[1])).stdout.strip(), command)
        is_simple = command.startswith(FORKED) and not _SYNTAX_OF_SHELLS.search(_QUOTED.sub("", command))
        done = self._run_forked(shlex.split(command)) if is_simple else self._run(["bash", "-c", command])
        assert done.returncode == int(code or 0), f"{command}\n{done.stdout}{done.stderr}"
        self.stdout = done.stdout or done.stderr

    def _configuration(self, block: Block) -> None:
        """Read JSON, and check a configuration as `fairtrial check` does, apart from extras that are missing here."""
        shown = json.loads(block.code)
        if "criteria" not in shown or "custom_metrics" in shown:
            return
        path = self.folder / (block.title or "shown_config.json")
        path.write_text(block.code, encoding="utf-8")
        (checked,) = api.check([str(path)])
        assert not [problem for problem in checked.problems if "needs the extra" not in problem]
        if not block.title:
            path.unlink()

    def _run(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )

    def _run_forked(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return run_forked(arguments, folder=self.folder, environment=self._environment)


def comparable(output: str) -> str:
    """An output without the parts that differ between two runs: ids, times, and the widths of columns."""
    lines = [line.rstrip() for line in output.splitlines() if "invocation_duration_v1" not in line]
    text = re.sub(r"\d{8}-\d{6}-\w{6}|\d+\.\d+ m?s\b|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "…", "\n".join(lines))
    text = re.sub(r"(?<=127\.0\.0\.1:)\d+", "…", text)
    return re.sub(r"(?<=\S) {2,}", "  ", re.sub("─+", "─", text)).strip()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader in a folder with the examples, and with a server that plays models."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    with Loopback(_first_answer) as server:
        server.models = ["gpt-4o-mini", "careless-model"]
        yield Reader(tmp_path, server.url)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=[pytest.mark.long] if name in SLOW_PAGES else [])
        for page in PAGES
        if page not in TRANSLATIONS
        for name in [page.relative_to(ROOT).as_posix()]
    ],
)
def test_page_works(page: Path, reader: Reader) -> None:
    """Whoever follows a page from its first block to its last gets what the page shows."""
    for block in blocks(page.read_text()):
        reader.follow(block)


def test_each_block_runs_or_the_contributors_read_why_not() -> None:
    """A row of CONTRIBUTING.md says of each kind of block what happens to it. Data is read."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Write a block of code")[2]
    known = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table.partition("\n## ")[0], re.MULTILINE))))
    followed = [
        block for page in PAGES if page not in OTHER_PAGES for block in blocks(page.read_text(encoding="utf-8"))
    ]
    assert {block.language for block in followed if not block.title} - known == set()
    readers = {
        "yaml": yaml.safe_load,
        "toml": tomllib.loads,
        "jsonl": lambda text: [*map(json.loads, text.splitlines())],
    }
    for block in followed:
        if block.language in readers:
            assert readers[block.language](block.code), block.code


@pytest.mark.shared
def test_real_traces_of_langfuse_give_the_output_on_their_page(reader: Reader, shared: Path) -> None:
    """The page cannot hold the traces. Its block `console` runs on them, and the next block of text is its output."""
    page = list(blocks((ROOT / "docs" / "how-to" / "score-platform-traces.md").read_text(encoding="utf-8")))
    (reader.folder / "traces").symlink_to(shared / "data" / "traces")
    for block in page:
        if block.title:
            reader.follow(block)
    place = next(place for place, block in enumerate(page) if block.language == "console")
    reader.follow(page[place]._replace(language="sh", code=page[place].code.rstrip() + "  # exits with 1"))
    reader.follow(page[place + 1]._replace(follows=True))


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "docs" / "how-to" / "traces").glob("*.md")))
def test_traces_of_a_tool_give_the_output_on_its_page(name: str, reader: Reader, shared: Path) -> None:
    """The commands of fairtrial run on real files, and the next block of text is their output."""
    page = list(blocks((ROOT / "docs" / "how-to" / "traces" / f"{name}.md").read_text(encoding="utf-8")))
    (reader.folder / "traces").symlink_to(shared / "data" / "traces")
    for command, output in pairwise(page):
        if command.code.startswith("fairtrial "):
            reader.follow(command._replace(language="sh"))
            reader.follow(output._replace(follows=True))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every link of a page leads to a file of the project, and to a heading of that file."""
    for target, heading in _LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not heading or heading in _headings(file), f"{target}#{heading}"


def _headings(file: Path) -> set[str]:
    """The anchors of a page's headings, spelt as GitHub spells them."""
    titles = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


GENERATED = runpy.run_path(str(ROOT / "docs" / "generate.py"))["PAGES"]


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: str(path.name))
def test_generated_pages_are_up_to_date(path: Path) -> None:
    """The pages that `make docs` writes stand as it would write them now."""
    assert path.read_text(encoding="utf-8") == GENERATED[path](), "run `make docs`"


def test_the_documentation_is_short() -> None:
    """The English pages that people write hold at most 60,000 words outside of their code."""
    made = "<!-- `make docs` writes this page. -->"
    pages = [path.read_text(encoding="utf-8") for path in PAGES if path not in TRANSLATIONS and path not in OTHER_PAGES]
    written = [page for page in pages if not page.startswith(made)]
    assert len(pages) - len(written) >= 9
    assert 40_000 < sum(map(_count_words, written)) <= 60_000


def _count_words(page: str) -> int:
    """The words with a letter or a digit outside of the blocks of code."""
    prose = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.DOTALL | re.MULTILINE)
    return sum(any(map(str.isalnum, word)) for word in prose.split())


def test_words_of_code_and_lines_of_tables_do_not_count() -> None:
    """A word has a letter or a digit in it. Code inside of a sentence is a part of it."""
    assert _count_words("# A table\n\n| a | 1 |\n|---|---|\n\n```sh\nls -l\n```\n\n- Write `ls -l` – done.\n") == 8


def test_every_extra_is_documented() -> None:
    """Each extra of the package stands on the page about the installation, and so does what `all` leaves out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    assert [name for name in extras if f"`{name}`" not in page] == []
    in_all = set(extras["all"][0].partition("[")[2].rstrip("]").split(","))
    in_all |= {name for name in extras if set(extras[name]) <= {f"fairtrial[{other}]" for other in in_all}}
    row = re.search(r"^\| `all` .*$", page, re.MULTILINE)
    assert row
    assert {name for name in extras if not name.startswith("agents-")} - in_all == {
        *re.findall(r"`([\w-]+)`", row[0].partition(" but ")[2])
    } | {"all"}


def _all_help(name: str) -> str:
    """The help of a command with its rare options."""
    done = fairtrial(name, "--help-all")
    return done.out if done.code == 0 else fairtrial(name, "--help").out


def test_every_option_is_documented() -> None:
    """Each option of each command stands on the page of the command line."""
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    for name in cli.COMMANDS:
        section = page.partition(f"\n## fairtrial {name}\n")[2]
        options = re.findall(r"(?<=[ ,])--[a-z-]+", _all_help(name))
        assert section, name
        assert [option for option in options if option not in section and option not in ("--help", "--help-all")] == []


def test_every_key_of_the_report_is_documented() -> None:
    """Each property of the report's schema stands on the page of the JSON report."""
    described = schema((ReportView,))
    names = ("report-schema.md", "trust-schema.md")  # a decision stands in both documents
    page = "".join((ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") for name in names)
    keys = {key for shape in described["$defs"].values() for key in shape.get("properties", {})}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_contributing_names_places_that_exist() -> None:
    """Each module and folder that CONTRIBUTING.md names is in the project, from its root or from the package."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([\w./-]+/[\w./-]*)`", page) if "NAME" not in name and name[0] != "."]
    assert len(named) > 15
    assert [name for name in named if not any((ROOT / base / name).exists() for base in ("", "src/fairtrial"))] == []


def test_every_page_can_be_reached() -> None:
    """Each page of the documentation is linked from another page."""
    linked = {
        (page.parent / target).resolve() for page in PAGES for target, _ in _LINK.findall(page.read_text()) if target
    }
    assert [str(page) for page in PAGES if page not in linked and not page.name.startswith("README.")] == []

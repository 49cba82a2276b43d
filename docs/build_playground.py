"""Builds the playground of the site: Python in a browser, which scores dropped files. Nothing leaves the browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regex

import fairtrial
from fairtrial.reports.page_shell import asset, source_hash

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SOURCES = DOCS / "playground"
PYODIDE = ROOT / "ui" / "node_modules" / "pyodide"
_RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_PACKAGES = ("click", "msgspec", "python-dotenv", "rich", "sqlalchemy", "typing-extensions")
"""What scoring without a model imports. The versions are those of the site's environment."""
_PLATFORM = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--implementation", "cp")
"""The platform of the wheels for Pyodide 314, which PEP 783 names."""
_LEFT_OUT = re.compile(
    r"\.dist-info/(?!METADATA)|^(?!fairtrial/).*\.pyi$|/locale/"
    r"|^sqlalchemy/(?:orm|ext|testing|dialects/(?:postgresql|oracle|mssql|mysql))/"
    r"|^fairtrial/(?:cli|pytest_plugin|examples|starter)/"
)
"""Parts of packages that no file in a browser needs."""
_EXAMPLE = {"openai.json": "example.json", "order.evalset.json": "example.evalset.json"}


def build_playground(target: Path) -> None:
    """Write the page and everything that it loads into a folder."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "pyodide").mkdir(parents=True)
    for name in _RUNTIME:
        shutil.copyfile(PYODIDE / name, target / "pyodide" / name)
    with tempfile.TemporaryDirectory() as folder:
        wheels = [*_own_wheel(Path(folder)), *_other_wheels(Path(folder) / "others")]
        _pack(wheels, Path(folder) / "sources.zip")
        compiler: list[str | Path] = ["node", SOURCES / "compile_modules.mjs", PYODIDE]
        subprocess.run([*compiler, Path(folder) / "sources.zip", target / "packages.zip"], check=True)
        example = [sys.executable, "-m", "fairtrial", "init", folder, "--example", "openai"]
        subprocess.run(example, check=True, stdout=subprocess.DEVNULL)
        for source, name in _EXAMPLE.items():
            shutil.copyfile(Path(folder) / source, target / name)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    (target / "index.html").write_text(page(size), encoding="utf-8")


def page(size: int) -> str:
    """Return the page. It takes no script but its own and those of this site, and sends no file anywhere."""
    worker = (SOURCES / "worker.js").read_text("utf-8")
    texts = json.loads((SOURCES / "texts.json").read_text("utf-8"))
    constants = f"const WORKER = {json.dumps(worker)};\nconst TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    script = constants + (SOURCES / "page.js").read_text("utf-8")
    style = (SOURCES / "page.css").read_text("utf-8")
    policy = "; ".join(
        [
            "default-src 'none'",
            # The frame of the report takes over this policy, and adds its own, which allows no request.
            f"script-src 'self' 'wasm-unsafe-eval' '{source_hash(script)}' '{source_hash(asset('report.js'))}'",
            f"style-src '{source_hash(style)}' '{source_hash(asset('report.css'))}'",
            "connect-src 'self'",
            "worker-src blob:",
            "frame-src blob:",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    template = (SOURCES / "index.html").read_text("utf-8")
    for name, text in {"policy": policy, "style": style, "script": script, "size": f"{size / 1e6:.0f}"}.items():
        template = template.replace(f"{{{name}}}", text)
    return template


def _own_wheel(folder: Path) -> Iterator[Path]:
    _pip("wheel", "--no-deps", "--build-constraint", ROOT / "constraints-build.txt", "--wheel-dir", folder, ROOT)
    yield from folder.glob("*.whl")


def _other_wheels(folder: Path) -> Iterator[Path]:
    options = (
        "--no-deps",
        "--only-binary",
        ":all:",
        *_PLATFORM,
        "--abi",
        "cp314",
        "--abi",
        "none",
        "--platform",
        "any",
    )
    _pip("download", *options, "--constraint", ROOT / "constraints-site.txt", "--dest", folder, *_PACKAGES)
    yield from folder.glob("*.whl")


def _pip(command: str, *arguments: str | Path) -> None:
    program = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(program, check=True)


def _pack(wheels: list[Path], target: Path) -> None:
    """Write the files of wheels, and those of the playground, into one archive."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as packed:
                for name in packed.namelist():
                    if not name.endswith("/") and not _LEFT_OUT.search(name):
                        archive.writestr(name, packed.read(name))
        for source in SOURCES.glob("*.py"):
            archive.write(source, source.name.removeprefix("browser_"))
        archive.writestr("properties.json", json.dumps(property_ranges()))


def property_ranges() -> dict[str, str]:
    """Return the characters of each property in the package's expressions, as ranges of a class for `re`."""
    sources = Path(fairtrial.__file__).parent.rglob("*.py")
    names = {name for source in sources for name in re.findall(r"\\p\{(\w+)\}", source.read_text("utf-8"))}
    return {name: _ranges(regex.compile(rf"\p{{{name}}}+")) for name in sorted(names)}


def _ranges(pattern: Any) -> str:
    everything = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    spans = [(match[0][0], match[0][-1]) for match in pattern.finditer(everything)]
    return "".join(rf"\U{ord(first):08X}-\U{ord(last):08X}" for first, last in spans)


if __name__ == "__main__":
    build_playground(Path(sys.argv[1]))

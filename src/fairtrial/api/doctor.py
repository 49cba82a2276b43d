"""Examine an installation: packages against their floors, keys, the store, programs and plugins."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, entry_points, metadata, version
from pathlib import Path

from fairtrial.agents import COMMAND_LINE_AGENTS, PLUGINS, find_agent
from fairtrial.api.conversations import check_target
from fairtrial.errors import FairtrialError, list_packages
from fairtrial.llm.known_providers import PROVIDERS
from fairtrial.reports.decisions.listing_documents import ExaminedPart, PartState
from fairtrial.system.event_loop import blocking
from fairtrial.system.importing import is_older, read_floor
from fairtrial.text.display import shorten
from fairtrial.version import __version__

_PROGRAMS = (*COMMAND_LINE_AGENTS, "bwrap", "docker", "git")
_GROUPED = ("all", "adk", "azure", "groq", "mistral", "ollama", "openrouter")
"""Extras that only join others."""
_LONGEST = 120


def examine_installation(store: str) -> list[ExaminedPart]:
    """Return the state of each part of this installation. No key is shown, and nothing is written."""
    return [
        ExaminedPart("fairtrial", "fairtrial", "ok", __version__),
        ExaminedPart("fairtrial", "Python", "ok", f"{sys.version.partition(' ')[0]}, {sys.executable}"),
        *_examine_extras(),
        *_examine_keys(),
        _examine_store(store),
        *_examine_fonts(),
        *_examine_programs(),
        *_examine_plugins(),
    ]


def examine_target(target: str) -> list[ExaminedPart]:
    """Return the findings about an MCP server, the card of an A2A agent, or whether another target can be used.

    An MCP server gets calls that must fail, and no others. Raises UsageError if a server does not answer.
    """
    kind, _, rest = target.partition(":")
    if kind == "mcp":
        from fairtrial.agents.target_checks.mcp_checks import check_mcp_server

        find_agent(target)
        results = blocking(check_mcp_server(rest.partition("#")[0]))
    elif kind == "a2a":
        from fairtrial.agents.target_checks.a2a_checks import check_a2a_card

        find_agent(target)
        results = blocking(check_a2a_card(rest))
    else:
        agent = find_agent(target)
        blocking(check_target(agent))
        return [ExaminedPart("agent", target, "ok", type(agent).__name__)]
    return [
        ExaminedPart(kind, own.subject, "broken" if own.problem else "ok", own.problem or own.detail) for own in results
    ]


def _examine_extras() -> Iterator[ExaminedPart]:
    try:
        extras = metadata("fairtrial").get_all("Provides-Extra") or []
    except PackageNotFoundError:
        extras = []
    for extra in sorted(extras):
        packages = [package for package in list_packages(extra) if not package.startswith("fairtrial")]
        if extra in _GROUPED or not packages:
            continue
        findings = [_examine_package(package) for package in packages]
        states = {state for state, _ in findings}
        state: PartState = "broken" if "broken" in states else "absent" if "absent" in states else "ok"
        yield ExaminedPart("extra", extra, state, ", ".join(detail for _, detail in findings))


def _examine_package(requirement: str) -> tuple[PartState, str]:
    """Return the state of an installed package against its floor, with both versions."""
    name, floor = read_floor(requirement)
    try:
        installed = version(name)
    except PackageNotFoundError:
        return "absent", f"{name} is not installed"
    if floor and is_older(installed, floor):
        return "broken", f"{name} {installed} is older than {floor}"
    return "ok", f"{name} {installed}"


def _examine_keys() -> Iterator[ExaminedPart]:
    for name, provider in PROVIDERS.items():
        keys = [key for key in provider.keys if os.environ.get(key)]
        urls = [variable for variable in provider.url_variables if os.environ.get(variable)]
        state: PartState = "ok"
        if provider.has_sign_in and not provider.keys:
            detail = "signs in itself"
        elif not provider.needs_key:
            detail = "needs no key"
        elif keys:
            detail = f"{keys[0]} is set"
        else:
            detail, state = f"set {' or '.join(provider.keys)}", "absent"
        address = f"; the address is {urls[0]}" if urls else ""
        yield ExaminedPart("key", name, state, f"{detail}{address}")


def _examine_store(url: str) -> ExaminedPart:
    from fairtrial.api.stores import open_store
    from fairtrial.store import show_url

    shown = show_url(url)
    path = url.partition("sqlite:///")[2]
    if path and not Path(path).exists():
        return ExaminedPart("store", shown, "absent", "the first run makes it")
    try:
        open_store(url, create=False).close()
    except FairtrialError as error:
        return ExaminedPart("store", shown, "broken", shorten(str(error), _LONGEST))
    return ExaminedPart("store", shown, "ok")


def _examine_fonts() -> Iterator[ExaminedPart]:
    """Yield whether plots can show Chinese, Japanese and Korean names."""
    try:
        from matplotlib import font_manager
    except ImportError:
        return
    names = {font.name for font in font_manager.fontManager.ttflist}
    fonts = sorted(name for name in names if "CJK" in name or "Noto Sans JP" in name or "WenQuanYi" in name)
    detail = fonts[0] if fonts else "plots show boxes for Chinese, Japanese and Korean; install Noto Sans CJK"
    yield ExaminedPart("font", "CJK", "ok" if fonts else "absent", detail)


def _examine_programs() -> Iterator[ExaminedPart]:
    for name in _PROGRAMS:
        path = shutil.which(name)
        yield ExaminedPart("program", name, "ok" if path else "absent", path or "is not on PATH")


def _examine_plugins() -> Iterator[ExaminedPart]:
    for entry_point in sorted(entry_points(group=PLUGINS), key=lambda plugin: plugin.name):
        try:
            entry_point.load()
        except Exception as error:  # noqa: BLE001  (the module of a stranger may raise anything)
            yield ExaminedPart(
                "plugin", entry_point.name, "broken", shorten(f"{type(error).__name__}: {error}", _LONGEST)
            )
        else:
            yield ExaminedPart("plugin", entry_point.name, "ok", entry_point.value)

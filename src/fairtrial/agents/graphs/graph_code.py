"""Search the code of a graph for a question to the user, without running it."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from fairtrial.system.importing import import_extra

_LIBRARIES = ("langgraph", "langchain", "langchain_core")
"""Packages whose own globals no node of a user asks with."""
_RUNNABLES = ("nodes", "bound", "steps", "steps__", "branches", "runnable", "default", "mapper", "func", "afunc")
_TOOLS = ("coroutine", "_tools_by_name", "_wrap_tool_call", "_awrap_tool_call")
_METHODS = ("__call__", "_run", "_arun")
_MOST_PARTS = 5000


def may_interrupt(graph: Any) -> bool:
    """Whether a graph calls LangGraph's `interrupt` in a node, in a tool, or in a function that they call by name.

    Code that is reached in another way is not found, for example through an entry of a registry.
    """
    asks = import_extra("langgraph.types", "agents-langgraph").interrupt
    waiting: list[Any] = [graph]
    by_id: dict[int, Any] = {}  # an object that is held keeps its id
    while waiting and len(by_id) < _MOST_PARTS:
        part = waiting.pop()
        if part is asks:
            return True
        if id(part) not in by_id:
            by_id[id(part)] = part
            waiting += _parts(part)
    return False


def _parts(part: Any) -> Iterable[Any]:
    """Return the objects that may run if an object runs. No code of the user is called, also none of a proxy."""
    kind = type(part)
    if kind is types.FunctionType:
        return _parts_of_function(part)
    if kind is types.MethodType:
        return _parts_of_method(part)
    if issubclass(kind, functools.partial):
        return [part.func, *part.args, *part.keywords.values()]
    if issubclass(kind, dict | list | tuple | set | frozenset):
        return list(part.values() if issubclass(kind, dict) else part)
    return () if issubclass(kind, type | types.ModuleType | str | bytes) else _parts_of_object(part)


def _parts_of_object(part: Any) -> Iterable[Any]:
    """Return the functions and runnables in a runnable or a tool, and the methods that run it."""
    try:
        own = object.__getattribute__(part, "__dict__")
    except Exception:  # noqa: BLE001  (a proxy may refuse)
        own = {}
    methods = (inspect.getattr_static(type(part), name, None) for name in _METHODS)
    return [*(own[name] for name in (*_RUNNABLES, *_TOOLS) if name in own), *filter(inspect.isfunction, methods)]


def _parts_of_method(method: types.MethodType) -> Iterable[Any]:
    """Return the function of a method, and what it may call from its object."""
    names = _names(method.__func__.__code__) if inspect.isfunction(method.__func__) else ()
    return [method.__func__, *(inspect.getattr_static(method.__self__, name, None) for name in names)]


def _parts_of_function(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value
            continue
    if str(function.__module__).partition(".")[0] in _LIBRARIES:
        return
    names = _names(function.__code__)
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    imported = (sys.modules.get(name) for name in names)  # a function may import by itself
    modules = [value for value in (*values, *imported) if issubclass(type(value), types.ModuleType)]
    yield from values
    yield from (vars(module)[name] for module in modules for name in names if name in vars(module))


def _names(code: types.CodeType) -> set[str]:
    """Return the names of globals, modules and attributes in code, and in the functions inside it."""
    inner = (_names(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*inner)

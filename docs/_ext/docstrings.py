"""Python pages from docstrings: Markdown, with Google-style `Args`, `Returns` and `Raises`."""

from __future__ import annotations

import inspect
import re
import textwrap
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

HEADS = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises", "Yields": "Yields", "Attributes": "Attributes"}


def module_page(module: ModuleType) -> str:
    """The page of a public module: what its `__all__` names."""
    out = [
        f"# `{module.__name__}`\n",
        f"```{{py:currentmodule}} {module.__name__}\n```\n",
        markdown(module.__doc__ or ""),
    ]
    names = [n for n in getattr(module, "__all__", ()) if not n.startswith("_")]
    for name in names:
        item = getattr(module, name, None)
        if inspect.isclass(item) and not item.__module__.startswith(("lasthop", "_core")):
            continue  # somebody else's class, re-exported for type annotations
        out.append(class_section(name, item, module) if inspect.isclass(item) else function_section(name, item, module))
    return "\n".join(out)


def class_section(name: str, cls: type[Any], module: ModuleType) -> str:
    """A class, its properties and its methods."""
    init = getattr(cls, "__init__", None) if "__init__" in vars(cls) else None
    head = f"`````{{py:class}} {name}{signature(init, drop_first=True) if init else ''}\n:module: {module.__name__}\n"
    out = [f"## {name}\n", head, markdown(own_doc(cls))]
    for member, kind, raw in members(cls):
        doc = markdown(inspect.getdoc(raw) or "")
        if kind == "attribute":
            out.append(f"````{{py:attribute}} {member}{annotation_of(raw)}\n:no-index-entry:\n\n{doc}\n````\n")
        else:
            flag = {"class": ":classmethod:\n", "static": ":staticmethod:\n"}.get(kind, "")
            sig = signature(getattr(cls, member) if kind == "class" else raw, drop_first=kind == "method")
            out.append(f"````{{py:method}} {member}{sig}\n{flag}\n{doc}\n````\n")
    out.append("`````\n")
    return "\n".join(out)


def own_doc(cls: type[Any]) -> str:
    """A class's docstring, not that of a base, nor the one that `dataclass` makes of the fields."""
    doc = inspect.cleandoc(vars(cls).get("__doc__") or "")
    return "" if doc.startswith(f"{cls.__name__}(") else doc


def function_section(name: str, item: Any, module: ModuleType) -> str:
    """A function, or a value."""
    if not callable(item):
        return f"## {name}\n\n```{{py:data}} {name}\n:module: {module.__name__}\n```\n"
    doc = markdown(inspect.getdoc(item) or "")
    return f"## {name}\n\n````{{py:function}} {name}{signature(item)}\n:module: {module.__name__}\n\n{doc}\n````\n"


def members(cls: type[Any]) -> Iterator[tuple[str, str, Any]]:
    """Public members in the order of the source: (name, kind, object with the docstring)."""
    for name, raw in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(raw, (property, cached_property)):
            yield name, "attribute", raw.fget if isinstance(raw, property) else raw.func
        elif isinstance(raw, classmethod):
            yield name, "class", raw.__func__
        elif isinstance(raw, staticmethod):
            yield name, "static", raw.__func__
        elif inspect.isfunction(raw) and raw.__module__.startswith("lasthop"):
            yield name, "method", raw


def signature(function: Any, drop_first: bool = False) -> str:
    """The signature as Python writes it; without `self` if asked."""
    try:
        sig = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = list(sig.parameters.values())[1 if drop_first else 0 :]
    text = str(sig.replace(parameters=parameters))
    # Annotations are texts already (`from __future__ import annotations`): without their quotes.
    text = re.sub(r"'([^']*)'", lambda m: m.group(1) if is_annotation(text, m.start()) else m.group(0), text)
    return text.replace(" -> None", "") if text.endswith(" -> None") else text


def is_annotation(text: str, at: int) -> bool:
    """True if the quoted text at `at` follows `: ` or `-> `."""
    return text[:at].endswith((": ", "-> "))


def annotation_of(getter: Any) -> str:
    """`: type` of a property, as an option line."""
    returns = getattr(getter, "__annotations__", {}).get("return")
    return f"\n:type: {returns}" if returns else ""


def markdown(doc: str) -> str:
    """A docstring as Markdown: sections become lists, indented examples become Python code."""
    lines = inspect.cleandoc(doc).splitlines()
    out: list[str] = []
    i = 0
    while i < len(lines):
        head = re.fullmatch(r"(\w+):", lines[i])
        if head and head.group(1) in HEADS:
            i += 1
            block = []
            while i < len(lines) and (not lines[i].strip() or lines[i].startswith(" ")):
                block.append(lines[i])
                i += 1
            out += [f"**{HEADS[head.group(1)]}**\n", *definition_items(textwrap.dedent("\n".join(block))), ""]
            continue
        if lines[i].startswith("    ") or lines[i].startswith(">>> "):
            block = []
            while i < len(lines) and (
                lines[i].startswith(("    ", ">>> ")) or not lines[i].strip() or in_doctest(block, lines[i])
            ):
                block.append(lines[i])
                i += 1
            out += ["", "```python", *textwrap.dedent("\n".join(block)).rstrip().splitlines(), "```", ""]
            continue
        out.append(lines[i])
        i += 1
    return "\n".join(out).rstrip() + "\n"


def in_doctest(block: list[str], line: str) -> bool:
    """True if `line` is the output of a doctest line above it."""
    return bool(block) and block[0].startswith(">>> ") and bool(block[-1].strip()) and bool(line.strip())


def definition_items(block: str) -> list[str]:
    """`name: text` entries as a list; continuation lines stay with their entry."""
    items: list[str] = []
    for line in block.splitlines():
        entry = re.match(r"(\*{0,2}\w[\w.]*(?: \([^)]*\))?): (.*)", line)
        if entry:
            items.append(f"- `{entry.group(1)}`: {entry.group(2)}")
        elif line.strip() and items:
            items[-1] += " " + line.strip()
        elif line.strip():
            items.append(f"- {line.strip()}")
    return items

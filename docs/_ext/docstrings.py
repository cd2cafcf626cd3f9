"""Python pages from docstrings: Markdown, with Google-style `Args`, `Returns` and `Raises`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

HEADS = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises", "Yields": "Yields", "Attributes": "Attributes"}


def module_page(module: ModuleType, only: Sequence[str] = ()) -> str:
    """The page of a public module: what its `__all__` names, or what `only` does."""
    out = [
        f"# `{module.__name__}`\n",
        f"```{{py:currentmodule}} {module.__name__}\n```\n",
        markdown(module.__doc__ or ""),
    ]
    names = only or [n for n in getattr(module, "__all__", ()) if not n.startswith("_")]
    for name in names:
        item = getattr(module, name, None)
        if inspect.isclass(item) and not item.__module__.startswith(("lasthop", "_core")):
            continue  # a class of another package, re-exported for type annotations
        out.append(class_section(name, item, module) if inspect.isclass(item) else function_section(name, item, module))
    return "\n".join(out)


def class_section(name: str, cls: type[Any], module: ModuleType) -> str:
    """A class, its properties and its methods."""
    if (stub := extension_classes().get(name)) and cls.__module__ in ("lasthop", "lasthop._core"):
        return stub_section(stub, module)
    init = getattr(cls, "__init__", None) if "__init__" in vars(cls) else None
    head = f"`````{{py:class}} {name}{signature(init, drop_first=True) if init else ''}\n:module: {module.__name__}\n"
    out = [f"## {name}\n", head, markdown(own_doc(cls))]
    for field, kind, doc in fields(cls):
        out.append(attribute(field, kind, doc))
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


@cache
def extension_classes() -> dict[str, ast.ClassDef]:
    """The classes of the extension module by name, from its stub."""
    stub = Path(__file__).resolve().parents[2] / "python" / "lasthop" / "_core.pyi"
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def stub_section(cls: ast.ClassDef, module: ModuleType) -> str:
    """A class of the extension module, as its stub describes it."""
    out = [
        f"## {cls.name}\n",
        f"`````{{py:class}} {cls.name}\n:module: {module.__name__}\n",
        markdown(ast.get_docstring(cls) or ""),
    ]
    functions = [node for node in cls.body if isinstance(node, ast.FunctionDef)]
    settable = {node.name for node in functions if any("setter" in ast.unparse(d) for d in node.decorator_list)}
    for node, after in zip(cls.body, [*cls.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            out.append(attribute(ast.unparse(node.target), ast.unparse(node.annotation), text_of(after) or ""))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            decorators = [ast.unparse(d) for d in node.decorator_list]
            doc = ast.get_docstring(node) or ""
            if decorators == ["property"]:
                more = "" if not settable else " May be set." if node.name in settable else " Read only."
                out.append(attribute(node.name, ast.unparse(node.returns) if node.returns else "", doc + more))
            elif not decorators:
                arguments = [
                    f"{a.arg.lstrip('_')}: {ast.unparse(a.annotation)}" for a in node.args.args[1:] if a.annotation
                ]
                returns = ast.unparse(node.returns) if node.returns else "None"
                arrow = "" if returns == "None" else f" -> {returns}"
                out.append(f"````{{py:method}} {node.name}({', '.join(arguments)}){arrow}\n\n{markdown(doc)}\n````\n")
    out.append("`````\n")
    return "\n".join(out)


def text_of(node: ast.stmt | None) -> str | None:
    """The string that a statement consists of, which describes the attribute before it.

    None: another statement.
    """
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return None


def attribute(name: str, kind: str, doc: str) -> str:
    """An attribute of a class with its type."""
    typed = f":type: {kind}\n" if kind else ""
    return f"````{{py:attribute}} {name}\n{typed}:no-index-entry:\n\n{markdown(doc)}\n````\n"


def fields(cls: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Fields of a dataclass that the docstring does not list: (name, type, what the source says).

    The text of a field is the comment `#:` above it, or the string below it.
    """
    if not dataclasses.is_dataclass(cls):
        return
    source = textwrap.dedent(inspect.getsource(cls))
    lines = source.splitlines()
    body = next(n for n in ast.parse(source).body if isinstance(n, ast.ClassDef)).body
    listed = own_doc(cls)
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        name = node.target.id
        if name.startswith("_") or re.search(rf"^ +{name}: ", listed, re.MULTILINE):
            continue
        yield name, ast.unparse(node.annotation), said_of(node, after, lines)


def said_of(node: ast.stmt, after: ast.stmt | None, lines: Sequence[str]) -> str:
    """What the source says of a field or a value.

    The string below it, else the comment `#:` above it.
    """
    if (text := text_of(after)) is not None:
        return text
    above = node.lineno - 1
    while above and lines[above - 1].strip().startswith("#:"):
        above -= 1
    return " ".join(line.strip()[2:].strip() for line in lines[above : node.lineno - 1])


def value_doc(name: str, module: ModuleType) -> str:
    """What the source of a package says of one of its values."""
    for other in [m for n, m in sorted(sys.modules.items()) if f"{n}.".startswith(f"{module.__name__}.")]:
        source = inspect.getsource(other)
        body = ast.parse(source).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return said_of(node, after, source.splitlines())
    return ""


def function_section(name: str, item: Any, module: ModuleType) -> str:
    """A function, or a value."""
    if not callable(item):
        doc = markdown(value_doc(name, module))
        return f"## {name}\n\n````{{py:data}} {name}\n:module: {module.__name__}\n\n{doc}\n````\n"
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
    parameters = [p for p in list(sig.parameters.values())[1 if drop_first else 0 :] if not p.name.startswith("_")]
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
            text = textwrap.dedent("\n".join(block)).rstrip()
            out += ["", f"```{'python' if is_python(text) else 'text'}", *text.splitlines(), "```", ""]
            continue
        out.append(lines[i])
        i += 1
    return "\n".join(out).rstrip() + "\n"


def is_python(text: str) -> bool:
    """Whether an example is Python: other ones are files, tables or grammars."""
    try:
        ast.parse(text)
    except SyntaxError:
        return text.startswith(">>> ")
    return True


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

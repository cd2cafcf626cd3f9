"""The tables of runs as properties of `lasthop.Results`: `make properties`.

They are made from the core's registry.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import lasthop
from lasthop._registry import run_tables

SOURCE = Path(lasthop.__file__).parent / "_results.py"
BEGIN = "    # The tables of the registry as properties, made by `make properties`.\n"
END = "    # End of what was made.\n"


def renewed(source: str) -> str:
    """The source with the properties of today's registry."""
    head, _, rest = source.partition(BEGIN)
    _, _, tail = rest.partition(END)
    if not tail:
        raise ValueError(f"{SOURCE} lacks the lines {BEGIN.strip()!r} and {END.strip()!r}")
    made = "".join(_property(name, table["description"]) for name, table in run_tables().items())
    return f"{head}{BEGIN}{made}\n{END}{tail}"


def _property(name: str, description: str) -> str:
    first, dot, rest = description.partition(". ")
    summary, more = _divided(first + ("." if dot else ""))
    text = [summary]
    if rest := " ".join(part for part in (more, rest) if part):
        text += ["", *textwrap.wrap(rest, 92)]
    last = '"""' if len(text) == 1 else '\n        """'
    doc = "\n".join(f"        {line}" if line else "" for line in text).lstrip()
    return f"""
    @cached_property
    def {name.replace("-", "_")}(self) -> pa.Table:
        \"\"\"{doc}{last}
        return self.table("{name}")
"""


def _divided(sentence: str) -> tuple[str, str]:
    """A summary of at most 86 letters (100 columns in a method), and the rest as a sentence."""
    if len(sentence) <= 86:
        return sentence, ""
    at = max(sentence.rfind(sign, 0, 85) for sign in (", ", "; ", ": "))
    rest = sentence[at + 2 :]
    return f"{sentence[:at]}.", rest[:1].upper() + rest[1:]


if __name__ == "__main__":
    SOURCE.write_text(renewed(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")

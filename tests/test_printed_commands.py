"""Commands that messages, help texts, docs and scenarios name.

Their verbs, options and subjects exist.

`crates/sim/tests/printed_commands.rs` applies the `--set`s of `lasthop run`; here are the other
commands, and those inside the warnings and errors of the crates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lasthop.cli import main

ROOT = Path(__file__).parent.parent
PLACES = [
    ("crates", "*/src/**/*.rs"),
    ("python/lasthop", "**/*.py"),
    ("docs", "**/*.md"),
    ("scenarios", "*.toml"),
    ("studies", "*/*.md"),
    (".", "README.md"),
]
# As far as a command goes: to a quote, a comment, a pipe, or the end of the line.
COMMAND = re.compile(r"(?<![\w/.-])lasthop ((?:[a-z]|-)[^`'\"<>#|;\n]*)")


@cache
def commands() -> dict[str, Path]:
    """Each command without `lasthop`, and a file that names it."""
    found: dict[str, Path] = {}
    for folder, pattern in PLACES:
        for path in sorted((ROOT / folder).glob(pattern)):
            for text in COMMAND.findall(path.read_text(encoding="utf-8")):
                found.setdefault(" ".join(text.split()), path.relative_to(ROOT))
    return found


def resolved(text: str) -> tuple[click.Command, list[str]] | None:
    """The command of a text and the words after it; `None` for prose about lasthop."""
    command: click.Command = main
    words = text.split(" ")
    # `sweep` is a command, with others below it.
    while words and words[0] in (below := getattr(command, "commands", {})):
        command = below[words.pop(0)]
    return None if command is main else (command, words)


def options(command: click.Command) -> set[str]:
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return own | {"--help", "-h"}


def test_every_option_beside_a_verb_exists() -> None:
    checked, wrong = 0, []
    for text, path in commands().items():
        if not (known := resolved(text)):
            continue
        command, words = known
        for word in words:
            option = re.match(r"--[a-z][\w-]*", word)
            if option and option[0] != "--":
                checked += 1
                if option[0] not in options(command):
                    wrong.append(f"{path}: lasthop {text}: {option[0]}")
    assert not wrong, "\n".join(wrong)
    assert checked > 60


def test_every_verb_exists() -> None:
    """A command's first word is a verb.

    A command stands in quotes of its own, or begins an indented line.
    """
    verbs = set(main.commands)
    alone = re.compile(r"(?:[`']|^ {4,})lasthop ([a-z][a-z-]*)", re.MULTILINE)
    checked, wrong = 0, []
    for folder, pattern in PLACES:
        for path in sorted((ROOT / folder).glob(pattern)):
            for verb in alone.findall(path.read_text(encoding="utf-8")):
                checked += 1
                if verb not in verbs:
                    wrong.append(f"{path.relative_to(ROOT)}: lasthop {verb}")
    assert not wrong, "\n".join(wrong)
    assert checked > 100


def subjects() -> Iterator[str]:
    """What `lasthop describe` is asked for; placeholders are in capitals or braces."""
    for text in commands():
        words = text.split(" ")
        if words[0] == "describe" and re.fullmatch(r"describe( [a-z][\w.-]*)+", text) and len(words) <= 3:
            yield text


@pytest.mark.parametrize("text", sorted(set(subjects())))
def test_what_messages_ask_to_describe_is_described(text: str) -> None:
    result = CliRunner().invoke(main, text.split(" "), prog_name="lasthop")
    assert result.exit_code == 0, f"{commands()[text]}: lasthop {text}\n{result.output}"


def test_subjects_were_found() -> None:
    """The crates' own messages among them."""
    found = set(subjects())
    assert {"describe runtime", "describe cc", "describe profile ns3-3.44", "describe keys"} <= found

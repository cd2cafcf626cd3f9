"""`lasthop completion` and `lasthop man`: what a shell and `man` need.

Written to standard output.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
from click.shell_completion import get_completion_class

from lasthop import __version__
from lasthop.cli import _output

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script for completion by a shell.

    The shell then completes verbs, options, scenarios and keys.

    \b
    Examples:
      eval "$(lasthop completion bash)"            # for this shell
      lasthop completion zsh > ~/.lasthop.zsh      # then: source it in ~/.zshrc
      lasthop completion fish > ~/.config/fish/completions/lasthop.fish
    """
    maker = get_completion_class(shell)
    assert maker is not None, "click has a class for each of SHELLS"
    script = maker(context.find_root().command, {}, "lasthop", "_LASTHOP_COMPLETE")
    # Not `source()`: for bash it starts bash to read its version, which fails where bash is
    # missing.
    _output.line(script.source_template % script.source_vars())


@click.command()
@click.pass_context
def man(context: click.Context) -> None:
    """Print the manual page of all verbs, as input for `man`.

    \b
    Examples:
      lasthop man | man -l -
      lasthop man > ~/.local/share/man/man1/lasthop.1
    """
    _output.line("\n".join(_page(context.find_root().command)))


def _page(root: click.Command) -> Iterator[str]:
    yield f'.TH LASTHOP 1 "" "lasthop {__version__}" "User Commands"'
    yield from (".SH NAME", "lasthop \\- simulate transport protocols over the radio last hop")
    yield from (".SH SYNOPSIS", ".B lasthop", "VERB [OPTIONS] [ARGUMENTS]", ".SH DESCRIPTION")
    yield from _text(root.help)
    yield ".SH VERBS"
    yield from _verbs(click.Context(root, info_name="lasthop"))
    yield ".SH NOTES"
    yield from _text(root.epilog)


def _verbs(context: click.Context) -> Iterator[str]:
    command = context.command
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        verb = command.get_command(context, name)
        if verb is None or verb.hidden:
            continue
        inner = click.Context(verb, info_name=name, parent=context)
        yield f".SS {_escaped(' '.join([inner.command_path, *verb.collect_usage_pieces(inner)]))}"
        yield from _text(verb.help)
        for parameter in verb.get_params(inner):
            record = parameter.get_help_record(inner)
            if record:
                yield from (".TP", f"\\fB{_escaped(record[0])}\\fR", _escaped(" ".join(record[1].split())))
        yield from _verbs(inner)


def _text(text: str | None) -> Iterator[str]:
    """Paragraphs; click's mark \\b keeps the lines of a paragraph as they are."""
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        yield ".PP"
        lines = [line for line in paragraph.splitlines() if line.strip("\b ")]
        if paragraph.lstrip().startswith("\b"):
            yield from (".nf", *map(_escaped, lines), ".fi")
        else:
            yield from map(_escaped, lines)


def _escaped(text: str) -> str:
    """A line as roff prints it: a dot or an apostrophe in front would be a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
